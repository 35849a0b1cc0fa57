"""Attributes of operations: those that are made once, and checks with TensorFlow's errors.

TensorFlow checks them in Python while a graph is built, and in its runtime in eager mode: the
messages and the classes of these errors differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from berth.dtypes import DType, bfloat16, float16
from berth.errors import InvalidArgumentError
from berth.ops.compose import is_eager


class FixedAttrs(dict[str, Any]):
    """Attributes that a module makes once, for calls that are made often, and never changes.

    The dispatch cache knows them by their identity, which is quicker than by what they hold.
    """

    __slots__ = ()


def check_choice(op_name: str, attr: str, value: str, allowed: Iterable[str]) -> None:
    """Raise an error for a string that is none of those allowed."""
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{attr}' not {value!r}.")
    if value in allowed:
        return
    known = [f'"{choice}"' for choice in allowed]
    if is_eager():
        raise at_once(op_name, not_among(attr, f'"{value}"', known))
    raise ValueError(
        f"Attr '{attr}' of '{op_name}' Op passed string '{value}' not in: {', '.join(known)}."
    )


def check_least(op_name: str, attr: str, value: int, least: int) -> None:
    """Raise an error for a number that is less than the minimum."""
    if value >= least:
        return
    if is_eager():
        message = f"Value for attr '{attr}' of {value} must be at least minimum {least}"
        raise at_once(op_name, message)
    raise ValueError(
        f"Attr '{attr}' of '{op_name}' Op passed {value} less than minimum {least}."
    )


def check_length(op_name: str, attr: str, values: Sequence[int], least: int) -> None:
    """Raise an error for a list that is shorter than the minimum."""
    n_values = len(values)
    if n_values >= least:
        return
    if is_eager():
        message = f"Length for attr '{attr}' of {n_values} must be at least minimum {least}"
        raise at_once(op_name, message)
    raise ValueError(
        f"List argument '{attr}' to '{op_name}' Op with length {n_values} shorter than "
        f"minimum length {least}."
    )


def check_type(op_name: str, attr: str, dtype: DType, allowed: Sequence[DType]) -> None:
    """Raise an error for an output type that an operation does not have."""
    if dtype in allowed or (dtype is bfloat16 and float16 in allowed):
        return
    if is_eager():
        known = [each.type_string for each in allowed]
        raise at_once(op_name, not_among(attr, dtype.type_string, known))
    raise TypeError(
        f"Value passed to parameter '{attr}' has DataType {dtype.name} not in list of "
        f"allowed values: {', '.join(known.name for known in allowed)}"
    )


def not_among(attr: str, value: str, allowed: Sequence[str]) -> str:
    """Return the message of TensorFlow's runtime for a value that is none of those allowed."""
    known = ", ".join(allowed)
    return f"Value for attr '{attr}' of {value} is not in the list of allowed values: {known}"


def at_once(op_name: str, message: str) -> InvalidArgumentError:
    """Return the error of an operation in eager mode."""
    return InvalidArgumentError(None, None, f"{message} [Op:{op_name}] name: ")
