"""Lists and dicts as attributes of trackable objects, and AutoTrackable, which makes them so.

A wrapper shows the list or dict that was set, and shares it: what is appended to either is
seen in both. Its children are the trackable objects that it contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any

from berth.trackable.base import Trackable


class NoDependency:
    """A value that does not become a child when it is set as an attribute."""

    def __init__(self, value: Any) -> None:
        self.value = value


class ListWrapper(MutableSequence[Any], list[Any], Trackable):  # type: ignore[misc, metaclass]
    """A list that is an attribute of a trackable object."""

    def __init__(self, wrapped_list: list[Any]) -> None:
        self._storage = wrapped_list
        for position, value in enumerate(wrapped_list):
            wrapped_list[position] = wrap_or_unwrap(value)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> Any:
        items = enumerate(self._storage)
        return {str(k): value for k, value in items if isinstance(value, Trackable)}

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._storage[key] = [wrap_or_unwrap(item) for item in value]
        else:
            self._storage[key] = wrap_or_unwrap(value)

    def __delitem__(self, key: Any) -> None:
        del self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._storage)

    def insert(self, index: Any, value: Any) -> None:
        """Insert a value before a position."""
        self._storage.insert(index, wrap_or_unwrap(value))

    def copy(self) -> ListWrapper:
        """Return another list of the same values."""
        return ListWrapper(self._storage.copy())

    def sort(self, **options: Any) -> None:
        """Sort in place."""
        self._storage.sort(**options)

    def __add__(self, other: Any) -> Any:
        return self._storage + getattr(other, "_storage", other)

    def __radd__(self, other: Any) -> Any:
        return other + self._storage

    def __mul__(self, count: Any) -> Any:
        return self._storage * count

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return bool(self._storage < getattr(other, "_storage", other))

    def __le__(self, other: Any) -> bool:
        return bool(self._storage <= getattr(other, "_storage", other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._storage > getattr(other, "_storage", other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._storage >= getattr(other, "_storage", other))

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, value: object) -> bool:
        return value in self._storage

    def __repr__(self) -> str:
        return f"ListWrapper({self._storage!r})"

    def __copy__(self) -> ListWrapper:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ListWrapper, (self._storage,)


class _DictWrapper(MutableMapping[Any, Any], dict[Any, Any], Trackable):  # type: ignore[misc, metaclass]
    """A dict that is an attribute of a trackable object."""

    def __init__(self, wrapped_dict: dict[Any, Any]) -> None:
        self._storage = wrapped_dict
        for key, value in wrapped_dict.items():
            wrapped_dict[key] = wrap_or_unwrap(value)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> Any:
        items = self._storage.items()
        return {str(key): value for key, value in items if isinstance(value, Trackable)}

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._storage[key] = wrap_or_unwrap(value)

    def __delitem__(self, key: Any) -> None:
        del self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._storage)

    def copy(self) -> dict[Any, Any]:
        """Return a dict of the same values."""
        return dict(self._storage)

    def __or__(self, other: Any) -> Any:
        return self._storage | other

    def __eq__(self, other: object) -> bool:
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, key: object) -> bool:
        return key in self._storage

    def __repr__(self) -> str:
        return repr(self._storage)

    def __copy__(self) -> _DictWrapper:
        return _DictWrapper(self.copy())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _DictWrapper, (self._storage,)


def wrap_or_unwrap(value: Any) -> Any:
    """Return a plain list or dict in its wrapper; other values as they are."""
    if isinstance(value, NoDependency):
        return value.value
    if type(value) is list:
        return ListWrapper(value)
    if type(value) is dict:
        return _DictWrapper(value)
    return value


class AutoTrackable(Trackable):
    """A trackable object whose attributes become its children when they are set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, name, None) is value and name in self.__dict__:
            return
        if isinstance(value, NoDependency):
            value = value.value
        elif getattr(self, "_self_setattr_tracking", True):
            value = wrap_or_unwrap(value)
            if isinstance(value, Trackable):
                self._track_trackable(value, name, overwrite=True)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._own_children().pop(name, None)
        super().__delattr__(name)

    def _no_dependency(self, value: Any) -> NoDependency:
        return NoDependency(value)


def children_of(thing: Any) -> Mapping[str, Any]:
    """Return the children of a trackable object by name; nothing for other values."""
    if not isinstance(thing, Trackable):
        return {}
    found: Mapping[str, Any] = thing._trackable_children()
    return found
