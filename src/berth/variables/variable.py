"""`tf.Variable` of a graph: the nodes that hold, initialize, read and write a value."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, NoReturn

from berth.dtypes import DType, as_dtype
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import IDENTITY
from berth.ops.arrays.gathering import gather
from berth.ops.operators import Operators
from berth.ops.shape import TensorShape, is_known, merge, read_dims
from berth.ops.state import variables as state
from berth.public import public, public_v1
from berth.variables.assignment import Writable, beside, count, write
from berth.variables.creators import CreatedVariable
from berth.variables.initial_value import guarded
from berth.variables.slice_info import SavedAsPart
from berth.variables.store import use_resource_here


@public("VariableSynchronization")
class VariableSynchronization(Enum):
    """When the copies of a distributed variable are synchronized."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@public("VariableAggregation")
class VariableAggregation(Enum):
    """How the updates of a distributed variable are aggregated."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3


@public_v1("Variable")
class Variable(SavedAsPart, Writable, Operators, metaclass=CreatedVariable):
    """Variable of a graph: it has a value once its initializer has been run.

    A *reference* variable (the default in TensorFlow 1) is written through its own output;
    a *resource* variable through a handle.

    >>> with Graph().as_default():
    ...     v = Variable([1.0, 2.0], name="v")
    ...     v
    ...     v.assign_add([1.0, 1.0])
    <tf.Variable 'v:0' shape=(2,) dtype=float32_ref>
    <tf.Tensor 'AssignAdd:0' shape=(2,) dtype=float32_ref>
    """

    has_creators = True
    """Whether `tf.variable_creator_scope` applies to calls of the class."""
    graph: Graph
    initial_value: SymbolicTensor
    initializer: Operation

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        _check_arguments(initial_value, variable_def, collections, constraint)
        self.graph = get_default_graph().outermost
        self.synchronization = synchronization or VariableSynchronization.AUTO
        self.aggregation = aggregation or VariableAggregation.NONE
        self.constraint = constraint
        is_on_read = self.synchronization is VariableSynchronization.ON_READ
        self.trainable: bool = not is_on_read if trainable is None else trainable
        self._is_resource = use_resource_here(use_resource)
        self._caching_device = caching_device
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        # A variable stands beside whatever is being built, and waits for none of it.
        with self.graph.as_default(), self.graph.control_dependencies(None):
            self._build(initial_value, wanted, name or "Variable", shape, validate_shape)
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        self.graph.add_to_collections(keys, self)

    # --- creation -------------------------------------------------------------------------

    def _build(
        self, value: Any, dtype: DType | None, name: str, shape: Any, validate_shape: bool
    ) -> None:
        graph = self.graph
        with graph.name_scope(name) as scope:
            self.initial_value = initial = self._initial(value, dtype, scope)
            declared = self._declared(shape, validate_shape)
            # Memory has one shape, whatever a declaration leaves open.
            dims = merge(declared.dims_or_none, initial.dims)
            attrs = {"dtype": initial.dtype.base_dtype, "shape": TensorShape(dims)}
            self._shape = declared
            make = state.HANDLE if self._is_resource else state.VARIABLE
            self._variable: SymbolicTensor = graph.apply(make, (), attrs, scope)
            first = guarded(initial, self.op.name)
            if self._is_resource:
                self._build_for_handle(first, scope)
            else:
                self._build_for_reference(first, scope)

    def _initial(self, value: Any, dtype: DType | None, scope: str) -> SymbolicTensor:
        """Return the initial value, whose operations are placed with the variable."""
        graph = self.graph
        is_function = callable(value) and not isinstance(value, SymbolicTensor | Variable)
        if not is_function and not self._is_resource:
            return self._converted(value, dtype)
        n_before = len(graph.ops)
        with graph.name_scope("Initializer"), graph.device(None):
            initial = self._converted(value() if is_function else value, dtype)
        for op in graph.ops[n_before:]:
            is_ours = op.name.startswith(f"{scope}Initializer/")
            if is_ours and not op.colocated_with:  # a slot's are beside the slot's variable
                op.colocated_with = (scope[:-1],)
        return initial

    def _converted(self, value: Any, dtype: DType | None) -> SymbolicTensor:
        try:
            return self.graph.convert(value, dtype, "initial_value")
        except ValueError as error:
            if "requested dtype" in str(error):
                raise ValueError(f"initial_value: {error}") from None
            raise

    def _declared(self, shape: Any, validate_shape: bool) -> TensorShape:
        """Return the declared shape."""
        initial = self.initial_value
        if shape is not None:
            declared = TensorShape(shape)
            if not declared.is_compatible_with(initial.shape):
                raise ValueError(
                    f"In this `tf.Variable` creation, the initial value's shape "
                    f"({initial.shape}) is not compatible with the explicitly supplied `shape` "
                    f"argument ({shape})."
                )
            return declared
        if validate_shape and not self._is_resource and not is_known(initial.dims):
            raise ValueError(f"initial_value must have a shape specified: {initial}")
        return initial.shape if validate_shape or self._is_resource else TensorShape(None)

    def _build_for_reference(self, first: SymbolicTensor, scope: str) -> None:
        graph = self.graph
        self.initializer = beside(
            self._variable, state.ASSIGN, (first,), {}, f"{scope}Assign/"
        ).op
        place: AbstractContextManager[None] = graph.colocate_with(self.op)
        if self._caching_device is not None:
            place = graph.device(self._caching_device)
        with place:
            self._snapshot: SymbolicTensor = graph.apply(
                IDENTITY, (self._variable,), {}, f"{scope}read/"
            )

    def _build_for_handle(self, first: SymbolicTensor, scope: str) -> None:
        graph, handle = self.graph, self._variable
        is_initialized = f"{scope}IsInitialized/VarIsInitializedOp/"
        graph.apply(state.HANDLE_IS_INITIALIZED, (handle,), {}, is_initialized)
        with graph.colocate_with(None, ignore_existing=True), graph.device(handle.device):
            self.initializer = graph.apply(
                state.ASSIGN_HANDLE, (handle, first), {}, f"{scope}Assign/"
            )
        self._snapshot = graph.apply(state.READ, (handle,), {}, f"{scope}Read/ReadVariableOp/")
        if self._caching_device is not None:
            with graph.device(self._caching_device):
                self._snapshot = graph.apply(
                    IDENTITY, (self._snapshot,), {}, f"{scope}Read/Identity/"
                )

    # --- properties -----------------------------------------------------------------------

    @property
    def _here(self) -> Graph:
        """The graph of reads and writes: the variable's own, or a subgraph of that."""
        return self.graph.here()

    @property
    def op(self) -> Operation:
        return self._variable.op

    @property
    def handle(self) -> SymbolicTensor:
        """The handle through which it is read and written."""
        return self._variable

    @property
    def name(self) -> str:
        """``weights:0``."""
        return self._variable.name

    @property
    def device(self) -> str:
        """The requested device."""
        return self._variable.device

    @property
    def dtype(self) -> DType:
        """The type of its elements; of a reference variable, a reference type."""
        return self.initial_value.dtype if self._is_resource else self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dims(self) -> Any:
        return self._shape.dims_or_none

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape; ValueError if it contradicts what is known."""
        self._snapshot.set_shape(shape)
        self._shape = TensorShape(merge(self._shape.dims_or_none, read_dims(shape)))

    def as_tensor(self) -> SymbolicTensor:
        """Return the value, for conversion to a tensor."""
        return self.value()

    def as_graph_element(self) -> SymbolicTensor:
        """Return the tensor that is fetched or fed for it."""
        return self._snapshot if self._is_resource else self._variable

    # --- reading --------------------------------------------------------------------------

    def value(self) -> SymbolicTensor:
        """Return the value, as a tensor."""
        if not self._is_resource or self._caching_device is not None:
            if self._here is not self.graph:  # a body sees what the variable is when it runs
                return self.read_value()
            return self._snapshot
        with self._here.colocate_with(None, ignore_existing=True):
            return self._read("ReadVariableOp")

    def _read(self, name: str) -> SymbolicTensor:
        tensor: SymbolicTensor = self._here.apply(state.READ, (self._variable,), {}, name)
        return tensor

    def read_value(self) -> SymbolicTensor:
        """Read the value at run time, after the control dependencies."""
        if not self._is_resource:
            tensor: SymbolicTensor = self._here.apply(IDENTITY, (self._variable,), {}, "read")
            return tensor
        with self._here.name_scope("Read"):
            read = self._read("ReadVariableOp")
        tensor = self._here.apply(IDENTITY, (read,), {}, None)
        return tensor

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Gather rows of the value."""
        return gather(self, indices, name=name)

    def initialized_value(self) -> SymbolicTensor:
        """Return the value, or the initial value while uninitialized."""
        op = state.INITIALIZED_HANDLE if self._is_resource else state.INITIALIZED_REFERENCE
        with self._here.control_dependencies(None):
            tensor: SymbolicTensor = beside(
                self._variable, op, (self.initial_value,), {}, "cond"
            )
        return tensor

    def is_initialized(self, name: str | None = None) -> SymbolicTensor:
        """Tell whether it is initialized."""
        op = state.REFERENCE_IS_INITIALIZED
        if self._is_resource:
            op = state.HANDLE_IS_INITIALIZED
        tensor: SymbolicTensor = beside(self._variable, op, (), {}, name)
        return tensor

    def eval(self, session: Any = None) -> Any:
        """Evaluate it in a session, by default the default one."""
        return self.as_graph_element().eval(session=session)

    # --- writing --------------------------------------------------------------------------

    def write(
        self,
        method: str,
        values: Sequence[Any],
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Update the value; return the reference, or the variable after the write."""
        if self._is_resource and method == "assign":
            values = [self._fitting(values[0])]
        written = write(self._variable, method, values, name)
        if not self._is_resource:
            return written if read_value else written.op
        return UnreadVariable(self, written) if read_value else written

    def _fitting(self, value: Any) -> SymbolicTensor:
        tensor = self._here.convert(value, self.dtype)
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch.The variable "
                f"shape {self._shape}, and the assigned value shape {tensor.shape} are "
                "incompatible."
            )
        return tensor

    def count_up_to(self, limit: int) -> Any:
        """Increment it up to a limit; return its value before."""
        return count(self._variable, limit, None)

    def load(self, value: Any, session: Any = None) -> None:
        """Load a value in a session, without adding to the graph."""
        self.initializer.run({self.initializer.inputs[1]: value}, session)

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}>"


class UnreadVariable(Variable):
    """Resource variable after a write, which reads wait for."""

    def __init__(self, variable: Variable, written: Operation) -> None:
        self.__dict__.update(variable.__dict__)
        self._written = written
        self._caching_device = None
        with self._after():
            self._snapshot = super()._read("ReadVariableOp")

    def _after(self) -> AbstractContextManager[None]:
        return self._here.control_dependencies([self._written])

    @property
    def op(self) -> Operation:
        """The operation that writes."""
        return self._written

    @property
    def name(self) -> str:
        """``AssignVariableOp``: the name of the operation that writes."""
        return self._written.name

    def _read(self, name: str) -> SymbolicTensor:
        with self._after():
            return super()._read(name)

    def write(
        self,
        method: str,
        values: Sequence[Any],
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Update the value again."""
        with self._after():
            return super().write(method, values, name, read_value)


def _check_arguments(
    initial_value: Any, variable_def: Any, collections: Any, constraint: Any
) -> None:
    if variable_def is not None:
        if initial_value is not None:
            raise ValueError("variable_def and initial_value are mutually exclusive.")
        raise NotImplementedError("Variables are not made of a VariableDef.")
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if collections is not None and not isinstance(collections, list | tuple | set):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
