"""Finds the public functions that no case calls."""

from __future__ import annotations

import ast
import importlib
from typing import Any

from make_ops import public_functions

from tests.parity.differential.inputs import cases_for

OPERATIONS = (
    "berth.ops.",
    "berth.graph.control_flow",
    "berth.graph.loops",
    "berth.graph.while",
)
"""Where functions live that are made of operations: others are about graphs and variables."""


def dotted_name(node: ast.AST) -> str:
    """Return what an expression takes from ``tf``: ``math.add``; nothing if it is no such."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        is_module = isinstance(node.value, ast.Name) and node.value.id == "tf"
        return node.attr if is_module else owner and f"{owner}.{node.attr}"
    return ""


def called_by(case: str) -> set[str]:
    return {dotted_name(node) for node in ast.walk(ast.parse(case, mode="eval"))} - {""}


def resolve(face: Any, name: str) -> Any:
    for part in name.split("."):
        face = getattr(face, part, None)
    return face


def without_a_case() -> list[str]:
    """List the functions made of operations, of either face, that no case calls."""
    called: set[int] = set()
    for face, mode in (("berth", "eager"), ("berth.compat.v1", "session")):
        module = importlib.import_module(face)
        for case in cases_for(mode):
            called.update(id(resolve(module, name)) for name in called_by(case))
    return [
        f"{face}.{names[0]}"
        for face in ("berth", "berth.compat.v1")
        for function, names in public_functions(face).items()
        if id(function) not in called
        and function.__module__.startswith(OPERATIONS)
        and not isinstance(function, type)
    ]
