"""Option records that behave like TensorFlow's protocol buffers, without the library.

A `Message` class lists its fields. A field has a default and a type that values are
checked against; ``m.field = value`` and ``Message(field=value)`` both work, nested
messages, lists and maps are filled in place, and ``repr`` is protobuf's text form. An
unknown name is an error that offers the nearest. Unlike protobuf's, a message remembers
which scalars were set, even to their default (`is_set`): an explicit False overrides what
the environment says, and silence does not.

Invariant: a message holds values of its fields' types only; a refused value changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from typing import Any, ClassVar

from berth.errors import did_you_mean, explain

_INT32 = range(-(2**31), 2**31)


def _to_bool(value: Any) -> bool:
    return bool(_to_int(value))


def _to_int(value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{type(value).__name__!r} object cannot be interpreted as an integer")
    return int(value)


def _to_int32(value: Any) -> int:
    number = _to_int(value)
    if number not in _INT32:
        raise ValueError(f"Value out of range: {number}")
    return number


def _to_float(value: Any) -> float:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _to_str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"must be a string, not {type(value).__name__}")
    return value


class Field:
    """One field of a message: how to check a value, and what it starts as."""

    def __init__(
        self, default: Callable[[], Any], check: Callable[[Any], Any] | None = None
    ) -> None:
        self.default = default
        self._check = check

    @property
    def is_scalar(self) -> bool:
        """Whether it holds one value, and not a message, list or map of its own."""
        return self._check is not None

    def check(self, value: Any) -> Any:
        return value if self._check is None else self._check(value)


# These say Any, since what a reader of a message gets is the value, not the field.


def bool_field() -> Any:
    return Field(bool, _to_bool)


def int_field() -> Any:
    return Field(int, _to_int32)


def long_field() -> Any:
    return Field(int, _to_int)


def float_field() -> Any:
    return Field(float, _to_float)


def str_field() -> Any:
    return Field(str, _to_str)


def message_field(kind: type[Message]) -> Any:
    return Field(kind)


def repeated_field(item: Field | type[Message]) -> Any:
    return Field(lambda: Repeated(item))


def object_field(kind: type) -> Any:
    """A value of one Python class, as it is."""

    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"must be a {kind.__name__}, not {type(value).__name__}")
        return value

    return Field(lambda: None, check)


def map_field(item: Field) -> Any:
    """A map from strings to values of one kind."""
    return Field(lambda: Map(item))


class Repeated(MutableSequence[Any]):
    """A list whose items are checked. Messages are added with `add`."""

    def __init__(self, item: Field | type[Message]) -> None:
        self._item = item
        self._values: list[Any] = []

    def add(self, **fields: Any) -> Any:
        """Append a new message, with these fields, and return it."""
        if isinstance(self._item, Field):
            raise AttributeError("add() is for lists of messages; use append()")
        self._values.append(self._item(**fields))
        return self._values[-1]

    def assign(self, values: Any) -> None:
        self._values = [self._check(value) for value in values]

    def insert(self, index: int, value: Any) -> None:
        self._values.insert(index, self._check(value))

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        is_slice = isinstance(index, slice)
        self._values[index] = (
            [self._check(v) for v in value] if is_slice else self._check(value)
        )

    def __delitem__(self, index: Any) -> None:
        del self._values[index]

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repeated | list) and self._values == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._values)

    def _check(self, value: Any) -> Any:
        if isinstance(self._item, Field):
            return self._item.check(value)
        if not isinstance(value, self._item):
            raise TypeError(f"must be a {self._item.__name__}, not {type(value).__name__}")
        copy = self._item()  # a list owns its messages
        copy.CopyFrom(value)
        return copy


class Map(MutableMapping[str, Any]):
    """A dictionary whose keys are strings and whose values are checked."""

    def __init__(self, item: Field) -> None:
        self._item = item
        self._values: dict[str, Any] = {}

    def assign(self, values: Any) -> None:
        self._values = {_to_str(k): self._item.check(v) for k, v in dict(values).items()}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[_to_str(key)] = self._item.check(value)

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class Message:
    """The base of option records. Subclasses assign fields in their bodies."""

    _fields: ClassVar[dict[str, Field]] = {}
    _set_fields: set[str]
    """The scalars that were given a value."""
    _was_assigned = False
    """Whether a message was put here as a whole: shown then, even if it is empty."""

    def __init_subclass__(cls) -> None:
        cls._fields = {name: f for name, f in vars(cls).items() if isinstance(f, Field)}
        for name in cls._fields:
            delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_set_fields", set())
        for name, field in self._fields.items():
            object.__setattr__(self, name, field.default())
        for name, value in values.items():
            if name not in self._fields:
                raise ValueError(self._no_field(name))
            if value is not None:
                self._assign(name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields:
            raise AttributeError(self._no_field(name))
        if not self._fields[name].is_scalar:
            composite = getattr(self, name)
            kind = "message" if isinstance(composite, Message) else "map, or repeated"
            raise AttributeError(
                f'Assignment not allowed to {kind} field "{name}" in protocol message object.'
            )
        self._assign(name, value)

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not fields.
        raise AttributeError(self._no_field(name))

    def CopyFrom(self, other: Message) -> None:
        """Become equal to another message of the same class."""
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to CopyFrom() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )
        for name in self._fields:
            theirs = getattr(other, name)
            self._assign(name, theirs)
            if isinstance(theirs, Message):
                mine = getattr(self, name)
                object.__setattr__(mine, "_was_assigned", theirs._was_assigned)
        object.__setattr__(self, "_set_fields", set(other._set_fields))

    def is_set(self, name: str) -> bool:
        """Tell whether a scalar was given a value, be it the one it starts with."""
        return name in self._set_fields

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            getattr(self, name) == getattr(other, name) for name in self._fields
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _assign(self, name: str, value: Any) -> None:
        field = self._fields[name]
        if field.is_scalar:
            object.__setattr__(self, name, field.check(value))
            self._set_fields.add(name)
            return
        fresh = field.default()
        if not isinstance(fresh, Message):
            fresh.assign(value)
        elif isinstance(value, dict):
            fresh = type(fresh)(**value)
        else:
            fresh.CopyFrom(value)
        if isinstance(fresh, Message):
            object.__setattr__(fresh, "_was_assigned", True)
        object.__setattr__(self, name, fresh)

    def _no_field(self, name: str) -> str:
        return explain(
            f'Protocol message {type(self).__name__} has no "{name}" field.',
            did_you_mean(name, self._fields),
        )

    def _lines(self) -> Iterator[str]:
        """Write the fields that differ from their defaults, as protobuf's text form."""
        for name, field in self._fields.items():
            value = getattr(self, name)
            was_assigned = isinstance(value, Message) and value._was_assigned
            if value == field.default() and not was_assigned:
                continue
            if isinstance(value, Map):
                for key in value:
                    entry = [f"  key: {_text(key)}", f"  value: {_text(value[key])}"]
                    yield from [f"{name} {{", *entry, "}"]
                continue
            for item in value if isinstance(value, Repeated) else [value]:
                if isinstance(item, Message):
                    inner = (f"  {line}" for line in item._lines())
                    yield from [f"{name} {{", *inner, "}"]
                else:
                    yield f"{name}: {_text(item)}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        return f'"{escaped}"'
    return f"{value:g}" if isinstance(value, float) else str(value)
