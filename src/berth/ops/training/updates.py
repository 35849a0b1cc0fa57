"""Updates of a variable and its slots by an optimizer's rule: definitions and kernels.

Each rule gives four operations, with TensorFlow's names: for a gradient of the whole
variable (`ApplyAdagrad`) or of some of its rows (`SparseApplyAdagrad`), written through
references or handles (`ResourceApplyAdagrad`).

Large variables are updated in slices: what a rule computes in between stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import FLOATING, DType
from berth.errors import InvalidArgumentError
from berth.ops.arguments import Argument, read_arguments
from berth.ops.dividing import divided
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Access,
    Attrs,
    Bind,
    Call,
    Infer,
    Launch,
    OpDef,
    OutputType,
    Parts,
    ScratchShapes,
    Typed,
    all_devices,
)
from berth.ops.rules import INDEX, check_rank, merge_dims
from berth.ops.shape import Dims, bracketed
from berth.ops.state.variables import Write, check_type_of_update, dims_behind, written_type
from berth.ops.training.rules import Rule

SLICE = 2**17
"""How many elements are updated at a time: with fewer, threads meet at Python's lock."""
FEW = 2**17
"""Up to so many elements, one thread does it all."""
LEAD = 2**14
"""About how many elements the caller updates while another thread is woken."""


class Update(NamedTuple):
    """The operations of one rule."""

    dense: Write
    sparse: Write | None


class _Form(NamedTuple):
    """What a rule takes: the variables first, then numbers and the gradient, in their order."""

    rule: Rule
    variables: tuple[str, ...]
    arguments: tuple[Argument, ...]
    n_scratch: int

    @property
    def n_variables(self) -> int:
        return len(self.variables)

    def position(self, name: str) -> int:
        """Return the position of an input."""
        names = [argument.name for argument in self.arguments]
        return self.n_variables + names.index(name)

    @property
    def numbers(self) -> list[int]:
        """The positions of the scalars."""
        is_number = [each.name not in ("grad", "delta", "indices") for each in self.arguments]
        return [self.n_variables + k for k, wanted in enumerate(is_number) if wanted]

    @property
    def grad(self) -> int:
        """The position of the gradient."""
        return self.position("delta" if self.arguments[-1].name == "delta" else "grad")


# --- shapes ---------------------------------------------------------------------------


