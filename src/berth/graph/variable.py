"""``tf.Variable`` of a graph: the nodes that hold, initialise, read and write a value."""

from __future__ import annotations

from typing import Any

from berth.dtypes import DType, as_dtype
from berth.graph.graph import Graph
from berth.graph.ground import get_default_graph
from berth.graph.operation import Operation
from berth.graph.tensor import Tensor
from berth.ops import state
from berth.ops.array import IDENTITY
from berth.ops.control import group
from berth.ops.opdef import OpDef
from berth.ops.operators import Operators
from berth.ops.shape import TensorShape

GLOBAL_VARIABLES = "variables"
LOCAL_VARIABLES = "local_variables"
TRAINABLE_VARIABLES = "trainable_variables"


class Variable(Operators):
    """State that outlives a run: it has a value once its initializer has been run.

    A *reference* variable (the default in TensorFlow 1) is written through its own output;
    a *resource* variable through a handle.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        dtype: Any = None,
        use_resource: bool = False,
    ) -> None:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if not validate_shape or caching_device is not None:
            raise NotImplementedError(
                "Variables with validate_shape=False or a caching_device are not there yet."
            )
        self.graph: Graph = get_default_graph()
        self.trainable = trainable
        self._is_resource = use_resource
        wanted = None if dtype is None else as_dtype(dtype)
        # A variable stands beside whatever is being built, and waits for none of it.
        with self.graph.control_dependencies(None):
            self._build(initial_value, wanted, name or "Variable")
        keys = [GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable and TRAINABLE_VARIABLES not in keys:
            keys.append(TRAINABLE_VARIABLES)
        for key in keys:
            self.graph.add_to_collection(key, self)

    def _build(self, initial_value: Any, dtype: DType | None, name: str) -> None:
        with self.graph.name_scope(name) as scope:
            inner = "Initializer/" if self._is_resource else ""
            self.initial_value = self._initial(
                initial_value, dtype, f"{scope}{inner}initial_value/"
            )
            self.dtype: DType = self.initial_value.dtype.base_dtype
            self._shape = self.initial_value.shape
            attrs = {"dtype": self.dtype, "shape": self._shape}
            make = state.HANDLE if self._is_resource else state.VARIABLE
            self._variable: Tensor = self.graph.apply(make, (), attrs, scope)
            with self.graph.colocate_with(self._variable.op):
                if self._is_resource:
                    self._build_for_handle(scope)
                else:
                    self._build_for_reference(scope)

    def _initial(self, value: Any, dtype: DType | None, name: str) -> Tensor:
        if callable(value) and not isinstance(value, Tensor):
            with self.graph.name_scope("Initializer"):
                value = value()
        return self.graph.convert(value, dtype, name)

    def _build_for_reference(self, scope: str) -> None:
        assigned = self.graph.apply(
            state.ASSIGN, (self._variable, self.initial_value), {}, f"{scope}Assign/"
        )
        self.initializer: Operation = assigned.op
        self._snapshot: Tensor = self.graph.apply(
            IDENTITY, (self._variable,), {}, f"{scope}read/"
        )

    def _build_for_handle(self, scope: str) -> None:
        self.graph.apply(
            state.HANDLE_IS_INITIALIZED,
            (self._variable,),
            {},
            f"{scope}IsInitialized/VarIsInitializedOp/",
        )
        self.initializer = self.graph.apply(
            state.ASSIGN_HANDLE, (self._variable, self.initial_value), {}, f"{scope}Assign/"
        )
        self._snapshot = self.graph.apply(
            state.READ, (self._variable,), {}, f"{scope}Read/ReadVariableOp/"
        )

    # --- what it is -----------------------------------------------------------------------

    @property
    def op(self) -> Operation:
        return self._variable.op

    @property
    def handle(self) -> Tensor:
        """The tensor through which it is read and written."""
        return self._variable

    @property
    def name(self) -> str:
        """``weights:0``."""
        return f"{self.op.name}:0"

    @property
    def device(self) -> str:
        """The device that it asks for."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dims(self) -> Any:
        return self._shape.dims_or_none

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self._shape

    def as_tensor(self) -> Tensor:
        """Return the tensor that it is where a tensor is wanted: its value."""
        return self.value()

    def as_graph_element(self) -> Tensor:
        """Return what is meant by it in a fetch or a feed."""
        return self._snapshot if self._is_resource else self._variable

    # --- reading and writing --------------------------------------------------------------

    def value(self) -> Tensor:
        """Return the value, as a tensor."""
        if not self._is_resource:
            return self._snapshot
        with self.graph.colocate_with(None, ignore_existing=True):
            tensor: Tensor = self.graph.apply(
                state.READ, (self._variable,), {}, "ReadVariableOp"
            )
        return tensor

    def read_value(self) -> Tensor:
        """Return the value at the time when what is being built runs."""
        if self._is_resource:
            read = self.graph.apply(state.READ, (self._variable,), {}, "ReadVariableOp")
            tensor: Tensor = self.graph.apply(IDENTITY, (read,), {}, None)
            return tensor
        tensor = self.graph.apply(IDENTITY, (self._variable,), {}, "read")
        return tensor

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Give it a new value."""
        return self._write(state.ASSIGN, state.ASSIGN_HANDLE, value, name)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Add to its value."""
        return self._write(state.ASSIGN_ADD, state.ASSIGN_ADD_HANDLE, delta, name)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Take from its value."""
        return self._write(state.ASSIGN_SUB, state.ASSIGN_SUB_HANDLE, delta, name)

    def _write(self, by_reference: OpDef, by_handle: OpDef, value: Any, name: Any) -> Any:
        if self._is_resource:
            tensor = self.graph.convert(value, self.dtype)
            written = self.graph.apply(by_handle, (self._variable, tensor), {}, name)
            return UnreadVariable(self, written)
        with self.graph.name_scope(name or by_reference.name) as scope:
            tensor = self.graph.convert(value, self.dtype, "value")
            with self.graph.colocate_with(self.op):
                return self.graph.apply(by_reference, (self._variable, tensor), {}, scope)

    def eval(self, session: Any = None) -> Any:
        """Compute its value in a session, by default the default one."""
        return self.as_graph_element().eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Give it a value in a session, without adding to the graph."""
        self.initializer.run({self.initial_value: value}, session)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}>"


