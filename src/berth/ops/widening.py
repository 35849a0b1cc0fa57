"""Kernels for bfloat16 and float8: they compute in float32, and round the results.

NumPy has these types by the package ml_dtypes, with some functions of its own and without
others. So a kernel for float32 is bound to float32 copies of the arrays, in scratch memory,
and its results are rounded. That is also how TensorFlow computes most of them on a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from berth.dtypes import PACKAGED, DType, as_dtype, float32
from berth.ops.opdef import (
    Attrs,
    Bind,
    Call,
    Kernel,
    Launch,
    OpDef,
    OutputType,
    Parts,
    ScratchShapes,
    Typed,
    in_order,
)
from berth.ops.shape import Dims

MAX_WIDENED = 512
"""How many kernels are kept that were made here."""
_AS_THEY_ARE = ("Bitcast",)
"""Operations on the bytes of their inputs. Those on variables are as they are too: they copy
and add, which ml_dtypes can do."""


def kernel_for(op: OpDef, device_type: str, dtype: DType | None) -> Kernel | None:
    """Find the kernel of an operation for a type of device and of elements."""
    kernel = op.kernel(device_type, dtype)
    is_as_it_is = op.name in _AS_THEY_ARE or op.access is not None
    if kernel is None or dtype not in PACKAGED or is_as_it_is:
        return kernel
    return _widened(kernel)


@lru_cache(MAX_WIDENED)
def _widened(kernel: Kernel) -> Kernel:
    return Kernel(
        kernel.device_type,
        _bind_widened(kernel.bind),
        kernel.dtypes,
        _scratch_widened(kernel.scratch),
    )


class _WideInput(NamedTuple):
    """An input as a kernel for float32 sees it."""

    dtype: DType
    dims: Dims
    value: Any


def _wide(dtype: DType) -> DType:
    return float32 if dtype in PACKAGED else dtype


def _wide_attrs(attrs: Attrs) -> Attrs:
    return {k: _wide(v) if isinstance(v, DType) else v for k, v in attrs.items()}


def _scratch_widened(inner: ScratchShapes | None) -> ScratchShapes:
    """Add the float32 copies of inputs and outputs to what a kernel needs."""

    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        needed: list[OutputType] = []
        if inner is not None:
            given = [_WideInput(_wide(x.dtype), x.dims, x.value) for x in inputs]
            made = [(_wide(dtype), dims) for dtype, dims in outputs]
            needed += inner(given, made, _wide_attrs(attrs), n_threads)
        needed += [(float32, x.dims) for x in inputs if x.dtype in PACKAGED]
        needed += [(float32, dims) for dtype, dims in outputs if dtype in PACKAGED]
        return needed

    return scratch


def _bind_widened(inner: Bind) -> Bind:
    """Bind a kernel to float32 copies."""

    def bind(launch: Launch) -> Call | None:
        arrays = (*launch.inputs, *launch.outputs)
        narrow = [k for k, array in enumerate(arrays) if _is_packaged(array)]
        n_own = len(launch.scratch) - len(narrow)
        wide = dict(zip(narrow, launch.scratch[n_own:], strict=True))
        n_inputs = len(launch.inputs)
        bound = inner(
            launch._replace(
                inputs=[wide.get(k, array) for k, array in enumerate(launch.inputs)],
                outputs=[
                    wide.get(k, array) for k, array in enumerate(launch.outputs, n_inputs)
                ],
                attrs=_wide_attrs(launch.attrs),
                scratch=launch.scratch[:n_own],
            )
        )
        before = [(wide[k], arrays[k]) for k in narrow if k < n_inputs]
        after = [(arrays[k], wide[k]) for k in narrow if k >= n_inputs]
        call = in_order(bound) if isinstance(bound, Parts) else bound
        return _run, (launch.xp.copyto, before, call, after)

    return bind


def _is_packaged(array: Any) -> bool:
    return array.dtype.kind in "Vf" and as_dtype(array.dtype) in PACKAGED


def _run(copyto: Any, before: Sequence[Any], call: Call | None, after: Sequence[Any]) -> None:
    """Copy to float32, compute, and round."""
    for target, source in before:
        copyto(target, source)
    if call is not None:
        function, arguments = call
        function(*arguments)
    for target, source in after:
        copyto(target, source, casting="unsafe")
