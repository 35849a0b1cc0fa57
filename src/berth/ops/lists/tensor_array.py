"""`tf.TensorArray`: an array of tensors that is written element by element, as in loops."""

from __future__ import annotations

from typing import Any

from berth.dtypes import DType, as_dtype, variant
from berth.ops.arrays.array import identity
from berth.ops.compose import is_eager
from berth.ops.lists import functions as lists
from berth.ops.lists.eager_array import EagerArray
from berth.ops.lists.flow_array import Facts, FlowArray, new_flow
from berth.ops.shape import TensorShape
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec
from berth.public import public


@public("TensorArray")
class TensorArray(CompositeTensor):
    """Array of tensors of one type, written and read by index.

    A write returns the array to go on with. In a loop the cost is linear in what is written.

    >>> array = TensorArray("float32", size=2).write(0, 1.0).write(1, 2.0)
    >>> array.stack().numpy().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        kind, shape = as_dtype(dtype), TensorShape(element_shape)
        grows, clears = bool(dynamic_size), clear_after_read is not False
        if handle is not None:
            raise ValueError(
                "TensorArray handles are not supported when eager execution is enabled."
                if is_eager()
                else "Argument `handle` is not supported: use `flow`."
            )
        is_flow = flow is not None and flow.dtype is variant
        self._array: Any
        if is_eager() and not is_flow:
            self._array = EagerArray(kind, size, grows, clears, infer_shape, shape)
            return
        facts = Facts(kind, size, grows, infer_shape, shape)
        if not is_flow:
            label = tensor_array_name or name or "TensorArray"
            flow = new_flow(facts, size, clears, label)
        self._array = FlowArray(facts, flow)

    @classmethod
    def _of(cls, array: Any) -> TensorArray:
        made = cls.__new__(cls)
        made._array = array
        return made

    @property
    def _facts(self) -> Any:
        return self._array if isinstance(self._array, EagerArray) else self._array.facts

    # --- what it is -----------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        dtype: DType = self._facts.dtype
        return dtype

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        shape: TensorShape = self._facts.element_shape
        return shape

    @property
    def dynamic_size(self) -> bool:
        """Whether the array grows when it is written beyond its end."""
        return bool(self._facts.dynamic_size)

    @property
    def flow(self) -> Any:
        """The tensor that is the array in a graph."""
        return self._array.flow

    @property
    def handle(self) -> Any:
        """None: an array is a value here, and no resource."""
        return self._array.handle

    @property
    def _type_spec(self) -> TensorArraySpec:
        facts = self._facts
        spec = TensorArraySpec(
            facts.element_shape, facts.dtype, facts.dynamic_size, facts.infer_shape
        )
        spec._facts = facts if isinstance(facts, Facts) else None
        return spec

    # --- using it -------------------------------------------------------------------------

    def _version(self, array: Any) -> TensorArray:
        return self if array is None else TensorArray._of(array)

    def read(self, index: Any, name: str | None = None) -> Any:
        """Read the element at an index."""
        return self._array.read(index, name)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write an element; return the array with it."""
        return self._version(self._array.write(index, value, name))

    def stack(self, name: str | None = None) -> Any:
        """Stack all elements to one tensor."""
        return self._array.stack(name)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """Stack some elements to one tensor."""
        return self._array.gather(indices, name)

    def concat(self, name: str | None = None) -> Any:
        """Join all elements along their first axis."""
        return self._array.concat(name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor; return the array with them."""
        return self._version(self._array.unstack(value, name))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor at indices; return the array with them."""
        return self._version(self._array.scatter(indices, value, name))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Write parts of a tensor, of these lengths; return the array with them."""
        return self._version(self._array.split(value, lengths, name))

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements."""
        return self._array.size(name)

    def identity(self) -> TensorArray:
        """Return the same array, with the current control dependencies."""
        if isinstance(self._array, EagerArray):
            return self
        return TensorArray._of(FlowArray(self._array.facts, identity(self.flow)))

    def close(self, name: str | None = None) -> Any:
        """Close the array: free what it holds."""
        return self._array.close(name)

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> Any:
        """Fail: gradients of arrays are arrays that backpropagation makes by itself."""
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly; eager's gradient "
            "implementation does not use/need this function to compute gradients of "
            "operations that use TensorArrays."
        )


@public("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """The type of a `tf.TensorArray`.

    >>> TensorArraySpec([2])
    TensorArraySpec(TensorShape([2]), tf.float32, False, True)
    """

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = "float32",
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = TensorShape(element_shape)
        self._dtype = as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape
        self._facts: Facts | None = None
        """Those of the array that it is the type of: a loop learns the elements' shape."""

    @property
    def value_type(self) -> Any:
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([], variant)]

    def _to_components(self, value: TensorArray) -> Any:
        if value.flow.dtype is variant:
            return [value.flow]
        return [lists.from_tensor(value.stack())]

    def _from_components(self, components: Any) -> TensorArray:
        facts = self._facts or Facts(
            self._dtype, None, self._dynamic_size, self._infer_shape, self._element_shape
        )
        return TensorArray._of(FlowArray(facts, components[0]))

    def _with_shape(self, shape: TensorShape) -> TensorArraySpec:
        return self  # the invariant is that of the flow
