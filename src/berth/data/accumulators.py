"""`tf.ConditionalAccumulator`: gradients of several workers, added up until one takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.data.accumulator_objects import Accumulator, SparseAccumulator, TakeGradient
from berth.data.queue_ops import Inputs, Waits, handle_op, host_call_op, nothing
from berth.dtypes import DType, as_dtype, float16, float32, float64, int32, int64
from berth.errors import InvalidArgumentError
from berth.front.graph_scope import convert_to_tensor
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.builder import apply, apply_list, apply_op
from berth.ops.elementwise.casting import cast
from berth.ops.opdef import Attrs, OpDef, OutputType, Typed
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor
from berth.public import public_v1
from berth.run.host_calls import HostObjects


def _make_dense(attrs: Attrs, name: str) -> Accumulator:
    return Accumulator(*_checked(attrs))


def _make_sparse(attrs: Attrs, name: str) -> Accumulator:
    return SparseAccumulator(*_checked(attrs))


def _checked(attrs: Attrs) -> tuple[Any, str]:
    dtype = attrs["dtype"]
    if dtype not in (float16, float32, float64):
        message = f"No OpKernel was registered to support accumulators of {dtype.name}"
        raise InvalidArgumentError(None, None, message)
    return attrs["shape"].dims_or_none, attrs["reduction_type"]


def _apply(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    objects.of(inputs[0]).apply(int(inputs[1]), inputs[2:])
    return ()


def _take(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    accumulator: Accumulator = objects.of(inputs[0])
    n = int(inputs[1])
    if n <= 0:
        message = f"Argument num_required must be positive, but was {n}"
        raise InvalidArgumentError(None, None, message)
    return (yield TakeGradient(accumulator, n))


def _n_accumulated(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [np.array(objects.of(inputs[0]).n_accumulated, np.int32)]


def _set_step(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    objects.of(inputs[0]).set_step(int(inputs[1]))
    return ()


def _one_count(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int32, ()),)


def _gradient(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["dtype"], None),)


def _slices(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int64, None), (attrs["dtype"], None), (int64, None))


_HANDLE = "handle:resource"
_STEP = f"{_HANDLE} local_step:int64"
_REQUIRED = f"{_HANDLE} num_required:int32"
_NEW_STEP = f"{_HANDLE} new_global_step:int64"
DENSE = handle_op("ResourceConditionalAccumulator", _make_dense)
SPARSE = handle_op("SparseConditionalAccumulator", _make_sparse)
APPLY = host_call_op(
    "ResourceAccumulatorApplyGradient", f"{_STEP} gradient:Any", _apply, nothing
)
APPLY_SPARSE = host_call_op(
    "SparseAccumulatorApplyGradient",
    f"{_STEP} gradient_indices:int64 gradient_values:Any gradient_shape:int64",
    _apply,
    nothing,
)
TAKE = host_call_op("ResourceAccumulatorTakeGradient", _REQUIRED, _take, _gradient)
TAKE_SPARSE = host_call_op("SparseAccumulatorTakeGradient", _REQUIRED, _take, _slices)
COUNT = host_call_op("ResourceAccumulatorNumAccumulated", _HANDLE, _n_accumulated, _one_count)
COUNT_SPARSE = host_call_op("AccumulatorNumAccumulated", _HANDLE, _n_accumulated, _one_count)
SET_STEP = host_call_op("ResourceAccumulatorSetGlobalStep", _NEW_STEP, _set_step, nothing)
SET_STEP_SPARSE = host_call_op("AccumulatorSetGlobalStep", _NEW_STEP, _set_step, nothing)


@public_v1("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """What accumulators of dense and of sparse gradients have in common."""

    _count: OpDef
    _set_step: OpDef

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Any) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name: str = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Any:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes the handle."""
        return self._accumulator_ref.op.name  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """The type of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Count the gradients that were accumulated since one was taken."""
        name = name or f"{self._name}_NumAccumulated"
        return apply(self._count, (self._accumulator_ref,), {}, name)

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        """Set the step: gradients of earlier steps are dropped."""
        step = cast(new_global_step, int64)
        return apply_op(self._set_step, (self._accumulator_ref, step), {}, name)


def _handle(op: OpDef, dtype: Any, shape: Any, shared_name: Any, name: str, kind: str) -> Any:
    if kind not in ("MEAN", "SUM"):
        raise ValueError(
            f"Attr 'reduction_type' of '{op.name}' Op passed string '{kind}' not in: "
            '"MEAN", "SUM".'
        )
    attrs = {
        "dtype": as_dtype(dtype),
        "shape": TensorShape(shape),
        "container": "",
        "shared_name": shared_name or "",
        "reduction_type": kind,
    }
    return apply(op, (), attrs, name)


@public_v1("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Accumulator of gradients, which gives their mean or sum when there are enough."""

    _count = COUNT
    _set_step = SET_STEP

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = _handle(DENSE, dtype, shape, shared_name, name, reduction_type)
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Any:
        """Add a gradient; it is dropped if its step is earlier than the accumulator's."""
        grad = convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        step = cast(local_step, int64)
        return apply_op(APPLY, (self._accumulator_ref, step, grad), {}, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """Take the mean or sum, waiting until there are so many; begin the next step."""
        inputs = (self._accumulator_ref, num_required)
        taken = apply(TAKE, inputs, {"dtype": self._dtype}, name)
        taken.set_shape(self._shape)
        return taken


@public_v1("SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Accumulator of gradients that are given as some rows of a larger tensor."""

    _count = COUNT_SPARSE
    _set_step = SET_STEP_SPARSE

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = _handle(SPARSE, dtype, shape, shared_name, name, reduction_type)
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Any:
        """Add a gradient; it is dropped if its step is earlier than the accumulator's."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Any:
        """Add a gradient, given by its parts."""
        step = cast(local_step, int64)
        indices = cast(grad_indices, int64)
        values = convert_to_tensor(grad_values, self._dtype)
        shape = cast(np.zeros(0, np.int64) if grad_shape is None else grad_shape, int64)
        attrs = {"has_known_shape": grad_shape is not None}
        inputs = (self._accumulator_ref, step, indices, values, shape)
        return apply_op(APPLY_SPARSE, inputs, attrs, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Take indices, values and shape, waiting until there are so many gradients."""
        inputs = (self._accumulator_ref, num_required)
        return apply_list(TAKE_SPARSE, inputs, {"dtype": self._dtype}, name)

    def take_indexed_slices_grad(
        self, num_required: Any, name: str | None = None
    ) -> IndexedSlices:
        """Take the mean or sum, waiting until there are so many; begin the next step."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