class UnreadVariable(Operators):
    """A resource variable as it is after a write: read when somebody takes it."""

    def __init__(self, variable: Variable, written: Operation) -> None:
        self._variable = variable
        self._value: Tensor | None = None
        self.op = written
        """The operation that writes."""
        self.graph = variable.graph
        self.dtype = variable.dtype
        self.shape = variable.shape
        self.device = variable.device

    def as_tensor(self) -> Tensor:
        """Return the value after the write."""
        if self._value is None:
            with self.graph.control_dependencies([self.op]):
                self._value = self._variable.value()
        return self._value

    as_graph_element = value = read_value = as_tensor

    def eval(self, session: Any = None) -> Any:
        """Write, and return the value, in a session, by default the default one."""
        return self.as_tensor().eval(session=session)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self._variable.name}' after {self.op.name}>"


def global_variables() -> list[Variable]:
    """List the variables of the default graph."""
    return get_default_graph().get_collection(GLOBAL_VARIABLES)


def trainable_variables() -> list[Variable]:
    """List the variables of the default graph that training may change."""
    return get_default_graph().get_collection(TRAINABLE_VARIABLES)


def variables_initializer(variables: Any, name: str = "init") -> Any:
    """Return the operation that gives variables their initial values."""
    return group(*[variable.initializer for variable in variables], name=name)


def global_variables_initializer() -> Any:
    """Return the operation that gives every variable its initial value."""
    return variables_initializer(global_variables())


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Give a variable a new value."""
    return _write_to(ref, "assign", state.ASSIGN, value, name)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add to the value of a variable."""
    return _write_to(ref, "assign_add", state.ASSIGN_ADD, value, name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Take from the value of a variable."""
    return _write_to(ref, "assign_sub", state.ASSIGN_SUB, value, name)


def _write_to(ref: Any, verb: str, by_reference: OpDef, value: Any, name: str | None) -> Any:
    """Write to a variable, or through the reference that another write has returned."""
    if hasattr(ref, verb):
        return getattr(ref, verb)(value, name=name)
    if not isinstance(ref, Tensor) or not ref.dtype.is_ref:
        raise TypeError(f"tf.{verb} needs a variable, and not {ref!r}.")
    with ref.graph.colocate_with(ref.op):
        return ref.graph.apply(by_reference, (ref, value), {}, name)


def is_variable_initialized(variable: Variable) -> Any:
    """Tell whether a variable has a value."""
    op = (
        state.HANDLE_IS_INITIALIZED if variable._is_resource else state.REFERENCE_IS_INITIALIZED
    )
    return variable.graph.apply(op, (variable._variable,), {}, None)
