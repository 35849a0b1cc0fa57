"""tf.Module: an object that lists the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from berth.eager.scope import name_scope
from berth.eager.variable import Variable
from berth.public import public
from berth.trackable.data_structures import AutoTrackable

_IDENTIFIER = re.compile(r"^[a-zA-Z_]\w*$")
_OWN = ("_self_tracked_children", "_tf_function_methods")


@public("Module")
class Module(AutoTrackable):
    """Base class of objects with variables, also in the attributes of their attributes.

    >>> import berth as tf
    >>> class Dense(tf.Module):
    ...     def __init__(self, name=None):
    ...         super().__init__(name)
    ...         self.w = tf.Variable([[1.0]], name="w")
    >>> Dense().variables[0].name, Dense("first").name
    ('w:0', 'first')
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        elif not _IDENTIFIER.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        self._name_scope = name_scope(name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """A name scope with the module's name."""
        return self._name_scope

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and the modules in it."""
        return tuple(self._flatten(predicate=_is_variable, expand_composites=True))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules in this one, and in those."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Any = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Find what a condition is true of among attributes, those of modules in it last."""
        seen = {id(self)}
        waiting: list[tuple[tuple[Any, ...], Module]] = [((), self)]
        while waiting:
            around, module = waiting.pop(0)
            for path, leaf in module._leaves(attribute_traversal_key):
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
                if predicate is None or predicate(leaf):
                    yield ((*around, *path), leaf) if with_path else leaf
                if recursive and isinstance(leaf, Module):
                    waiting.append(((*around, *path), leaf))

    def _leaves(self, key: Any = None) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """List what the attributes are made of, by path, in the order of their names."""
        ignored = (*_OWN, *self._TF_MODULE_IGNORED_PROPERTIES)
        for name in sorted(vars(self), key=key):
            if name not in ignored:
                yield from _parts((name,), vars(self)[name])

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method: it runs inside the module's name scope."""

        @wraps(method)
        def in_scope(self: Module, *arguments: Any, **options: Any) -> Any:
            with self.name_scope:
                return method(self, *arguments, **options)

        return in_scope


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable)


def _parts(path: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _parts((*path, key), value[key])
    elif isinstance(value, list | tuple):
        for position, part in enumerate(value):
            yield from _parts((*path, position), part)
    else:
        yield path, value


def snake_case(name: str) -> str:
    """Turn the name of a class into that of a module: MyDense into my_dense.

    >>> snake_case("MyDenseA"), snake_case("HTTPServer")
    ('my_dense_a', 'http_server')
    """
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()
