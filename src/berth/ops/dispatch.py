"""Dispatch of one operation: from inputs and attributes to one call on arrays.

An operation takes the same steps wherever it is run: eagerly, while constants are folded, or as
a step of a plan.

  1. *Infer*. `known_types` applies the shape rule, once. Afterwards every size is known.
  2. *Allocate*. The `Target` gives memory for the outputs, and for the scratch arrays that the
     kernel asks for.
  3. *Bind*. `bind` gives all arrays to the kernel, which returns the call that fills the
     outputs. What a kernel divided into `Parts` the target joins to one call.

`prepare` is steps 2 and 3. A plan takes steps 1 and 2 when it is compiled, since its arrays are
parts of a workspace, and step 3 for each binding.

Contract:
  1. The call fills the outputs, and may be made once. None: there is nothing to do.
  2. No step computes anything, or waits: what fails here fails before memory is written.
  3. The output of an alias is its first input in another shape; it has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from berth.dtypes import DType
from berth.ops.opdef import Attrs, Call, Kernel, Launch, OpDef, OutputType, Parts, Typed
from berth.ops.shape import Known, is_known

KnownType = tuple[DType, Known]


class Target(Protocol):
    """Device of an execution: an array module, memory and threads."""

    @property
    def xp(self) -> Any:
        """The array module: NumPy, or what takes its place on a GPU."""
        ...

    @property
    def n_threads(self) -> int:
        """Number of parts into which it is worth dividing work."""
        ...

    def empty(self, dtype: DType, dims: Known) -> Any:
        """Allocate an uninitialised array."""
        ...

    def join(self, parts: Parts) -> Call:
        """Combine the calls of a kernel that divided its work into one."""
        ...


def checked_types(types: Sequence[OutputType]) -> Sequence[OutputType]:
    """Return what a shape rule gave; ValueError for a negative size, which would cut memory."""
    for _, dims in types:
        for size in dims or ():
            if size is not None and size < 0:
                raise ValueError(f"Dimension {size} must be >= 0")
    return types


def known_types(op: OpDef, inputs: Sequence[Typed], attrs: Attrs) -> Sequence[KnownType]:
    """Apply a shape rule to inputs with values; ValueError unless every size is known."""
    types = op.infer(inputs, attrs)
    for _, dims in types:
        if not is_known(dims):
            raise ValueError("Dimension -1 must be >= 0: every size must be known here")
    return cast("Sequence[KnownType]", types)


def prepare(
    op: OpDef,
    kernel: Kernel,
    target: Target,
    arrays: Sequence[Any],
    attrs: Attrs,
    types: Sequence[KnownType],
    typed_inputs: Sequence[Typed],
    state: Any = None,
) -> tuple[list[Any], Call | None]:
    """Allocate and bind: return the outputs, and the call that fills them.

    `arrays` are the inputs on the target, host inputs on the host; `types` are known in full.
    """
    if op.is_alias:
        return [arrays[0].reshape(types[0][1])], None
    empty, n_threads = target.empty, target.n_threads
    outputs = [empty(dtype, dims) for dtype, dims in types]
    scratch: Sequence[Any] = ()
    if kernel.scratch is not None:
        needed = scratch_types(kernel, typed_inputs, types, attrs, n_threads)
        scratch = [empty(dtype, dims) for dtype, dims in needed]
    # In the order of its fields, the last is `is_checked`: names would take longer to pass.
    launch = Launch(target.xp, arrays, outputs, attrs, scratch, state, n_threads, True)
    return outputs, bind(kernel, launch, target.join)


def scratch_types(
    kernel: Kernel,
    inputs: Sequence[Typed],
    types: Sequence[OutputType],
    attrs: Attrs,
    n_threads: int,
) -> Sequence[KnownType]:
    """Return the types and shapes of the scratch arrays that a kernel needs for one call."""
    if kernel.scratch is None:
        return ()
    return cast("Sequence[KnownType]", kernel.scratch(inputs, types, attrs, n_threads))


def bind(kernel: Kernel, launch: Launch, join: Callable[[Parts], Call]) -> Call | None:
    """Bind a kernel to arrays: return its one call, or None if there is nothing to do."""
    bound = kernel.bind(launch)
    return join(bound) if isinstance(bound, Parts) else bound
