"""Conditionals: `tf.cond`, `tf.case`, `tf.switch_case`.

In eager mode Python calls the chosen function. In a graph the functions are traced into
subgraphs, and one functional op runs the chosen one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from berth.control_flow import gradients  # noqa: F401 - so that gradients are known
from berth.control_flow.subgraph import Part, SubgraphFuncGraph, add_call, value_of
from berth.dtypes import bool_, int32
from berth.graph.graph import Graph
from berth.graph.nest import (
    assert_same_structure,
    flatten,
    is_composite,
    map_structure,
    pack_sequence_as,
    spec_of_composite,
)
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import identity
from berth.ops.arrays.indexed_slices import as_dense
from berth.ops.arrays.joining import stack
from berth.ops.builder import current
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.elementwise.casting import cast as cast_to
from berth.ops.elementwise.compare import less_equal
from berth.ops.flow.calls import CASE, IF, Kind
from berth.ops.flow.control import Assert
from berth.ops.reductions.reduction import reduce_sum
from berth.public import public, public_v1, public_v2

Function = Callable[..., Any]


def building() -> Graph | None:
    """Return the graph that is being built; None if operations are computed at once."""
    here = current()
    return here if isinstance(here, Graph) else None


# --- cond -----------------------------------------------------------------------------------


@public_v2("cond")
def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """Conditional: call `true_fn` if `pred` is true, else `false_fn`.

    >>> import berth as tf
    >>> cond(tf.constant(1) < 2, lambda: tf.constant("yes"), lambda: tf.constant("no")).numpy()
    b'yes'
    """
    return _cond(pred, true_fn, false_fn, name, lambda result: result)


@public_v1("cond")
def cond_v1(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """Conditional, with TensorFlow 1's argument names; a list of one is unpacked."""
    true_fn = _renamed(true_fn, fn1, "true_fn", "fn1")
    false_fn = _renamed(false_fn, fn2, "false_fn", "fn2")
    return _cond(pred, true_fn, false_fn, name, (lambda r: r) if strict else unpacked)


def _renamed(function: Any, old: Any, name: str, old_name: str) -> Any:
    if function is not None and old is not None:
        raise TypeError(f"cond(): '{name}' and '{old_name}' may not be set simultaneously.")
    return old if function is None else function


def unpacked(result: Any) -> Any:
    """Return the only element of a list or tuple of one; other values as they are."""
    is_single = isinstance(result, list | tuple) and len(result) == 1
    return result[0] if is_single and not hasattr(result, "_fields") else result


def _cond(
    pred: Any, true_fn: Any, false_fn: Any, name: str | None, unpack: Callable[[Any], Any]
) -> Any:
    for function, argument in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if function is None:
            raise TypeError(f"cond(): '{argument}' argument required")
        if not callable(function):
            raise TypeError(f"'{argument}' must be callable.")
    here = building()
    if here is None:
        is_true = pred if isinstance(pred, bool) else convert(pred)
        return unpack(true_fn() if is_true else false_fn())
    if isinstance(pred, bool):
        raise TypeError(f"pred must not be a Python bool: {pred}")
    branches = [lambda: unpack(true_fn()), lambda: unpack(false_fn())]
    with here.name_scope(name or "cond") as inner:
        chosen = here.convert(pred, None, "pred")
        return _choose(here, IF, chosen, branches, ("true_fn", "false_fn"), inner)


def _choose(
    here: Graph,
    kind: Kind,
    choice: SymbolicTensor,
    functions: Sequence[Function],
    names: Sequence[str],
    scope: str,
) -> Any:
    """Add the operation that calls one of several functions."""
    results: list[Any] = []
    parts = []
    for function, label in zip(functions, names, strict=True):
        graph = SubgraphFuncGraph(f"{scope[:-1].replace('/', '_')}_{label}", here)
        result = graph.trace(partial(_branch, graph, function, choice))
        if result is None and not here.is_function:
            raise ValueError(f"'{label}' must have a return value.")
        if results:
            _check_alike(here, results[0], result, names[0], label)
        results.append(result)
        outputs = [leaf for leaf in flatten(result, True) if leaf is not None]
        parts.append(Part(graph, outputs, ()))
    call = add_call(here, kind, [choice], parts, {}, scope)
    given = iter(call.outputs)
    leaves = [None if leaf is None else next(given) for leaf in flatten(results[0], True)]
    return pack_sequence_as(_common_specs(results), leaves, expand_composites=True)


def _common_specs(results: Sequence[Any]) -> Any:
    """Return a result in which the spec of a composite is true of all results."""

    def common(first: Any, *others: Any) -> Any:
        if not is_composite(first):
            return first
        specs = [spec_of_composite(other) for other in others]
        return spec_of_composite(first).most_specific_common_supertype(specs)

    return map_structure(common, *results, check_types=False)


def _branch(graph: SubgraphFuncGraph, function: Function, choice: SymbolicTensor) -> Any:
    """Trace a function; return its outputs as tensors of its graph."""

    def returned(leaf: Any) -> Any:
        if leaf is None:
            return None
        if isinstance(leaf, Operation):  # something has to stand for it
            with graph.control_dependencies([leaf]):
                return identity(choice)
        return value_of(graph.convert(leaf))

    result = map_structure(as_dense, function())
    return map_structure(returned, result, expand_composites=True)


