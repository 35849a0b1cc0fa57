"""Public names: the paths under ``tf`` by which users find a function, class or value.

They are declared where the thing is defined:

    @public("exp", "math.exp")      tf.exp and tf.math.exp, in both APIs
    @public_v1("gather")            tf.gather of TensorFlow 1 (berth.compat.v1)
    @public_v2("gather")            tf.gather of TensorFlow 2 (berth)

Declaring costs one entry of a list. `dev/make_api.py` reads the list and writes the imports
and the ``__all__`` of the public modules, so that editors and type checkers see every name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

API = Literal["v1", "v2"]
T = TypeVar("T")


class PublicName(NamedTuple):
    """One name in one API, and where the thing behind it is defined."""

    api: API
    path: str
    """From the root of the API on: ``math.exp``."""
    module: str
    attribute: str


DECLARED: list[PublicName] = []
"""All names that were declared by the modules imported so far."""


def public(*paths: str) -> Callable[[T], T]:
    """Declare names of a function or class in both APIs."""
    return _declaring(("v1", "v2"), paths)


def public_v1(*paths: str) -> Callable[[T], T]:
    """Declare names of a function or class in TensorFlow 1's API."""
    return _declaring(("v1",), paths)


def public_v2(*paths: str) -> Callable[[T], T]:
    """Declare names of a function or class in TensorFlow 2's API."""
    return _declaring(("v2",), paths)


def public_value(
    module: str, attribute: str, *paths: str, apis: tuple[API, ...] = ("v1", "v2")
) -> None:
    """Declare names of a value of a module, which no decorator can stand before."""
    for api in apis:
        DECLARED.extend(PublicName(api, path, module, attribute) for path in paths)


def _declaring(apis: tuple[API, ...], paths: tuple[str, ...]) -> Callable[[T], T]:
    def declare(thing: T) -> T:
        named: Any = thing
        module, attribute = named.__module__, named.__name__
        DECLARED.extend(PublicName(a, path, module, attribute) for a in apis for path in paths)
        return thing

    return declare
