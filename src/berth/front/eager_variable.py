"""Variables of TensorFlow 2: they have a value from the start, on their device.

Reading gives a tensor over the variable's own bytes. A write looks whether such a tensor is
still around; if so the variable moves to other bytes first, and the tensor keeps what it
was. So reading costs nothing, and neither does writing as long as nobody looks.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from berth.callsite import mark_caller
from berth.devices.device import Device
from berth.dtypes import DType, as_dtype, resource
from berth.errors import FailedPreconditionError, InvalidArgumentError
from berth.front.eager_tensor import EagerTensor, Reference, shown_value
from berth.front.mode import eager_builder
from berth.front.tracing import making_variable
from berth.graph.graph import Graph
from berth.graph.variable import Variable as GraphVariable
from berth.graph.writing import WRITES, Writable
from berth.memory.buffer import Holder
from berth.ops import builder, compose, state
from berth.ops.builder import apply
from berth.ops.operators import ValueOperators
from berth.ops.shape import Dims, TensorShape, bracketed, is_known
from berth.run.launch import new_array


class _Lease:
    """Held by every tensor that looks at a variable's bytes."""

    __slots__ = ("__weakref__",)


class Handle:
    """What stands for a variable where an operation takes one: its memory, and its type.

    It is to a function what a `VariableSlot` is to a session.
    """

    __slots__ = (
        "__weakref__",
        "_lease",
        "array",
        "attrs",
        "device",
        "is_initialized",
        "lock",
        "name",
        "trainable",
        "variable",
        "where",
    )
    dtype = resource
    dims: Dims = ()
    definition = state.HANDLE
    type = state.HANDLE.name
    inputs: tuple[Any, ...] = ()

    def __init__(
        self, name: str, first: EagerTensor, shape: TensorShape, *, trainable: bool
    ) -> None:
        self.name = name
        self.where = mark_caller()
        self.attrs: dict[str, Any] = {"dtype": first.dtype, "shape": shape}
        self.trainable = trainable
        self._lease: weakref.ref[_Lease] | None = None
        self.lock = threading.RLock()
        """Held by whoever writes, and by functions that read while they run."""
        self.variable: Callable[[], Any] = lambda: None
        """Gives the variable that it stands for."""
        self.device = first.place
        self.array = self._copy_of(first.array)
        self.is_initialized = True

    @property
    def op(self) -> Handle:
        """What made it: nothing but itself."""
        return self

    @property
    def place(self) -> Device:
        return self.device

    @property
    def handle(self) -> Handle:
        return self

    def read(self) -> EagerTensor:
        """Return the value, as a tensor over the variable's bytes."""
        if not self.is_initialized:
            raise FailedPreconditionError(
                None, None, f"Could not find variable {self.name}. It has no value."
            )
        with self.lock:
            lease = self._lease and self._lease()
            if lease is None:
                lease = _Lease()
                self._lease = weakref.ref(lease)
            return EagerTensor(self.array, self.device, self.attrs["dtype"], shares=lease)

    def prepare_write(self, dims: Any = None) -> None:
        """Leave the bytes to the tensors that look at them; `dims`: all will be new."""
        is_seen = self._lease is not None and self._lease() is not None
        is_whole = dims is not None
        if not is_seen and (not is_whole or dims == self.array.shape):
            return
        self._lease = None
        if is_whole:
            self.array = new_array(self.device, dims, self.attrs["dtype"], self._holder)
        else:
            self.array = self._copy_of(self.array)

    def _copy_of(self, array: Any) -> Any:
        copy = new_array(self.device, array.shape, self.attrs["dtype"], self._holder)
        copyto = self.device.hardware.backend.xp.copyto
        self.device.stream.launch(lambda: copyto(copy, array))
        return copy

    def _holder(self) -> Holder:
        return Holder(self.name, self.type, self.where)


_PARAMETERS = (
    "initial_value",
    "trainable",
    "validate_shape",
    "caching_device",
    "name",
    "variable_def",
    "dtype",
    "import_scope",
    "constraint",
    "synchronization",
    "aggregation",
    "shape",
)
"""The order of a variable's arguments in TensorFlow 2; TensorFlow 1 has another."""


