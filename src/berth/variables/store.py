"""`VariableScope`, and the store of a graph's variables by name.

Each graph has one store, with the variables by their full names. Each thread has its own
current scope in it; at first that is the root, which has no name.

A scope's name and the name scope that it opens are two things. Entering ``a`` twice opens
the name scopes ``a`` and ``a_1``, and the variables of both are ``a/...``.
"""

from __future__ import annotations

import re
import threading
from enum import Enum
from typing import Any

from berth.blocks import Stack, Use
from berth.dtypes import DType, as_dtype, float32
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.public import public_v1, public_value


class _ReuseMode(Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
public_value(__name__, "AUTO_REUSE", "AUTO_REUSE", apis=("v1",))
"""Variables are made where there are none, and taken where there are."""


@public_v1("VariableScope")
class VariableScope:
    """Variable scope: the defaults for the variables that are created in it."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._name = name
        self._reuse = reuse
        self.original_name_scope = name_scope
        """The name scope that was opened with it, to be entered again."""
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.custom_getter = custom_getter
        self.dtype: DType = as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint
        self.partitioner = partitioner

    @property
    def name(self) -> str:
        return self._name

    @property
    def reuse(self) -> Any:
        """True, False or AUTO_REUSE: reuse variables, create them, or either."""
        return self._reuse

    def reuse_variables(self) -> None:
        """Reuse existing variables, and create no new ones."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Set the device where the values of new variables are cached for reading."""
        self.caching_device = caching_device

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set the custom getter between `get_variable` and the store."""
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        """Set the default type."""
        self.dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Set whether new variables are resource variables; None: the default."""
        self.use_resource = use_resource

    def set_partitioner(self, partitioner: Any) -> None:
        """Set the default partitioner, which divides new variables into parts."""
        self.partitioner = partitioner

    def global_variables(self) -> list[Any]:
        """Global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """Trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def get_collection(self, name: str) -> list[Any]:
        """Members of a collection whose names are in this scope."""
        inside = f"{re.escape(self.name)}/" if self.name else None
        return get_default_graph().get_collection(name, inside)


class _Position(threading.local):
    """The current variable scope of one thread in a graph."""

    def __init__(self) -> None:
        self.outermost = VariableScope(False)
        self.blocks: Stack[VariableScope] = Stack(
            lambda _: RuntimeError("Improper nesting of variable_scope.")
        )
        self.n_uses: dict[str, int] = {}
        """How often each scope was entered, for the numbers of default names."""


class VariableStore:
    """The variables of one graph that `get_variable` finds by name."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, Any] = {}
        """Variables in parts; the parts are among the variables too."""
        self._position = _Position()

    @property
    def scope(self) -> VariableScope:
        """This thread's current scope."""
        position = self._position
        return position.blocks.innermost if position.blocks else position.outermost

    @property
    def n_uses(self) -> dict[str, int]:
        """How often this thread entered each scope."""
        return self._position.n_uses

    def enter(self, use: Use, scope: VariableScope) -> None:
        """Make a scope this thread's current one, in a block, and count that."""
        self.n_uses[scope.name] = self.n_uses.get(scope.name, 0) + 1
        use.set(self._position.blocks, scope)

    def restore_uses(self, use: Use) -> None:
        """Count again as now when the block ends."""
        use.at_end(setattr, [(self._position, "n_uses", dict(self.n_uses))])

    def forget_inside(self, name: str) -> None:
        """Reset the counts of the scopes inside of one: it may be entered again."""
        for inner in self.n_uses:
            if inner.startswith(f"{name}/"):
                self.n_uses[inner] = 0

    def unique_scope(self, prefix: str) -> str:
        """Return a name for a scope in the current one that was not entered yet."""
        outer = f"{self.scope.name}/" if self.scope.name else ""
        name, number = prefix, 0
        while self.n_uses.get(outer + name):
            number += 1
            name = f"{prefix}_{number}"
        return name


def get_store(graph: Graph | None = None) -> VariableStore:
    """Return the store of a graph, by default the default one."""
    graph = graph or get_default_graph()
    store: VariableStore | None = graph.kept.get(VariableStore)
    return store or graph.kept.setdefault(VariableStore, VariableStore())


@public_v1("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Current variable scope of the default graph."""
    return get_store().scope


# --- references or resources --------------------------------------------------------------


class _Default:
    use_resource = False


@public_v1("enable_resource_variables")
def enable_resource_variables() -> None:
    """Make resource variables the default."""
    _Default.use_resource = True


@public_v1("disable_resource_variables")
def disable_resource_variables() -> None:
    """Make reference variables the default, as in TensorFlow 1."""
    _Default.use_resource = False


@public_v1("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Tell whether resource variables are the default."""
    return _Default.use_resource


def use_resource_here(use_resource: bool | None) -> bool:
    """Return whether a new variable is a resource variable."""
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    return _Default.use_resource if use_resource is None else use_resource
