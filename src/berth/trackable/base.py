"""Trackable objects: each has its children by name, as a checkpoint lists them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class TrackableReference(NamedTuple):
    """One child of a trackable object, under its name there."""

    name: str
    ref: Any


class Trackable:
    """An object with children by name; its own attributes are not looked at."""

    __slots__ = ()

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Add a child; ValueError if another has its name, unless it may be replaced."""
        if not isinstance(trackable, Trackable):
            raise TypeError(
                "Trackable._track_trackable() can only be used to track objects of type "
                f"Trackable. Got type {type(trackable)}."
            )
        children = self._own_children()
        known = children.get(name)
        if known is not None and known is not trackable and not overwrite:
            raise ValueError(
                "Called Trackable._track_trackable() with name='"
                f"{name}', but a Trackable with this name is already declared as a dependency. "
                "Names must be unique (or overwrite=True)."
            )
        children[name] = trackable
        return trackable

    def _own_children(self) -> dict[str, Any]:
        """Return the children that were added, to be read and written."""
        attributes: dict[str, Any] = self.__dict__
        found: dict[str, Any] = attributes.setdefault("_self_tracked_children", {})
        return found

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        """Return the child of a name, or None."""
        return self._own_children().get(name)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> Any:
        """Return the children by name."""
        return dict(self._own_children())

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[TrackableReference]:
        return [TrackableReference(*pair) for pair in self._own_children().items()]

    def _no_dependency(self, value: Any) -> Any:
        """Return a value that is not to become a child when it is set as an attribute."""
        return value


def no_automatic_dependency_tracking(method: F) -> F:
    """Decorate a method: attributes that it sets do not become children."""

    @wraps(method)
    def untracked(self: Any, *arguments: Any, **options: Any) -> Any:
        before = getattr(self, "_self_setattr_tracking", True)
        self._self_setattr_tracking = False
        try:
            return method(self, *arguments, **options)
        finally:
            self._self_setattr_tracking = before

    return untracked  # type: ignore[return-value]
