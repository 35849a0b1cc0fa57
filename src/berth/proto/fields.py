"""The fields of messages: a number, a type, and how values are kept, read and written.

A class of messages lists its fields, with the numbers of TensorFlow's definitions:

    class VersionDef(Message):
        producer = int32_field(1)
        bad_consumers = repeated_field(3, INT32)

A field is a descriptor, so ``message.producer`` reads it and assigning checks it. Fields of
one `oneof` exclude each other: setting one clears the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from berth.proto import kinds, wire
from berth.proto.containers import Map, Repeated
from berth.proto.kinds import EnumType, Kind

if TYPE_CHECKING:
    from berth.proto.message import Message

    MessageClass = type[Message] | Callable[[], type[Message]]


class Scalars:
    """Values of one scalar type."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.wire_type = kind.wire_type
        self.write = kind.write
        self.kept = kind.check

    def new(self) -> Any:
        raise AttributeError("add() is for lists of messages; use append()")

    def initial(self) -> Any:
        return self.kind.default

    def read(self, data: memoryview, position: int, depth: int) -> tuple[Any, int]:
        return self.kind.read(data, position)

    def lines(self, name: str, value: Any) -> Iterator[str]:
        yield f"{name}: {self.kind.text(value)}"


class Messages:
    """Messages of one class, which may be named by a function if it is defined further down."""

    wire_type = wire.LENGTH_DELIMITED

    def __init__(self, cls: MessageClass) -> None:
        self._class = cls

    @property
    def message_class(self) -> type[Message]:
        if not isinstance(self._class, type):
            self._class = self._class()
        return self._class

    def new(self) -> Message:
        return self.message_class()

    initial = new

    def kept(self, value: Any) -> Message:
        """Copy a message, which the list or map owns; a dictionary has its fields."""
        if isinstance(value, dict):
            return self.message_class(**value)
        if not isinstance(value, self.message_class):
            expected, given = self.message_class.__name__, type(value).__name__
            raise TypeError(f"must be a {expected}, not {given}")
        copy = self.new()
        copy.CopyFrom(value)
        return copy

    def write(self, out: bytearray, value: Message) -> None:
        wire.write_bytes(out, value.SerializeToString())

    def read(self, data: memoryview, position: int, depth: int) -> tuple[Message, int]:
        inner, position = wire.read_bytes(data, position)
        message = self.new()
        message._merge_wire(inner, depth + 1)
        return message, position

    def lines(self, name: str, value: Message) -> Iterator[str]:
        yield f"{name} {{"
        yield from (f"  {line}" for line in value._lines())
        yield "}"


class Field:
    """One field of a class of messages."""

    name = ""
    has_presence = False
    """Whether a message remembers that it was set, be it to its default."""

    def __init__(
        self, number: int, element: Scalars | Messages, *, oneof: str | None = None
    ) -> None:
        self.number = number
        self.element = element
        self.oneof = oneof

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, message: Message | None, owner: type | None = None) -> Any:
        if message is None:
            return self
        found = message._values.get(self.name)
        return self.initial(message) if found is None else found

    def __set__(self, message: Message, value: Any) -> None:
        kind = "message" if isinstance(self, MessageField) else "map, or repeated"
        raise AttributeError(
            f'Assignment not allowed to {kind} field "{self.name}" in protocol message object.'
        )

    def initial(self, message: Message) -> Any:
        """Return what the field is before it is set: lists and messages are filled in place."""
        raise NotImplementedError

    def assign(self, message: Message, value: Any) -> None:
        """Set the field as a whole, as a constructor's argument does."""
        raise NotImplementedError

    def merge(self, message: Message, other: Message, is_copy: bool) -> None:
        """Take over the field of another message, in which it is set."""
        raise NotImplementedError

    def is_listed(self, message: Message) -> bool:
        """Tell whether the field is written: it differs from its default, or has presence."""
        return bool(message._values.get(self.name))

    def write(self, out: bytearray, message: Message) -> None:
        value = message._values[self.name]
        wire.write_tag(out, self.number, self.element.wire_type)
        self.element.write(out, value)

    def read(self, message: Message, data: memoryview, position: int, depth: int) -> int:
        raise NotImplementedError

    def accepts(self, wire_type: int) -> bool:
        return wire_type == self.element.wire_type

    def lines(self, message: Message) -> Iterator[str]:
        """Write the field in the text format."""
        yield from self.element.lines(self.name, message._values[self.name])


