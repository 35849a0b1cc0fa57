"""Protobuf's text format: what ``str(message)`` writes, read back.

    merge_text('model_checkpoint_path: "model-1"', CheckpointState())

Comments, lists in brackets, ``name: {…}``, adjacent strings and names of enumerations are
understood. A mistake is a `ParseError` with its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from berth.proto.fields import Field, MapField, Messages, RepeatedField, Scalars
from berth.proto.kinds import EnumType
from berth.proto.message import Message
from berth.proto.wire import MAX_DEPTH

M = TypeVar("M", bound=Message)


class ParseError(ValueError):
    """Text that is not a message in the text format."""


class _Token(NamedTuple):
    text: str
    at: int


_TOKENS = re.compile(
    r"""(?:\s|\#[^\n]*)*(?:
    (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<word>-?\s*[A-Za-z0-9_.+][A-Za-z0-9_.+-]*)
    |(?P<mark>[{}<>\[\]:;,])
    |(?P<end>\Z))""",
    re.X,
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.S)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CLOSING = {"{": "}", "<": ">"}
_BOOLS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def merge_text(text: str, message: M) -> M:
    """Add what the text says to a message, and return the message."""
    parsed = type(message)()
    reader = _Reader(text)
    reader.read_fields(parsed, end="", depth=0)
    message.MergeFrom(parsed)
    return message


class _Reader:
    """The text, token by token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._scan()
        self._next = next(self._tokens)

    def _scan(self) -> Iterator[_Token]:
        position = 0
        while True:
            found = _TOKENS.match(self._text, position)
            if found is None:
                rest = self._text[position:].lstrip()
                raise self.error(f"Unexpected text: {rest[:20]!r}", len(self._text) - len(rest))
            kind = found.lastgroup or "end"
            yield _Token(found[kind], found.start(kind))
            position = found.end()

    def error(self, message: str, at: int) -> ParseError:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return ParseError(f"{line}:{column} : {message}")

    def take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens, _Token("", len(self._text)))
        return token

    def accept(self, *marks: str) -> bool:
        """Take the next token if it is one of these."""
        if self._next.text in marks:
            self.take()
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            found = self._next.text or "the end"
            raise self.error(f'Expected "{mark}", found {found!r}.', self._next.at)

    def read_fields(self, message: Message, end: str, depth: int) -> None:
        """Read fields up to a closing brace; the end of the text is an empty one."""
        if depth > MAX_DEPTH:
            raise self.error("too many messages within messages", self._next.at)
        while self._next.text != end:
            name = self.take()
            field = message._fields.get(name.text)
            if field is None:
                what = f'Message type "{type(message).__name__}" has no field named'
                raise self.error(f'{what} "{name.text}".', name.at)
            self._read_field(message, field, depth)
            self.accept(",", ";")
        self.take()

    def _read_field(self, message: Message, field: Field, depth: int) -> None:
        has_colon = self.accept(":")
        if isinstance(field, RepeatedField) and has_colon and self.accept("["):
            while not self.accept("]"):
                self._add(message, field, self._read_value(field.element, depth))
                if not self.accept(","):
                    self.expect("]")
                    break
            return
        if isinstance(field, MapField):
            key, value = self._read_entry(field, depth)
            field.__get__(message)[key] = value
            return
        if isinstance(field.element, Scalars) and not has_colon:
            raise self.error('Expected ":".', self._next.at)
        self._add(message, field, self._read_value(field.element, depth))

    def _add(self, message: Message, field: Field, value: Any) -> None:
        if isinstance(field, RepeatedField):
            field.__get__(message).append(value)
        else:
            field.assign(message, value)

    def _read_entry(self, field: MapField, depth: int) -> tuple[Any, Any]:
        closing = self._open()
        parts: dict[str, Any] = {"key": field.key.initial(), "value": field.element.initial()}
        elements: dict[str, Scalars | Messages] = {"key": field.key, "value": field.element}
        while not self.accept(closing):
            name = self.take()
            if name.text not in elements:
                raise self.error(f'A map has no field named "{name.text}".', name.at)
            self.accept(":")
            parts[name.text] = self._read_value(elements[name.text], depth)
            self.accept(",", ";")
        return parts["key"], parts["value"]

    def _open(self) -> str:
        opening = self.take()
        if opening.text not in _CLOSING:
            raise self.error(f'Expected "{{", found {opening.text!r}.', opening.at)
        return _CLOSING[opening.text]

    def _read_value(self, element: Scalars | Messages, depth: int) -> Any:
        if isinstance(element, Messages):
            message = element.new()
            self.read_fields(message, self._open(), depth + 1)
            return message
        token = self.take()
        try:
            return self._scalar(token, element)
        except (TypeError, ValueError) as error:
            raise self.error(str(error), token.at) from None

    def _scalar(self, token: _Token, element: Scalars) -> Any:
        default = element.initial()
        if isinstance(default, str | bytes):
            if token.text[:1] not in ("'", '"'):
                raise ValueError(f"Expected string but found: {token.text!r}")
            value = _unquoted(token.text)
            while self._next.text[:1] in ("'", '"') and self._next.text:
                value += _unquoted(self.take().text)
            return element.kept(value)
        text = token.text.replace(" ", "")
        if isinstance(default, bool):
            if text.lower() not in _BOOLS:
                raise ValueError(f"Expected a boolean but found: {text!r}")
            return _BOOLS[text.lower()]
        if isinstance(default, float):
            return element.kept(float(text.removesuffix("f") if "inf" not in text else text))
        if isinstance(getattr(element.kept, "__self__", None), EnumType) and text[0].isalpha():
            return element.kept(text)
        return element.kept(int(text, 0))


def _unquoted(token: str) -> bytes:
    def character(found: re.Match[str]) -> str:
        octal, hexadecimal, other = found.groups()
        if other is not None:
            return _SIMPLE.get(other, other)
        return chr(int(octal, 8) & 0xFF if octal else int(hexadecimal, 16))

    pieces, position = bytearray(), 0
    body = token[1:-1]
    for found in _ESCAPE.finditer(body):
        pieces += body[position : found.start()].encode()
        pieces += character(found).encode("latin-1", "replace")
        position = found.end()
    return bytes(pieces + body[position:].encode())
