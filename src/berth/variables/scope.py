"""`tf.variable_scope` and `tf.get_variable`: variables by name."""

from __future__ import annotations

from functools import partial
from typing import Any

from berth.blocks import Block, Stack, Use
from berth.dtypes import DType, as_dtype, float32
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.ops import builder
from berth.ops.convert import dtype_of, to_array
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.creation import make_variable, regularize
from berth.variables.creators import makes_eager_variables
from berth.variables.partitioned import get_partitioned
from berth.variables.store import (
    AUTO_REUSE,
    VariableScope,
    VariableStore,
    get_store,
)
from berth.variables.variable import VariableAggregation, VariableSynchronization

# --- scopes -------------------------------------------------------------------------------


@public_v1("variable_scope")
class variable_scope(Block[VariableScope]):
    """Variable scope: a prefix for the names of variables, and defaults for them.

    The names of operations go into a name scope of that name, or of that name and a number.

    >>> with Graph().as_default():
    ...     with variable_scope("layer"):
    ...         get_variable("w", [2, 3])
    ...     with variable_scope("layer", reuse=True) as again:
    ...         get_variable("w")
    ...         again.original_name_scope
    <tf.Variable 'layer/w:0' shape=(2, 3) dtype=float32_ref>
    <tf.Variable 'layer/w:0' shape=(2, 3) dtype=float32_ref>
    'layer_1/'
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, False, True, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._given = name_or_scope
        self._default_name = default_name
        self._graph = _graph_of(values)
        self._reuse = reuse
        self._constraint = constraint
        self._custom_getter = custom_getter
        self._opens_name_scope = auxiliary_name_scope
        options = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "dtype": None if dtype is None else as_dtype(dtype),
            "use_resource": use_resource,
            "partitioner": partitioner,
        }
        self._options = {name: value for name, value in options.items() if value is not None}
        self._inside: Stack[tuple[VariableStore, str]] = Stack()
        """Where names are free again after a use."""

    def _begin(self, use: Use) -> VariableScope:
        graph = self._graph or get_default_graph()
        if self._graph is not None:
            use.enter(graph.as_default())
        return self._enter(graph, use)

    def _finish(self, use: Use) -> None:
        store, name = self._inside.get(use, (None, ""))
        use.end()
        if store is not None:  # if it is interrupted, later default names get higher numbers
            store.forget_inside(name)

    def _enter(self, graph: Graph, use: Use) -> VariableScope:
        store, given = get_store(graph), self._given
        if given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            given = store.unique_scope(str(self._default_name))
            self._open_name_scope(graph, str(self._default_name), use)
        elif isinstance(given, VariableScope):
            self._open_name_scope(graph, given.name.rpartition("/")[2], use)
        elif isinstance(given, str):
            self._open_name_scope(graph, given, use)
        else:
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        here = graph.get_name_scope()
        scope = self._make(store, given, f"{here}/" if here else "")
        store.enter(use, scope)
        if isinstance(given, VariableScope):
            store.restore_uses(use)
        else:
            use.set(self._inside, (store, scope.name))
        return scope

    def _open_name_scope(self, graph: Graph, name: str, use: Use) -> None:
        if name and self._opens_name_scope:
            graph.names.enter(use, name)
            here: Any = builder.current()
            if not isinstance(here, Graph):
                use.enter(here.name_scope(name))

    def _make(
        self, store: VariableStore, given: VariableScope | str, name_scope: str
    ) -> VariableScope:
        """Create the scope: it inherits the defaults of the scope around it."""
        if isinstance(given, VariableScope):
            like, name, name_scope = given, given.name, given.original_name_scope
        else:
            like = store.scope
            name = f"{like.name}/{given}" if like.name and given else like.name or given
        options: dict[str, Any] = {option: getattr(like, option) for option in _INHERITED}
        options |= {"use_resource": like.use_resource, **self._options}
        return VariableScope(
            self._reuse or like.reuse,
            name=name,
            name_scope=name_scope,
            custom_getter=chained(self._custom_getter, like.custom_getter),
            constraint=self._constraint,
            **options,
        )


_INHERITED = ("initializer", "regularizer", "caching_device", "dtype", "partitioner")


def chained(inner: Any, outer: Any) -> Any:
    """Chain custom getters: the inner one calls the one around it, and that one the store."""
    if inner is None or outer is None:
        return inner or outer

    def both(getter: Any, *arguments: Any, **options: Any) -> Any:
        return inner(partial(outer, getter), *arguments, **options)

    return both


def _graph_of(values: Any) -> Graph | None:
    graphs = (getattr(value, "graph", None) for value in values or ())
    return next((graph for graph in graphs if isinstance(graph, Graph)), None)


# --- variables ----------------------------------------------------------------------------


@public_v1("get_variable")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Get or create the variable of a name in the current variable scope.

    Which of the two is the scope's `reuse` to say.

    >>> with Graph().as_default():
    ...     get_variable("v", initializer=[1, 2])
    <tf.Variable 'v:0' shape=(2,) dtype=int32_ref>
    """
    graph = get_default_graph()
    scope = get_store(graph).scope
    _check_type_of_initializer(initializer, dtype)
    full_name = f"{scope.name}/{name}" if scope.name else name
    options = {
        "shape": shape,
        "dtype": scope.dtype if dtype is None else as_dtype(dtype),
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse,
        "trainable": trainable,
        "collections": collections,
        "caching_device": scope.caching_device if caching_device is None else caching_device,
        "partitioner": partitioner or scope.partitioner,
        "validate_shape": validate_shape,
        "use_resource": scope.use_resource if use_resource is None else use_resource,
        "constraint": scope.constraint if constraint is None else constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    getter = custom_getter or scope.custom_getter
    here: Any = builder.current()  # a graph, or what executes operations
    with graph.outermost.name_scope(None), graph.name_scope(None), here.name_scope(None):
        if getter is None:
            return _find_or_make(full_name, **options)
        return getter(getter=_find_or_make, name=full_name, **options)


@public_v1("get_local_variable")
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Get or create a local variable: not trained, and not saved."""
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@public_v1("create_partitioned_variables")
def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """Create a variable in parts; `slicing` has the number of parts on each axis."""
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        made = get_variable(
            "",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            collections=collections,
            partitioner=lambda **_: slicing,
        )
    return list(made)


@public_v1("no_regularizer")
def no_regularizer(_: Any) -> None:
    """Regularizer that adds no loss, which overrides the scope's."""


def _check_type_of_initializer(initializer: Any, dtype: Any) -> None:
    if dtype is None or initializer is None or callable(initializer):
        return
    found = getattr(initializer, "dtype", None)
    if not isinstance(found, DType):
        found = dtype_of(to_array(initializer))
    if found.base_dtype is not as_dtype(dtype).base_dtype:
        raise ValueError(
            f"Initializer type '{found.base_dtype}' and explicit dtype '{as_dtype(dtype)}' "
            "don't match."
        )


def _find_or_make(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    partitioner: Any = None,
    **options: Any,
) -> Any:
    """Get or create the variable of a full name: the end of every chain of getters."""
    if makes_eager_variables():
        _check_eager(name, regularizer, partitioner)
        return make_variable(name, shape, dtype, initializer, options)
    store = get_store()
    with store.lock:
        is_scalar = shape is not None and TensorShape(shape).ndims == 0
        is_found = reuse is True and name in store.partitioned
        if (partitioner is not None and not is_scalar) or is_found:
            return get_partitioned(
                store, name, shape, dtype, initializer, regularizer, reuse, partitioner, options
            )
        if f"{name}/part_0" in store.variables:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was "
                f"found: {name}/part_0. Perhaps a variable of the same name was already "
                "created with partitioning?"
            )
        found = store.variables.get(name)
        if found is not None:
            _check_reuse(found, name, shape, dtype, reuse)
            return found
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        made = make_variable(name, shape, dtype, initializer, options)
        store.variables[name] = made
    if regularizer is not None:
        regularize(made, name, regularizer)
    return made


def _check_eager(name: str, regularizer: Any, partitioner: Any) -> None:
    for option, value in (("regularizer", regularizer), ("partitioner", partitioner)):
        if value is not None:
            raise ValueError(
                f"Variable {name} is eager: a {option} is for the variables of graphs."
            )


def _check_reuse(found: Any, name: str, shape: Any, dtype: Any, reuse: Any) -> None:
    if not reuse:
        where = found.op.where
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n"
            f'  File "{where.file}", line {where.line}\n'
        )
    if not TensorShape(shape).is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and "
            f"found shape {found.shape}."
        )
    if dtype is not None and not as_dtype(dtype).is_compatible_with(found.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {as_dtype(dtype).name} and "
            f"found dtype {found.dtype.name}."
        )