class Variable(Writable, ValueOperators):
    """State that operations read and write."""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """Make a variable; in a graph, one of the graph's own."""
        graph = builder.current()
        if isinstance(graph, Graph) and not graph.is_function:
            given = dict(zip(_PARAMETERS, arguments, strict=False))
            return GraphVariable(**{**given, **options, "use_resource": True})
        return super().__new__(cls)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you "
                "are not providing a `variable_def`. You provided neither."
            )
        wanted = None if dtype is None else as_dtype(dtype)
        with making_variable():
            value = initial_value() if callable(initial_value) else initial_value
            first = compose.convert(value, wanted)
            declared = TensorShape(first.dims if shape is None else shape)
            if not declared.is_compatible_with(first.shape):
                raise ValueError(
                    "In this `tf.Variable` creation, the initial value's shape "
                    f"({first.shape}) is not compatible with the explicitly supplied `shape` "
                    f"argument ({declared})."
                )
            first = eager_builder().at_home(first)
            is_trainable = True if trainable is None else trainable
            self.handle = Handle(name or "Variable", first, declared, trainable=is_trainable)
        self.handle.variable = weakref.ref(self)
        self.constraint = constraint
        self.synchronization = synchronization
        self.aggregation = aggregation

    # --- what it is -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """``Variable:0``."""
        return f"{self.handle.name}:0"

    @property
    def dtype(self) -> DType:
        dtype: DType = self.handle.attrs["dtype"]
        return dtype

    @property
    def shape(self) -> TensorShape:
        shape: TensorShape = self.handle.attrs["shape"]
        return shape

    @property
    def dims(self) -> Dims:
        return self.shape.dims_or_none

    @property
    def trainable(self) -> bool:
        return self.handle.trainable

    @property
    def device(self) -> str:
        """The name of the device that it is on."""
        return self.handle.device.name

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def ref(self) -> Reference:
        """Return something that can be the key of a dictionary."""
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    # --- reading --------------------------------------------------------------------------

    def as_tensor(self) -> Any:
        """Return the value, as a tensor."""
        return apply(state.READ, (self.handle,), {})

    value = read_value = as_tensor

    def numpy(self) -> Any:
        """Return the value as a NumPy array."""
        return self.handle.read().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype)

    def __int__(self) -> int:
        return int(self.handle.read())

    def __float__(self) -> float:
        return float(self.handle.read())

    def __bool__(self) -> bool:
        return bool(self.as_tensor())

    def __index__(self) -> int:
        return self.handle.read().__index__()

    def __iter__(self) -> Any:
        return iter(self.as_tensor())

    def is_initialized(self, name: str | None = None) -> Any:
        """Tell whether it has a value."""
        return apply(state.HANDLE_IS_INITIALIZED, (self.handle,), {}, name)

    # --- writing --------------------------------------------------------------------------

    def write(
        self, verb: str, values: Sequence[Any], name: str | None = None, read_value: bool = True
    ) -> Variable | None:
        """Change the value in one of the ways of `WRITES`."""
        _, by_handle = WRITES[verb]
        *where, value = values
        tensor = compose.convert(value, self.dtype)
        if not where:
            self._check_shape(verb, tensor)
        apply(by_handle, (self.handle, *where, tensor), {}, name)
        return self if read_value else None

    def _check_shape(self, verb: str, tensor: Any) -> None:
        if verb == "assign" and not self.shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch."
                f"The variable shape {self.shape}, and the assigned value shape {tensor.shape} "
                "are incompatible."
            )
        if (
            verb != "assign"
            and self.handle.array.shape != tensor.dims
            and is_known(tensor.dims)
        ):
            raise InvalidArgumentError(
                None,
                None,
                f"Cannot update variable with shape {bracketed(self.handle.array.shape)} using "
                f"a Tensor with shape {bracketed(tensor.dims)}, shapes must be equal.",
            )

    def _not_in_place(self, other: Any, sign: str, verb: str) -> NoReturn:
        raise RuntimeError(
            f"Variable {sign}= value not supported. Use `variable.{verb}(value)` to modify the "
            f"variable value and `variable = variable {sign} value` to get a new Tensor object."
        )

    def __iadd__(self, other: Any) -> NoReturn:
        self._not_in_place(other, "+", "assign_add")

    def __isub__(self, other: Any) -> NoReturn:
        self._not_in_place(other, "-", "assign_sub")

    def __imul__(self, other: Any) -> NoReturn:
        self._not_in_place(other, "*", "assign")

    def __itruediv__(self, other: Any) -> NoReturn:
        self._not_in_place(other, "/", "assign")

    def __deepcopy__(self, memo: Any) -> Variable:
        copy = Variable(self.handle.read(), trainable=self.trainable, name=self.handle.name)
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        shown = shown_value(self.handle.read().value)
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, "
            f"numpy={shown}>"
        )
