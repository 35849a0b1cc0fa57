"""Operations of imported graphs that are made of others here: functions by TensorFlow's type.

A function gets the inputs of the node, its attributes, and the name that the operation with
the node's outputs must have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Import = Callable[[list[Any], dict[str, Any], str], Any]
IMPORTED: dict[str, Import] = {}


def imported(*types: str) -> Callable[[Import], Import]:
    """Declare a function that makes the nodes of these types, where they are imported."""

    def declare(function: Import) -> Import:
        IMPORTED.update(dict.fromkeys(types, function))
        return function

    return declare
