"""Messages: records that behave like TensorFlow's protocol buffers, without the library.

A `Message` class lists its fields (`proto.fields`). ``m.field = value`` and
``Message(field=value)`` both work, nested messages, lists and maps are filled in place, and
``repr`` is protobuf's text format. An unknown name is an error that offers the nearest. Unlike
protobuf's, a message remembers which scalars were set, even to their default (`is_set`): an
explicit False overrides what the environment says, and silence does not.

Invariants: a message holds values of its fields' types only; a refused value changes nothing;
of the fields of one `oneof`, at most one is set; what was read and is not known is written
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from berth.errors import did_you_mean, explain
from berth.proto import wire
from berth.proto.fields import Field, MessageField, RepeatedField
from berth.proto.wire import DecodeError

M = TypeVar("M", bound="Message")


class Message:
    """The base of messages. Subclasses assign fields in their bodies."""

    _fields: ClassVar[dict[str, Field]] = {}
    """By name, in the order of their numbers."""
    _by_number: ClassVar[dict[int, Field]] = {}
    _values: dict[str, Any]
    _owner: tuple[Message, Field] | None
    """The message that this one is a field of, which has to know when it is filled."""
    _is_present: bool
    _unknown: bytes

    __slots__ = ("_is_present", "_owner", "_unknown", "_values")

    def __init_subclass__(cls) -> None:
        own = [field for field in vars(cls).values() if isinstance(field, Field)]
        ordered = sorted(own, key=lambda field: field.number)
        cls._fields = {field.name: field for field in ordered}
        cls._by_number = {field.number: field for field in ordered}
        assert len(cls._by_number) == len(own), f"{cls.__name__} uses a number twice"

    def __init__(self, **values: Any) -> None:
        set_slot = object.__setattr__
        set_slot(self, "_values", {})
        set_slot(self, "_owner", None)
        set_slot(self, "_is_present", False)
        set_slot(self, "_unknown", b"")
        self._fill(values)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields and name not in Message.__slots__:
            raise AttributeError(self._no_field(name))
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not fields.
        raise AttributeError(self._no_field(name))

    # --- presence ---------------------------------------------------------------------------

    def HasField(self, name: str) -> bool:
        """Tell whether a message, or a member of a oneof, is set."""
        if any(field.oneof == name for field in self._fields.values()):
            return self.WhichOneof(name) is not None
        field = self._field(name)
        if not field.has_presence:
            message = f"Field {type(self).__name__}.{name} does not have presence."
            raise ValueError(message)
        return field.is_listed(self)

    def WhichOneof(self, name: str) -> str | None:
        """Return which member of a oneof is set."""
        members = [field for field in self._fields.values() if field.oneof == name]
        if not members:
            raise ValueError(f"Protocol message has no oneof {name!r} field.")
        return next((field.name for field in members if field.is_listed(self)), None)

    def is_set(self, name: str) -> bool:
        """Tell whether a scalar was given a value, be it the one it starts with."""
        return name in self._values

    def ListFields(self) -> list[tuple[Field, Any]]:
        """List the fields that are set, with their values, by number."""
        return [(field, self._values[field.name]) for field in self._listed()]

    def SetInParent(self) -> None:
        """Mark this message as present in the one that it is a field of."""
        self._mark_present()

    def ClearField(self, name: str) -> None:
        """Set a field, or the members of a oneof, back to the default."""
        members = [field for field in self._fields.values() if field.oneof == name]
        for field in members or [self._field(name)]:
            self._discard(field)

    def Clear(self) -> None:
        """Set every field back to its default."""
        for field in self._fields.values():
            self._discard(field)
        self._unknown = b""

    def IsInitialized(self) -> bool:
        """Tell whether the required fields are set; there are none."""
        return True

    # --- copying and comparing --------------------------------------------------------------

    def CopyFrom(self, other: Message) -> None:
        """Become equal to another message of the same class."""
        self._check_class(other, "CopyFrom")
        if other is self:
            return
        self.Clear()
        self._merge(other, is_copy=True)

    def MergeFrom(self, other: Message) -> None:
        """Take over what is set in another message; lists are appended to."""
        self._check_class(other, "MergeFrom")
        self._merge(other, is_copy=False)

    def _merge(self, other: Message, *, is_copy: bool) -> None:
        for field in self._fields.values():
            if field.is_listed(other) or (is_copy and field.name in other._values):
                if isinstance(field, MessageField) and not field.is_listed(other):
                    continue  # it was looked at, and is not present
                field.merge(self, other, is_copy)
        self._unknown += other._unknown
        self._mark_present()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        mine, theirs = self.ListFields(), other.ListFields()
        return mine == theirs and self._unknown == other._unknown

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _parsed, (type(self), self.SerializeToString())

    def __deepcopy__(self: M, memo: Any) -> M:
        copy = type(self)()
        copy.CopyFrom(self)
        return copy

    # --- formats ----------------------------------------------------------------------------

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """Return the message in protobuf's wire format; maps are sorted by key."""
        out = bytearray()
        for field in self._listed():
            field.write(out, self)
        return bytes(out + self._unknown)

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:
        """Return the size of the wire format in bytes."""
        return len(self.SerializeToString())

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace the contents by those of the wire format; DecodeError leaves it empty."""
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Add the contents of the wire format."""
        parsed = type(self)()
        parsed._merge_wire(memoryview(serialized).cast("B"), 0)
        self._merge(parsed, is_copy=False)
        return len(serialized)

    @classmethod
    def FromString(cls: type[M], serialized: bytes) -> M:
        """Return the message that the wire format describes."""
        message = cls()
        message._merge_wire(memoryview(serialized).cast("B"), 0)
        return message

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    # --- for fields -------------------------------------------------------------------------

    def _fill(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name not in self._fields:
                raise ValueError(self._no_field(name))
            if value is not None:
                self._fields[name].assign(self, value)

    def _put(self, field: Field, value: Any) -> None:
        """Set a field, which clears the other members of its oneof."""
        self._clear_siblings(field)
        self._values[field.name] = value
        self._mark_present()

    def _mark_present(self) -> None:
        if self._is_present:
            return
        self._is_present = True
        if self._owner is not None:
            owner, field = self._owner
            owner._clear_siblings(field)
            owner._mark_present()

    def _clear_siblings(self, field: Field) -> None:
        if field.oneof is not None:
            for other in self._fields.values():
                if other.oneof == field.oneof and other is not field:
                    self._discard(other)

    def _discard(self, field: Field) -> None:
        value = self._values.pop(field.name, None)
        if isinstance(value, Message):
            value._owner = None

    def _merge_wire(self, data: memoryview, depth: int) -> None:
        if depth > wire.MAX_DEPTH:
            raise DecodeError("Error parsing message: too many messages within messages")
        position = 0
        while position < len(data):
            start = position
            number, wire_type, position = wire.read_tag(data, position)
            field = self._by_number.get(number)
            if field is None or not field.accepts(wire_type):
                position = wire.skip(data, position, wire_type)
                self._unknown += bytes(data[start:position])
            elif isinstance(field, RepeatedField) and wire_type != field.element.wire_type:
                position = field.read_packed(self, data, position)
            else:
                position = field.read(self, data, position, depth)
        self._mark_present()

    def _listed(self) -> Iterator[Field]:
        for field in self._fields.values():
            if field.is_listed(self):
                yield field

    def _lines(self) -> Iterator[str]:
        for field in self._listed():
            yield from field.lines(self)

    def _field(self, name: str) -> Field:
        if name not in self._fields:
            raise ValueError(self._no_field(name))
        return self._fields[name]

    def _check_class(self, other: Message, method: str) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to {method}() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )

    def _no_field(self, name: str) -> str:
        return explain(
            f'Protocol message {type(self).__name__} has no "{name}" field.',
            did_you_mean(name, self._fields),
        )


def _parsed(cls: type[M], serialized: bytes) -> M:
    return cls.FromString(serialized)