class ScalarField(Field):
    """One value."""

    element: Scalars

    def __init__(
        self, number: int, kind: Kind, *, oneof: str | None = None, optional: bool = False
    ) -> None:
        super().__init__(number, Scalars(kind), oneof=oneof)
        self.has_presence = optional or oneof is not None

    def __set__(self, message: Message, value: Any) -> None:
        message._put(self, self.element.kept(value))

    assign = __set__

    def initial(self, message: Message) -> Any:
        return self.element.initial()

    def merge(self, message: Message, other: Message, is_copy: bool) -> None:
        message._put(self, other._values[self.name])

    def is_listed(self, message: Message) -> bool:
        if self.name not in message._values:
            return False
        return self.has_presence or message._values[self.name] != self.element.initial()

    def read(self, message: Message, data: memoryview, position: int, depth: int) -> int:
        value, position = self.element.read(data, position, depth)
        message._put(self, value)
        return position


class MessageField(Field):
    """A message within a message. It is present once anything in it was set."""

    has_presence = True
    element: Messages

    def __init__(self, number: int, cls: MessageClass, *, oneof: str | None = None) -> None:
        super().__init__(number, Messages(cls), oneof=oneof)

    def initial(self, message: Message) -> Any:
        child = self.element.new()
        child._owner = (message, self)
        message._values[self.name] = child
        return child

    def assign(self, message: Message, value: Any) -> None:
        child = self.element.kept(value)
        child._owner = (message, self)
        message._put(self, child)
        child._is_present = True

    def merge(self, message: Message, other: Message, is_copy: bool) -> None:
        child = self.__get__(message)
        child._merge(other._values[self.name], is_copy=is_copy)

    def is_listed(self, message: Message) -> bool:
        child = message._values.get(self.name)
        return child is not None and child._is_present

    def read(self, message: Message, data: memoryview, position: int, depth: int) -> int:
        inner, position = wire.read_bytes(data, position)
        child = self.__get__(message)
        child._merge_wire(inner, depth + 1)
        child._mark_present()
        return position


class RepeatedField(Field):
    """A list of values or messages. Lists of numbers are written as one block."""

    def initial(self, message: Message) -> Any:
        values = Repeated(self.element, message._mark_present)
        message._values[self.name] = values
        return values

    def assign(self, message: Message, value: Any) -> None:
        self.initial(message).extend(value)

    def merge(self, message: Message, other: Message, is_copy: bool) -> None:
        self.__get__(message).extend(other._values[self.name])

    def accepts(self, wire_type: int) -> bool:
        return wire_type in (self.element.wire_type, wire.LENGTH_DELIMITED)

    @property
    def _is_packed(self) -> bool:
        return self.element.wire_type != wire.LENGTH_DELIMITED

    def write(self, out: bytearray, message: Message) -> None:
        values = message._values[self.name]
        if self._is_packed:
            block = bytearray()
            for value in values:
                self.element.write(block, value)
            wire.write_tag(out, self.number, wire.LENGTH_DELIMITED)
            wire.write_bytes(out, block)
            return
        for value in values:
            wire.write_tag(out, self.number, wire.LENGTH_DELIMITED)
            self.element.write(out, value)

    def read(self, message: Message, data: memoryview, position: int, depth: int) -> int:
        value, position = self.element.read(data, position, depth)
        self.__get__(message).append_read(value)
        return position

    def read_packed(self, message: Message, data: memoryview, position: int) -> int:
        """Read numbers that were written as one block."""
        block, position = wire.read_bytes(data, position)
        values, at = self.__get__(message), 0
        while at < len(block):
            value, at = self.element.read(block, at, 0)
            values.append_read(value)
        return position

    def lines(self, message: Message) -> Iterator[str]:
        for value in message._values[self.name]:
            yield from self.element.lines(self.name, value)


