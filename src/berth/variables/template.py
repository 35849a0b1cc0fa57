"""`tf.make_template`: functions that create variables once, and share them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from berth.callsite import call_site
from berth.errors import explain
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.public import public_v1
from berth.variables.creators import makes_eager_variables
from berth.variables.scope import chained, variable_scope
from berth.variables.store import VariableScope


@public_v1("make_template")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Template: a function whose first call creates variables, which later calls share.

    >>> from berth.graph.graph import Graph
    >>> from berth.variables.scope import get_variable
    >>> with Graph().as_default():
    ...     layer = make_template("layer", lambda x: x * get_variable("w", [2]))
    ...     layer(1.0).name, layer(2.0).name, layer.variables
    ('layer/mul:0', 'layer_1/mul:0', [<tf.Variable 'layer/w:0' shape=(2,) dtype=float32_ref>])
    """
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class Template:
    """Function that shares its variables between calls."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool,
        unique_name: str | None,
        custom_getter: Any,
        kwargs: dict[str, Any],
    ) -> None:
        if name is None:
            raise ValueError("Argument `name` cannot be None.")
        self._name = name
        self._function = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._kwargs = kwargs
        self._scope: VariableScope | None = None
        self._has_variables = False
        self._eager: dict[str, Any] = {}
        """Its eager variables by name; those of graphs are in the store of their graph."""
        self._lock = threading.RLock()
        self._where = call_site()
        if create_scope_now:
            with self._new_scope(opens_name_scope=False) as scope:
                self._scope = scope

    def _new_scope(self, opens_name_scope: bool = True) -> variable_scope:
        getter = self._custom_getter
        return variable_scope(
            self._unique_name,
            default_name=self._name,
            custom_getter=chained(getter, self._get) if makes_eager_variables() else getter,
            auxiliary_name_scope=opens_name_scope,
        )

    def _get(self, getter: Any, name: str, **options: Any) -> Any:
        """Get or create an eager variable."""
        found = self._eager.get(name)
        if found is None:
            found = self._eager[name] = getter(name, **options)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, with its variables."""
        with self._lock:
            if self._has_variables:
                assert self._scope is not None
                with variable_scope(self._scope, reuse=True):
                    return self._share(args, kwargs)
            opened = variable_scope(self._scope) if self._scope else self._new_scope()
            with opened as scope:
                result = self._function(*args, **{**self._kwargs, **kwargs})
                self._scope, self._has_variables = self._scope or scope, True
                return result

    def _share(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trainable = get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
        n_before, n_eager = len(trainable), len(self._eager)
        result = self._function(*args, **{**self._kwargs, **kwargs})
        eager = [v for v in [*self._eager.values()][n_eager:] if v.trainable]
        if made := [*trainable[n_before:], *eager]:
            raise ValueError(
                explain(
                    "Trainable variable created when calling a template after the first time, "
                    "perhaps you used tf.Variable when you meant tf.get_variable: "
                    f"{made}",
                    f"The template was made by {self._where}.",
                )
            )
        return result

    # --- properties -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of that scope, with a slash."""
        if self._scope is None:
            return None
        return f"{self._scope.name}/" if self._scope.name else ""

    @property
    def variables(self) -> list[Any]:
        """Its variables, global and local."""
        return [*self.global_variables, *self.local_variables]

    @property
    def global_variables(self) -> list[Any]:
        in_graph = self._scope.global_variables() if self._scope else []
        return [*in_graph, *self._eager.values()]

    @property
    def local_variables(self) -> list[Any]:
        return self._scope.local_variables() if self._scope else []

    @property
    def trainable_variables(self) -> list[Any]:
        in_graph = self._scope.trainable_variables() if self._scope else []
        return [*in_graph, *(v for v in self._eager.values() if v.trainable)]
