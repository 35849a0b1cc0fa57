"""Placeholders: tensors whose values are fed to each run of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL, as_dtype
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    GraphOps,
    OpDef,
    OutputType,
    Source,
    Typed,
)
from berth.ops.rules import all_devices_but_strings, bind_nothing, merge_dims
from berth.ops.shape import TensorShape
from berth.ops.types import DTypeLike, ShapeLike, Tensor, TensorLike
from berth.public import public_v1


def _placeholder_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["dtype"], attrs["shape"].dims_or_none),)


PLACEHOLDER = OpDef(
    "Placeholder",
    "",
    _placeholder_type,
    kernels=all_devices_but_strings(bind_nothing),
    source=Source.PLACEHOLDER,
    gradient=NOT_DIFFERENTIABLE,
    samples=("dtype=float32, shape=TensorShape([2])",),
)
GraphOps.placeholder = PLACEHOLDER


@public_v1("placeholder")
def placeholder(
    dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None
) -> Tensor:
    """Placeholder: a tensor whose value must be fed to every run that uses it.

    >>> from berth.graph.graph import Graph
    >>> with Graph().as_default():
    ...     placeholder("float32", [None, 3])
    <tf.Tensor 'Placeholder:0' shape=(None, 3) dtype=float32>
    """
    attrs = {"dtype": as_dtype(dtype).base_dtype, "shape": TensorShape(shape)}
    return apply(PLACEHOLDER, (), attrs, name)


def _default_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type of the default value; a feed of another shape overrides it."""
    default = inputs[0]
    merge_dims(default.dims, attrs["shape"].dims_or_none)
    return ((default.dtype.base_dtype, default.dims),)


PLACEHOLDER_WITH_DEFAULT = OpDef(
    "PlaceholderWithDefault",
    "input:T",
    _default_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(bind_nothing),
    is_alias=True,
    samples=("f(2, 3), shape=TensorShape([None, 3])",),
)


@public_v1("placeholder_with_default")
def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Placeholder with a default: a tensor that may be fed, and else has the value of `input`.

    >>> from berth.graph.graph import Graph
    >>> with Graph().as_default():
    ...     placeholder_with_default([1.0, 2.0], [None])
    <tf.Tensor 'PlaceholderWithDefault:0' shape=(None,) dtype=float32>
    """
    attrs = {"shape": TensorShape(shape)}
    output: Any = apply(PLACEHOLDER_WITH_DEFAULT, (input,), attrs, name)
    output.dims = attrs["shape"].dims_or_none  # what may be fed, not what the default is
    default: Tensor = output
    return default


@gradient(PLACEHOLDER_WITH_DEFAULT)
def _placeholder_with_default_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad
