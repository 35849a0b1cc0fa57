"""Variables of TensorFlow 2: they have a value from the start, on their device."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from inspect import signature
from itertools import count
from typing import Any, NoReturn

import numpy as np

from berth.dtypes import DType, as_dtype
from berth.eager.mode import eager_builder
from berth.eager.scope import not_a_name
from berth.eager.tensor import Reference, shown_value
from berth.eager.traced_variables import making_variable
from berth.eager.variable_handle import Handle
from berth.errors import InvalidArgumentError
from berth.graph.graph import Graph
from berth.ops import builder, compose
from berth.ops.arrays.array import identity
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.scattering import gather_nd
from berth.ops.builder import apply
from berth.ops.opdef import Access, OpDef
from berth.ops.operators import ValueOperators
from berth.ops.shape import Dims, TensorShape, bracketed, is_known
from berth.ops.state import variables as state
from berth.ops.state.slice_assign import assign_slice
from berth.public import public_v2
from berth.tensorflow_types import Tensor as TensorType
from berth.trackable.base import Trackable
from berth.variables.assignment import WRITES, Writable
from berth.variables.creators import CreatedVariable
from berth.variables.variable import Variable as GraphVariable

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


_V1_SIGNATURE = signature(GraphVariable.__init__)

_numbers = count()
"""What makes the ids of variables unique."""


@public_v2("Variable")
class Variable(Writable, ValueOperators, TensorType, Trackable, metaclass=CreatedVariable):
    """State that operations read and write."""

    has_creators = True
    """Whether `tf.variable_creator_scope` applies to calls of the class."""

    def __new__(cls, *arguments: Any, **options: Any) -> Variable:
        """Make a variable; in a graph, one of the graph's own."""
        graph = builder.current()
        if isinstance(graph, Graph) and not graph.is_function:
            given = dict(zip(_PARAMETERS, arguments, strict=False))
            made: Any = GraphVariable(**{**given, **options, "use_resource": True})
            variable: Variable = made
            return variable
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
        if name is not None and not isinstance(name, str):
            raise ValueError(not_a_name(name))
        wanted = None if dtype is None else as_dtype(dtype)
        with making_variable():
            value = initial_value() if callable(initial_value) else initial_value
            first: Any = compose.convert(value, wanted, "initial_value")
            declared = TensorShape(first.dims if shape is None else shape)
            if not declared.is_compatible_with(first.shape):
                raise ValueError(
                    "In this `tf.Variable` creation, the initial value's shape "
                    f"({first.shape}) is not compatible with the explicitly supplied `shape` "
                    f"argument ({shape})."
                )
            eager = eager_builder()
            name = f"{eager.current_scope}{name or 'Variable'}"
            device = eager.placer.device_for_variable(first.dtype, name)
            if first.place is not device:
                first = eager.copy_to(first, device, "VarHandleOp")
            is_trainable = True if trainable is None else trainable
            self.handle = Handle(name, first, declared, trainable=is_trainable)
        self.handle.variable = weakref.ref(self)
        self._number = next(_numbers)
        self.constraint = constraint
        self.synchronization = synchronization
        self.aggregation = aggregation

    # --- what it is -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """``Variable:0``."""
        return f"{self.handle.name}:0"

    @property
    def _shared_name(self) -> str:
        return self.handle.name

    @property
    def _unique_id(self) -> str:
        return f"{self.handle.name}_{self._number}"

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
        return self.handle.device

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def ref(self) -> Reference:
        """Return something that can be the key of a dictionary."""
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError(
            "Variable is unhashable. Instead, use variable.ref() as the key. (Variable: "
            f"{self!r})"
        )

    # --- reading --------------------------------------------------------------------------

    def as_tensor(self) -> Any:
        """Return the value, as a tensor."""
        return apply(state.READ, (self.handle,), {})

    value = as_tensor

    def read_value(self) -> Any:
        """Return the value, as a tensor on the device that is asked for here."""
        return identity(self.as_tensor())

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Return some rows."""
        return gather(self, indices, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Return the elements, or parts, at some coordinates."""
        return gather_nd(self, indices, name=name)

    def __getitem__(self, key: Any) -> Any:
        part: Any = super().__getitem__(key)
        part.assign = partial(self._assign_slice, key)
        return part

    def _assign_slice(self, key: Any, value: Any, name: str | None = None) -> Variable:
        assign_slice(self, key, value, name)
        return self

    def numpy(self) -> Any:
        """Return the value as a NumPy array."""
        return self._value_now().numpy()

    def _value_now(self) -> Any:
        """Return the value as an eager tensor, also while a function is traced."""
        return self.handle.read()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype)

    def __int__(self) -> int:
        return int(self._value_now())

    def __float__(self) -> float:
        return float(self._value_now())

    def __bool__(self) -> bool:
        return bool(self.as_tensor())

    def __index__(self) -> int:
        return int(self._value_now().__index__())

    def __iter__(self) -> Any:
        return iter(self.as_tensor())

    def is_initialized(self, name: str | None = None) -> Any:
        """Tell whether it has a value."""
        return apply(state.HANDLE_IS_INITIALIZED, (self.handle,), {}, name)

    # --- writing --------------------------------------------------------------------------

    def write(
        self,
        method: str,
        values: Sequence[Any],
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable | None:
        """Change the value in one of the ways of `WRITES`."""
        _, by_handle = WRITES[method]
        if not by_handle.takes("T", self.dtype):
            raise InvalidArgumentError(
                None,
                None,
                f"No OpKernel was registered to support Op '{by_handle.name}' used by "
                f"{{{{node {by_handle.name}}}}} with these attrs: [dtype=DT_"
                f"{self.dtype.type_string.upper()}]",
            )
        *where, value = values
        tensor = compose.convert(value, self.dtype)
        if not where:
            self._check_shape(by_handle, tensor)
        apply(by_handle, (self.handle, *where, tensor), {}, name)
        return self if read_value else None

    def _check_shape(self, op: OpDef, tensor: Any) -> None:
        is_whole = op.access is Access.ASSIGN
        if is_whole and not self.shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self.name}': Shape mismatch."
                f"The variable shape {self.shape}, and the assigned value shape {tensor.shape} "
                "are incompatible."
            )
        if not is_whole and self.handle.array.shape != tensor.dims and is_known(tensor.dims):
            raise InvalidArgumentError(
                None,
                None,
                f"Cannot update variable with shape {bracketed(self.handle.array.shape)} using "
                f"a Tensor with shape {bracketed(tensor.dims)}, shapes must be equal. "
                f"[Op:{op.name}] name: ",
            )

    def __iadd__(self, other: Any) -> NoReturn:  # type: ignore[misc]
        raise _not_in_place("variable", "+", "assign_add(value)", "+")

    def __isub__(self, other: Any) -> NoReturn:  # type: ignore[misc]
        raise _not_in_place("variable", "-", "assign_sub(value)", "*")  # TensorFlow's words

    def __imul__(self, other: Any) -> NoReturn:  # type: ignore[misc]
        raise _not_in_place("var", "*", "assign(var * value)", "*")

    def __itruediv__(self, other: Any) -> NoReturn:  # type: ignore[misc]
        raise _not_in_place("var", "/", "assign(var / value)", "/")

    def __deepcopy__(self, memo: Any) -> Variable:
        copy = Variable(self._value_now(), trainable=self.trainable, name=self.handle.name)
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        shown = shown_value(self._value_now().value)
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, "
            f"numpy={shown}>"
        )

    # --- what only graphs have ------------------------------------------------------------

    initializer = None

    @property
    def op(self) -> NoReturn:
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")

    @property
    def graph(self) -> NoReturn:
        raise AttributeError("Tensor.graph is undefined when eager execution is enabled.")

    @property
    def initial_value(self) -> NoReturn:
        raise RuntimeError("This property is not supported when eager execution is enabled.")

    def eval(self, session: Any = None) -> NoReturn:
        """Fail: there is no session."""
        raise RuntimeError("This operation is not supported when eager execution is enabled.")


def _not_in_place(word: str, sign: str, call: str, instead: str) -> RuntimeError:
    """Explain why ``variable += value`` is refused."""
    return RuntimeError(
        f"`{word} {sign}= value` with `tf.Variable`s is not supported. Use `{word}.{call}` to "
        f"modify the variable, or `out = {word} {instead} value` if you need to get a new "
        "output Tensor."
    )


def _with_arguments_of_v1(*arguments: Any, **options: Any) -> Any:
    """Make the variable that `tf.compat.v1.Variable` is in an eager program."""
    given = _V1_SIGNATURE.bind(None, *arguments, **options).arguments
    named = {name: given[name] for name in _PARAMETERS if name in given}
    return type.__call__(Variable, **named)  # creators were called already


GraphVariable.make_eagerly = _with_arguments_of_v1