def _check_alike(here: Graph, first: Any, other: Any, name: str, other_name: str) -> None:
    """Raise an error unless two branches return tensors of the same types."""
    details = ""
    try:
        assert_same_structure(first, other, expand_composites=True)
    except (TypeError, ValueError) as error:
        details = str(error)
    if not details:
        for a, b in zip(flatten(first, True), flatten(other, True), strict=True):
            kind, other_kind = getattr(a, "dtype", None), getattr(b, "dtype", None)
            if kind is other_kind:
                continue
            if not here.is_function and kind is not None and other_kind is not None:
                raise ValueError(
                    f"Outputs of '{name}' and '{other_name}' must have the same type(s). "
                    f"Received {kind.name} from '{name}' and {other_kind.name} from "
                    f"'{other_name}'."
                )
            details = f"{a} and {b} have different types"
            break
    if details:
        verb = "tf.cond" if name == "true_fn" else "tf.switch_case"
        raise TypeError(
            f"{name} and {other_name} arguments to {verb} must have the same number, type, and "
            f"overall structure of return values.\n\n{name} output: {first}\n{other_name} "
            f"output: {other}\n\nError details:\n{details}"
        )


# --- switch_case and case -------------------------------------------------------------------


@public("switch_case")
def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """Switch: call the function at an index; the default, or the last, if out of range.

    >>> import berth as tf
    >>> fns = [lambda: tf.constant("a"), lambda: tf.constant("b")]
    >>> switch_case(tf.constant(1), fns).numpy(), switch_case(tf.constant(-7), fns).numpy()
    (b'b', b'b')
    """
    functions = _in_order(branch_fns, default)
    if not is_tensor(branch_index) and not hasattr(branch_index, "as_tensor"):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    here = building()
    if here is None:
        if not branch_index.dtype.is_integer:
            raise TypeError(f"'branch_index' must be an integer, and not {branch_index}")
        index = int(branch_index)
        return functions[index if 0 <= index < len(functions) else -1]()
    names = [f"branch{position}" for position in range(len(functions))]
    with here.name_scope(name or "switch_case") as inner:
        choice = here.convert(branch_index, None, "branch_index")
        return _choose(here, CASE, choice, functions, names, inner)


def _in_order(branch_fns: Any, default: Any) -> list[Function]:
    if isinstance(branch_fns, Mapping):
        branch_fns = list(branch_fns.items())
    if not isinstance(branch_fns, list | tuple):
        raise TypeError(
            "'branch_fns' must be a list, tuple, or dict. Received "
            f"{branch_fns} with type {type(branch_fns)}"
        )
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if callable(branch_fns[0]):
        branch_fns = list(enumerate(branch_fns))
    for pair in branch_fns:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    by_key = dict(branch_fns)
    if sorted(by_key) != list(range(len(branch_fns))):
        found = ",".join(str(key) for key in sorted(by_key))
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(branch_fns)}) but "
            f"found {{{found}}}"
        )
    functions = [by_key[key] for key in sorted(by_key)]
    return functions if default is None else [*functions, default]


@public("case")
def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Case: call the function of the first true condition, else the default.

    >>> import berth as tf
    >>> x = tf.constant(2)
    >>> pairs = [(x < 1, lambda: tf.constant("small")), (x < 3, lambda: tf.constant("some"))]
    >>> case(pairs, default=lambda: tf.constant("many")).numpy()
    b'some'
    """
    pairs = _checked_pairs(pred_fn_pairs)
    preds = [pred for pred, _ in pairs]
    with scope("case", name):
        if exclusive:
            names = ", ".join(_name_of(pred) for pred in preds)
            n_true = reduce_sum(cast_to(stack(preds), int32))
            message = (
                f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as "
                "True:"
            )
            made = Assert(less_equal(n_true, 1), [message, stack(preds)], len(preds))
            with cast(Any, current()).control_dependencies([made] if made is not None else []):
                return _first_that_holds(pairs, default, preds, strict)
        return _first_that_holds(pairs, default, preds, strict)


def _checked_pairs(pred_fn_pairs: Any) -> list[tuple[Any, Function]]:
    if isinstance(pred_fn_pairs, Mapping):
        items = list(pred_fn_pairs.items())
        if building() is not None:
            items.sort(key=lambda pair: _name_of(pair[0]))
        pred_fn_pairs = items
    if not isinstance(pred_fn_pairs, list | tuple):
        raise TypeError(
            f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pred_fn_pairs)}"
        )
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}."
            )
        pred, function = pair
        if not is_tensor(pred):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype is not bool_:
            raise TypeError(f"pred must be Tensor of type bool: {_name_of(pred)}")
        if not callable(function):
            raise TypeError(f"fn for pred {_name_of(pred)} must be callable.")
    if not pred_fn_pairs:
        raise ValueError("'pred_fn_pairs' must hold at least one pair.")
    return list(pred_fn_pairs)


def _name_of(tensor: Any) -> str:
    return tensor.name if isinstance(tensor, SymbolicTensor) else "?"


def _first_that_holds(
    pairs: Sequence[tuple[Any, Function]], default: Any, preds: Sequence[Any], strict: bool
) -> Any:
    if default is None:
        default = partial(_none_holds, pairs[-1][1], preds)
    elif not callable(default):
        raise TypeError("'false_fn' must be callable.")
    chain = default
    for pred, function in reversed(pairs):
        chain = partial(cond_v1, pred, function, chain, strict)
    return chain()


def _none_holds(function: Function, preds: Sequence[Any]) -> Any:
    """Fail at run time; the outputs have the types of a branch that is not run."""
    message = "Input error: None of conditions evaluated as True:"
    made = Assert(convert(False), [message, stack(preds)], len(preds))
    with cast(Any, current()).control_dependencies([made] if made is not None else []):
        return map_structure(
            lambda leaf: None if leaf is None else identity(leaf),
            function(),
            expand_composites=True,
        )