def _infer_dense(form: _Form) -> Infer:
    def infer(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
        dims = _variable_dims(form, inputs)
        grad = inputs[form.grad].dims
        name = form.arguments[form.grad - form.n_variables].name
        dims = merge_dims(dims, grad, _unequal("var", dims, name, grad))
        _check_numbers(form, inputs)
        return written_type(inputs[0], dims)

    return infer


def _infer_sparse(form: _Form) -> Infer:
    def infer(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
        dims = _variable_dims(form, inputs)
        grad, indices = inputs[form.grad].dims, inputs[form.position("indices")].dims
        check_rank(indices, 1)
        n_indices = None if indices is None else indices[0]
        if dims == ():
            raise ValueError("Shape must be at least rank 1 but is rank 0")
        if dims is not None:
            merge_dims((n_indices, *dims[1:]), grad, _unequal("var", dims, "grad", grad))
        _check_numbers(form, inputs)
        return written_type(inputs[0], dims)

    return infer


def _variable_dims(form: _Form, inputs: Sequence[Any]) -> Dims:
    """Return the shape that the variable and its slots have."""
    dims = None
    for name, tensor in zip(form.variables, inputs, strict=False):
        check_type_of_update(tensor, inputs[form.grad])
        own = dims_behind(tensor)
        dims = merge_dims(dims, own, _unequal("var", dims, name, own))
    return dims


def _unequal(name: str, dims: Dims, other: str, their: Dims) -> str:
    return f"{name} and {other} do not have the same shape{bracketed(dims)} {bracketed(their)}"


def _check_numbers(form: _Form, inputs: Sequence[Any]) -> None:
    for position in form.numbers:
        check_rank(inputs[position].dims, 0)


# --- kernels --------------------------------------------------------------------------


def _scratch_dense(form: _Form) -> ScratchShapes:
    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        grad = inputs[form.grad]
        n_elements = math.prod(grad.dims or ())  # type: ignore[arg-type]
        n_parts = 1 if n_elements <= FEW else n_threads
        return ((grad.dtype, (n_parts, form.n_scratch, min(n_elements, SLICE))),)

    return scratch


def _bind_dense(form: _Form) -> Bind:
    def bind(launch: Launch) -> Call | Parts | None:
        arrays = [*launch.inputs[: form.n_variables], launch.inputs[form.grad]]
        numbers = [launch.inputs[position] for position in form.numbers]
        [scratch] = launch.scratch
        n_elements = arrays[0].size
        if not n_elements:
            return None
        calls: list[Call] = []
        for part, own in zip(_divided(n_elements, len(scratch)), scratch, strict=False):
            common = launch.xp, form.rule, numbers, launch.attrs
            calls.append((_update_slices, (*common, [_cut(arrays, own, k) for k in part])))
        return calls[0] if len(calls) == 1 else Parts(calls)

    return bind


def _divided(n_elements: int, n_parts: int) -> Iterator[list[slice]]:
    """Yield the slices of each thread."""
    for share in divided(n_elements, n_parts, LEAD):
        starts = range(share.start, share.stop, SLICE)
        yield [slice(start, min(start + SLICE, share.stop)) for start in starts]


def _cut(arrays: Sequence[Any], scratch: Any, where: slice) -> tuple[Any, Any, Any]:
    """Return the slices of variables, gradient and scratch memory."""
    *variables, grad = (array.reshape(-1)[where] for array in arrays)
    return variables, grad, [row[: where.stop - where.start] for row in scratch]


def _update_slices(
    xp: Any, rule: Rule, numbers: Sequence[Any], attrs: Attrs, slices: Sequence[Any]
) -> None:
    now = [number[()] for number in numbers]
    for variables, grad, scratch in slices:
        rule(xp, variables, grad, scratch, now, attrs)


def _scratch_sparse(form: _Form) -> ScratchShapes:
    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        grad = inputs[form.grad]
        row: Any = (grad.dims or (0,))[1:]
        n_rows = min(_rows_at_once(math.prod(row)), (grad.dims or (0,))[0] or 0)
        return ((grad.dtype, (form.n_variables + form.n_scratch, n_rows, *row)),)

    return scratch


def _rows_at_once(row_size: int) -> int:
    return max(SLICE // max(row_size, 1), 1)


def _bind_sparse(form: _Form) -> Bind:
    def bind(launch: Launch) -> Call | None:
        variables = launch.inputs[: form.n_variables]
        grad, indices = launch.inputs[form.grad], launch.inputs[form.position("indices")]
        numbers = [launch.inputs[position] for position in form.numbers]
        if not grad.size:
            return None
        work = form.rule, numbers, launch.attrs, launch.scratch[0]
        return _update_rows, (launch.xp, variables, grad, indices, *work)

    return bind


def _update_rows(
    xp: Any,
    variables: Sequence[Any],
    grad: Any,
    indices: Any,
    rule: Rule,
    numbers: Sequence[Any],
    attrs: Attrs,
    scratch: Any,
) -> None:
    """Update some rows: they are gathered, updated together, and put back."""
    _check_indices(indices, len(variables[0]))
    now = [number[()] for number in numbers]
    n_indices, at_once = len(indices), scratch.shape[1]
    if len(xp.unique(indices)) < n_indices:
        at_once = 1  # a row that is there twice is updated twice
    for start in range(0, n_indices, at_once):
        where = indices[start : start + at_once]
        rooms = [room[: len(where)] for room in scratch]
        gathered = rooms[: len(variables)]
        for variable, room in zip(variables, gathered, strict=True):
            xp.take(variable, where, 0, room)
        part = grad[start : start + at_once]
        rule(xp, gathered, part, rooms[len(variables) :], now, attrs)
        for variable, room in zip(variables, gathered, strict=True):
            variable[where] = room


def _check_indices(indices: Any, n_rows: int) -> None:
    if indices.min() >= 0 and indices.max() < n_rows:
        return
    known = np.asarray(indices.tolist())
    [offset, *_] = np.flatnonzero((known < 0) | (known >= n_rows))
    message = f"Index {known[offset]} at offset {offset} in indices is out of range"
    raise InvalidArgumentError(None, None, message)


# --- definitions ----------------------------------------------------------------------


def update(
    name: str,
    rule: Rule,
    variables: str,
    arguments: str,
    n_scratch: int,
    *,
    is_sparse: bool = True,
    attrs: Mapping[str, Any] | None = None,
) -> Update:
    """Declare the operations of a rule: ``update("Adagrad", adagrad, "var accum", …)``.

    `arguments` are what follows the variables for a whole gradient; for some rows, their
    indices stand after it.
    """
    defaults = dict(attrs or {})
    dense = _Form(rule, tuple(variables.split()), _read(arguments), n_scratch)
    of_rows = arguments.replace("delta", "grad").replace("grad", "grad indices")
    sparse = dense._replace(arguments=_read(of_rows))
    return Update(
        _both(f"Apply{name}", dense, _infer_dense, _bind_dense, _scratch_dense, defaults),
        _both(
            f"SparseApply{name}", sparse, _infer_sparse, _bind_sparse, _scratch_sparse, defaults
        )
        if is_sparse
        else None,
    )


def _read(arguments: str) -> tuple[Argument, ...]:
    kinds = {"indices": "Tindices", "global_step": "int64"}
    return read_arguments(
        " ".join(f"{name}:{kinds.get(name, 'T')}" for name in arguments.split())
    )


def _both(
    name: str,
    form: _Form,
    infer: Callable[[_Form], Infer],
    bind: Callable[[_Form], Bind],
    scratch: Callable[[_Form], ScratchShapes],
    attrs: Attrs,
) -> Write:
    return Write(
        *(
            OpDef(
                f"{prefix}{name}",
                " ".join([*(f"{each}:{kind}" for each in form.variables), *_written(form)]),
                infer(form),
                types={"T": FLOATING, "Tindices": INDEX},
                kernels=all_devices(bind(form), FLOATING, scratch(form)),
                is_stateful=True,
                access=Access.UPDATE,
                n_variables=form.n_variables,
                gradient=NOT_DIFFERENTIABLE,
                samples=(_sample(form, held, attrs, "f(4, 2)", "f(3, 2)"),),
                large_samples=(_sample(form, held, attrs, "large", "large"),)
                if name.startswith("Apply")
                else (),
            )
            for prefix, kind, held in (("", "T", "ref"), ("Resource", "resource", "resource"))
        )
    )


def _written(form: _Form) -> Iterator[str]:
    for name, kind, _ in form.arguments:
        yield f"{name}:{kind.name if isinstance(kind, DType) else kind}"


def _sample(form: _Form, held: str, attrs: Attrs, variable: str, rows: str) -> str:
    """Write a call for the tests, as `OpDef.samples` has them."""
    is_sparse = any(each.name == "indices" for each in form.arguments)
    values = {
        "grad": f"{rows if is_sparse else variable} * 0.5",
        "delta": f"{variable} * 0.5",
        "indices": "i(3, 0, 1)",
        "global_step": "np.array(3)",
    }
    variables = [f"{held}(np.abs({variable}) + {k})" for k in range(form.n_variables)]
    given = [values.get(each.name, "np.array(0.25, np.float32)") for each in form.arguments]
    options = [f"{name}={value}" for name, value in {"use_locking": False, **attrs}.items()]
    return ", ".join([*variables, *given, *options])
