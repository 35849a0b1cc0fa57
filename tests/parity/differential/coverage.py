"""Finds the public functions that no case calls."""

from __future__ import annotations

import ast
import importlib
from typing import Any

from make_ops import public_functions

from tests.parity.differential.inputs import cases_for


def dotted_names(case: str) -> set[str]:
    """List what a case takes from ``tf``: its names with dots, in all their lengths."""
    found = set()
    for node in ast.walk(ast.parse(case, mode="eval")):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id == "tf":
            found.add(".".join(parts))
    return found


def resolve(face: Any, name: str) -> Any:
    for part in name.split("."):
        face = getattr(face, part, None)
    return face


def without_a_case() -> list[str]:
    """List the functions made of operations, of either face, that no case calls."""
    called = set()
    for face, mode in (("berth", "eager"), ("berth.compat.v1", "session")):
        names = set().union(*(dotted_names(case) for case in cases_for(mode)))
        module = importlib.import_module(face)
        called |= {id(resolve(module, name)) for name in names}
    missing = []
    for face in ("berth", "berth.compat.v1"):
        for function, names in public_functions(face).items():
            if id(function) not in called and not isinstance(function, type):
                missing.append(f"{face}.{names[0]}")
    return missing
