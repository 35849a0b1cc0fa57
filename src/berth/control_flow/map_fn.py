"""Maps and folds over the first axis of tensors: `map_fn`, `scan`, `foldl`, `foldr`.

In a graph they are one operation, `ForEach`, whose body sees one element at a time; what it
returns for all of them is stacked into one tensor, which is allocated once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from berth.control_flow.callbacks import as_converted
from berth.control_flow.cond import building
from berth.control_flow.subgraph import Part, SubgraphFuncGraph, add_call, value_of
from berth.dtypes import DType, as_dtype
from berth.errors import InvalidArgumentError, OutOfRangeError
from berth.graph.graph import Graph
from berth.graph.nest import assert_same_structure, flatten, map_structure, pack_sequence_as
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import expand_dims, stop_gradient
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.indexed_slices import as_dense
from berth.ops.arrays.joining import concat, stack
from berth.ops.arrays.metadata import shape
from berth.ops.builder import current
from berth.ops.compose import is_tensor, scope
from berth.ops.flow.calls import FOR_EACH
from berth.ops.shape import Dims, merge
from berth.public import public

Function = Callable[..., Any]
Step = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]
"""From variables and elements: the next variables, and rows."""

# --- a step for each element ----------------------------------------------------------------


class EachElement:
    """One step for each element of some tensors, in a graph or eagerly."""

    def __init__(
        self,
        elems: Sequence[Any],
        reverse: bool,
        name: str,
        invariants: Sequence[Dims] | None = None,
    ) -> None:
        self._elems = elems
        self._reverse = reverse
        self._name = name
        self._invariants = invariants
        """The shapes that loop variables may have, if not those of their first values."""

    def run(self, step: Step, starts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the final loop variables, and the stacked values of each output."""
        here = building()
        return self._now(step, starts) if here is None else self._built(here, step, starts)

    def _now(self, step: Step, starts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        variables, columns = list(starts), []
        for position in self._order():
            variables, rows = step(variables, [elem[position] for elem in self._elems])
            columns.append(rows)
        ordered = columns[::-1] if self._reverse else columns
        return variables, [stack(list(column)) for column in zip(*ordered, strict=True)]

    def _order(self) -> range:
        count = self._elems[0].dims[0]
        return range(count - 1, -1, -1) if self._reverse else range(count)

    def _built(
        self, here: Graph, step: Step, starts: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        graph = SubgraphFuncGraph(f"{self._name}_body", here)
        shapes = self._invariants or [tensor.dims for tensor in starts]
        for tensor, dims in zip(starts, shapes, strict=True):
            graph.add_input(tensor.dtype.base_dtype, dims, "variable")
        for elem in self._elems:
            dims = None if elem.dims is None else elem.dims[1:]
            graph.add_input(elem.dtype.base_dtype, dims, "element")
        variables, elements = graph.inputs[: len(starts)], graph.inputs[len(starts) :]
        following, rows = graph.trace(step, variables, elements)
        if self._invariants is None:
            for start, after in zip(starts, following, strict=True):
                _check_kept(start, after)
        attrs = {
            "n_variables": len(starts),
            "n_sequences": len(self._elems),
            "n_rows": len(rows),
            "invariants": list(shapes),
            "reverse": self._reverse,
        }
        given = [_count_of(self._elems), *starts, *self._elems]
        part = Part(graph, [*following, *rows], range(1, len(given)))
        call = add_call(here, FOR_EACH, given, [part], attrs, "while")
        return call.outputs[: len(starts)], call.outputs[len(starts) + 1 :]


def _count_of(elems: Sequence[Any]) -> Any:
    """Return the number of elements of tensors: an int, if it is known."""
    known = _known_counts(elems)
    return known[0] if known else shape(elems[0])[0]


def _known_counts(elems: Sequence[Any]) -> list[int]:
    """List the known numbers of elements of tensors."""
    return [elem.dims[0] for elem in elems if elem.dims and elem.dims[0] is not None]


def _check_kept(start: SymbolicTensor, after: SymbolicTensor) -> None:
    if after.dtype is not start.dtype.base_dtype:
        raise TypeError(
            f"Loop var {start.name} enters the loop with type {start.dtype!r} but has type "
            f"{after.dtype!r} after 1 iteration. {start.name} type should remain constant."
        )
    try:
        dims = merge(start.dims, after.dims)
    except ValueError:
        dims = ()
    if dims != start.dims:
        raise ValueError(
            f"Input tensor `{start.name}` enters the loop with shape {start.shape}, but has "
            f"shape {after.shape} after one iteration."
        )


def _elements(elems: Any) -> list[Any]:
    """Return tensors to iterate over along the first axis."""
    here: Any = current()
    if not flatten(elems):
        raise ValueError(
            "elems must be a Tensor or (possibly nested) sequence of Tensors. Got "
            f"{elems}, which does not contain any Tensors."
        )
    tensors = [here.convert(as_dense(elem)) for elem in flatten(elems)]
    tensors = [value_of(elem) if isinstance(elem, SymbolicTensor) else elem for elem in tensors]
    if any(elem.dims == () for elem in tensors):
        raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
    known = _known_counts(tensors)
    for count in known:
        if count != known[0]:
            raise ValueError(f"Dimensions {known[0]} and {count} are not compatible")
    return tensors


def _converted(leaf: Any, dtype: DType | None = None) -> Any:
    here: Any = current()
    tensor = here.convert(as_dense(leaf), None if is_tensor(leaf) else dtype)
    return value_of(tensor) if isinstance(tensor, SymbolicTensor) else tensor


def _callable(fn: Any, name: str) -> Any:
    """Return a function of the user, as AutoGraph converts it where it is on."""
    if not callable(fn):
        raise TypeError(f"{name} must be callable. Received {fn} of type {type(fn)}.")
    return as_converted(fn)


def _finished(result: Any, back_prop: bool) -> Any:
    return result if back_prop else map_structure(stop_gradient, result)


# --- map ------------------------------------------------------------------------------------


@public("map_fn")
def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Map a function over the first axis of tensors; stack the results.

    >>> import berth as tf
    >>> map_fn(lambda row: row[0] * row[1], tf.constant([[1, 2], [3, 4]])).numpy().tolist()
    [2, 12]
    """
    fn = _callable(fn, "fn")
    signature = dtype if fn_output_signature is None else fn_output_signature
    with scope("map", name):
        tensors = _elements(elems)
        wanted = map_structure(_type_of, elems if signature is None else signature)

        def step(_: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
            result = fn(pack_sequence_as(elems, elements))
            assert_same_structure(wanted, result, check_types=False)
            pairs = zip(flatten(result), flatten(wanted), strict=True)
            return [], [_row(leaf, kind) for leaf, kind in pairs]

        _, rows = EachElement(tensors, reverse=False, name="map").run(step, [])
        rows = rows or [zeros([0], kind) for kind in flatten(wanted)]
        return _finished(pack_sequence_as(wanted, rows), back_prop)


def _type_of(leaf: Any) -> DType:
    """Return the type of a tensor, a spec, or a type."""
    kind = getattr(leaf, "dtype", None)
    if kind is None:
        here: Any = current()
        kind = leaf if isinstance(leaf, DType | type) else here.convert(leaf).dtype
    return as_dtype(kind).base_dtype


def _row(leaf: Any, dtype: DType) -> Any:
    tensor = _converted(leaf, dtype)
    if tensor.dtype is not dtype:
        raise InvalidArgumentError(
            None,
            None,
            f"TensorArray dtype is {dtype.name} but Op is trying to write dtype "
            f"{tensor.dtype.name} ",
        )
    return tensor


# --- fold and scan --------------------------------------------------------------------------


@public("foldl")
def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Left fold: reduce the elements along the first axis, from first to last.

    >>> import berth as tf
    >>> int(foldl(lambda total, x: total * 10 + x, tf.constant([1, 2, 3])))
    123
    """
    with scope("foldl", name):
        return _finished(_fold(fn, elems, initializer, reverse=False)[0], back_prop)


@public("foldr")
def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Right fold: reduce the elements along the first axis, from last to first.

    >>> import berth as tf
    >>> int(foldr(lambda total, x: total * 10 + x, tf.constant([1, 2, 3])))
    321
    """
    with scope("foldr", name):
        return _finished(_fold(fn, elems, initializer, reverse=True)[0], back_prop)


@public("scan")
def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Scan: reduce the elements along the first axis, and return all intermediate results.

    >>> import berth as tf
    >>> scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy().tolist()
    [1, 3, 6]
    """
    with scope("scan", name):
        _, first, rows = _fold(fn, elems, initializer, reverse=reverse)
        if initializer is None:
            rows = map_structure(partial(_joined, reverse), first, rows)
        return _finished(rows, back_prop)


def _joined(reverse: bool, first: Any, rows: Any) -> Any:
    whole = expand_dims(first, 0)
    if rows is None:
        return whole
    return concat([rows, whole] if reverse else [whole, rows], 0)


def _fold(fn: Any, elems: Any, initializer: Any, *, reverse: bool) -> tuple[Any, Any, Any]:
    """Return the final, first and intermediate results of a reduction along an axis."""
    fn = _callable(fn, "fn")
    tensors = _elements(elems)
    structure = elems if initializer is None else initializer
    if initializer is None:
        if any(elem.dims and elem.dims[0] == 0 for elem in tensors):
            raise _nothing_to_start_with()
        starts = [elem[-1 if reverse else 0] for elem in tensors]
        tensors = [elem[:-1] if reverse else elem[1:] for elem in tensors]
    else:
        starts = [_converted(leaf) for leaf in flatten(initializer)]

    def step(variables: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
        result = fn(pack_sequence_as(structure, variables), pack_sequence_as(elems, elements))
        assert_same_structure(structure, result, check_types=False)
        pairs = zip(flatten(result), variables, strict=True)
        following = [_converted(leaf, variable.dtype) for leaf, variable in pairs]
        return following, following

    ends, rows = EachElement(tensors, reverse=reverse, name="fold").run(step, starts)
    rows = rows or [_no_rows(start, initializer is None) for start in starts]
    packed = [pack_sequence_as(structure, part) for part in (ends, starts, rows)]
    return packed[0], packed[1], packed[2]


def _nothing_to_start_with() -> Exception:
    if building() is None:
        message = "Tried to read from index 0 but array size is: 0 "
        return OutOfRangeError(None, None, message)
    message = "Trying to access element 0 in a list with 0 elements."
    return InvalidArgumentError(None, None, message)


def _no_rows(start: Any, has_first: bool) -> Any:
    """Return the empty result of a loop without steps."""
    dims: Dims = start.dims
    return None if has_first else zeros([0, *(dims or ())], start.dtype)
