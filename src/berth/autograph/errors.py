"""Errors of AutoGraph, and what is said where a function cannot be converted."""

from __future__ import annotations

import ast
import re


class ConversionError(Exception):
    """A function could not be converted."""


class Unsupported(Exception):
    """Syntax that is not converted: the function that contains it runs as it is."""

    def __init__(self, cause: str, node: ast.AST | None = None) -> None:
        line = getattr(node, "lineno", None)
        super().__init__(cause if line is None else f"{cause} (line {line})")


class SourceNotFound(Exception):
    """The source code of a function is not there, or not certain."""


def as_unbound(error: NameError) -> NameError:
    """Return the error about a local variable without a value, which a block saw as free.

    >>> as_unbound(NameError("free variable 'y' referenced before assignment"))
    UnboundLocalError("'y' is used before assignment")
    """
    found = re.search(r"free variable '(\w+)'", str(error))
    if type(error) is not NameError or found is None:
        return error
    return UnboundLocalError(f"'{found[1]}' is used before assignment")
