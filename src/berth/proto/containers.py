"""Lists and maps of a message, whose items are checked as its scalars are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from typing import Any, Protocol


class Element(Protocol):
    """What a list or map holds: one kind of scalar, or one class of messages."""

    def new(self) -> Any:
        """Return an empty message; TypeError for scalars."""

    def kept(self, value: Any) -> Any:
        """Check a value, and return what the list keeps: messages are copied."""

    def initial(self) -> Any:
        """Return what a missing key of a map is: the default, or an empty message."""


class Repeated(MutableSequence[Any]):
    """A list whose items are checked. Messages are added with `add`."""

    def __init__(self, element: Element, changed: Callable[[], None]) -> None:
        self._element = element
        self._changed = changed
        self._values: list[Any] = []

    def add(self, **fields: Any) -> Any:
        """Append a new message, with these fields, and return it."""
        message = self._element.new()
        message._fill(fields)
        self._values.append(message)
        self._changed()
        return message

    def extend(self, values: Any) -> None:
        self._values += [self._element.kept(value) for value in values]
        self._changed()

    MergeFrom = extend

    def insert(self, index: int, value: Any) -> None:
        self._values.insert(index, self._element.kept(value))
        self._changed()

    def append_read(self, value: Any) -> None:
        """Append a value that the wire format's reader made."""
        self._values.append(value)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        self._values.sort(key=key, reverse=reverse)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        kept = self._element.kept
        self._values[index] = (
            [kept(v) for v in value] if isinstance(index, slice) else kept(value)
        )

    def __delitem__(self, index: Any) -> None:
        del self._values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repeated | list) and self._values == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._values)


class Map(MutableMapping[Any, Any]):
    """A dictionary whose keys and values are checked.

    In a map of messages, reading a key that is missing adds an empty message, as in protobuf.
    """

    def __init__(
        self, key: Callable[[Any], Any], element: Element, changed: Callable[[], None]
    ) -> None:
        self._key = key
        self._element = element
        self._changed = changed
        self._values: dict[Any, Any] = {}

    def get_or_create(self, key: Any) -> Any:
        """Return the message under a key; an empty one if there was none."""
        return self[key]

    def put_read(self, key: Any, value: Any) -> None:
        """Set a value that the wire format's reader made."""
        self._values[key] = value

    def MergeFrom(self, other: Any) -> None:
        """Take over the entries of another map."""
        added = {self._key(k): self._element.kept(v) for k, v in dict(other).items()}
        self._values.update(added)
        self._changed()

    def __getitem__(self, key: Any) -> Any:
        key = self._key(key)
        if key not in self._values:
            self._values[key] = self._element.initial()
            self._changed()
        return self._values[key]

    def get(self, key: Any, default: Any = None) -> Any:
        return self._values.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[self._key(key)] = self._element.kept(value)
        self._changed()

    def __delitem__(self, key: Any) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map | dict) and self._values == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._values)
