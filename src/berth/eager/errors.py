"""Errors of eager operations, with the name of the operation as TensorFlow writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.errors import InvalidArgumentError, OpError, OutOfMemoryError
from berth.ops.opdef import OpDef


def with_op_name(
    error: OpError | ValueError, op: OpDef, inputs: Sequence[Any], name: str | None
) -> OpError:
    """Return an error whose message names the operation that raised it."""
    if isinstance(error, ValueError):
        message = _named(getattr(error, "at_run", str(error)), op, inputs, name)
        return InvalidArgumentError(None, None, message)
    message = _named(error.message, op, inputs, name)
    if isinstance(error, OutOfMemoryError):
        return error.with_message(message)
    return type(error)(None, None, message)


def _named(message: str, op: OpDef, inputs: Sequence[Any], name: str | None) -> str:
    if "[Op:" in message:
        return message
    first, newline, more = message.partition("\n")
    # TensorFlow converts lists before it names the operation, and leaves the name out.
    is_nameless = name is None and any(isinstance(value, list | tuple) for value in inputs)
    shown = name if name and name.endswith("/") else ""  # a scope's; others are berth's own
    suffix = "" if is_nameless else f" name: {shown}"
    return f"{first} [Op:{op.name}]{suffix}{newline}{more}"