class MapField(Field):
    """A dictionary. On the wire it is a list of entries, each a key and a value."""

    def __init__(self, number: int, key: Kind, element: Scalars | Messages) -> None:
        super().__init__(number, element)
        self.key = Scalars(key)

    def initial(self, message: Message) -> Any:
        values = Map(self.key.kept, self.element, message._mark_present)
        message._values[self.name] = values
        return values

    def assign(self, message: Message, value: Any) -> None:
        self.initial(message).MergeFrom(value)

    def merge(self, message: Message, other: Message, is_copy: bool) -> None:
        self.__get__(message).MergeFrom(other._values[self.name])

    def accepts(self, wire_type: int) -> bool:
        return wire_type == wire.LENGTH_DELIMITED

    def write(self, out: bytearray, message: Message) -> None:
        for key, value in sorted(message._values[self.name].items()):
            entry = bytearray()
            for number, element, part in ((1, self.key, key), (2, self.element, value)):
                wire.write_tag(entry, number, element.wire_type)
                element.write(entry, part)
            wire.write_tag(out, self.number, wire.LENGTH_DELIMITED)
            wire.write_bytes(out, entry)

    def read(self, message: Message, data: memoryview, position: int, depth: int) -> int:
        entry, position = wire.read_bytes(data, position)
        key, value, at = self.key.initial(), None, 0
        while at < len(entry):
            number, wire_type, at = wire.read_tag(entry, at)
            if number == 1 and wire_type == self.key.wire_type:
                key, at = self.key.read(entry, at, depth)
            elif number == 2 and wire_type == self.element.wire_type:
                value, at = self.element.read(entry, at, depth)
            else:
                at = wire.skip(entry, at, wire_type)
        self.__get__(message).put_read(key, self.element.initial() if value is None else value)
        return position

    def lines(self, message: Message) -> Iterator[str]:
        for key, value in message._values[self.name].items():
            yield f"{self.name} {{"
            for inner in (self.key.lines("key", key), self.element.lines("value", value)):
                yield from (f"  {line}" for line in inner)
            yield "}"


# --- how classes list their fields -----------------------------------------------------------
# These say Any, since what a reader of a message gets is the value, not the field.


def _scalar(kind: Kind) -> Callable[..., Any]:
    def field(number: int, *, oneof: str | None = None, optional: bool = False) -> Any:
        return ScalarField(number, kind, oneof=oneof, optional=optional)

    return field


bool_field = _scalar(kinds.BOOL)
int32_field = _scalar(kinds.INT32)
int64_field = _scalar(kinds.INT64)
uint32_field = _scalar(kinds.UINT32)
uint64_field = _scalar(kinds.UINT64)
fixed32_field = _scalar(kinds.FIXED32)
fixed64_field = _scalar(kinds.FIXED64)
float_field = _scalar(kinds.FLOAT)
double_field = _scalar(kinds.DOUBLE)
string_field = _scalar(kinds.STRING)
bytes_field = _scalar(kinds.BYTES)


def enum_field(
    number: int, enum: EnumType, *, oneof: str | None = None, optional: bool = False
) -> Any:
    """A number with names."""
    return ScalarField(number, enum.kind, oneof=oneof, optional=optional)


def message_field(number: int, cls: MessageClass, *, oneof: str | None = None) -> Any:
    """A message within a message."""
    return MessageField(number, cls, oneof=oneof)


def repeated_field(number: int, element: Kind | EnumType | MessageClass) -> Any:
    """A list of scalars or messages."""
    return RepeatedField(number, _element(element))


def map_field(number: int, key: Kind, element: Kind | EnumType | MessageClass) -> Any:
    """A map from scalars to scalars or messages."""
    return MapField(number, key, _element(element))


def _element(element: Kind | EnumType | MessageClass) -> Scalars | Messages:
    if isinstance(element, EnumType):
        return Scalars(element.kind)
    return Scalars(element) if isinstance(element, Kind) else Messages(element)
