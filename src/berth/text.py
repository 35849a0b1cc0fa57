"""Bytes and text: ``tf.compat``'s conversions between them, and its tuples of types."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from berth.public import public, public_value

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
for _name in ("bytes_or_text_types", "integral_types", "real_types", "complex_types"):
    public_value(__name__, _name, f"compat.{_name}")


@public("compat.as_bytes")
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encode text; bytes stay as they are.

    >>> as_bytes("a")
    b'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@public("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; text stays as it is.

    >>> as_text(b"a")
    'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@public("compat.as_str_any")
def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Decode bytes, and write anything else as text.

    >>> as_str_any(b"a"), as_str_any(3)
    ('a', '3')
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@public("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """Return the text of a path; what is no path stays as it is.

    >>> from pathlib import Path
    >>> path_to_str(Path("a"))
    'a'
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path
