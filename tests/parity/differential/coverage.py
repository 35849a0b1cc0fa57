"""Knows which public functions a case calls, and which ones no case does."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from make_ops import Named, both_apis, by_depth

from tests.parity.differential.elsewhere import OWN, TESTS
from tests.parity.differential.inputs import cases_for

Function = Callable[..., Any]


@cache
def listed() -> tuple[Named, ...]:
    """List the public functions of both APIs, those that are about graphs and modes, too."""
    return tuple(both_apis(homes=("berth.",)))


def full_names(each: Named) -> list[str]:
    """Return all names of a function, the main one first; v1's where v2 has not the same."""
    newer = [f"tf.{name}" for name in each.new]
    older = [f"tf.compat.v1.{name}" for name in each.old if name not in each.new]
    return sorted(newer, key=by_depth) + sorted(older, key=by_depth)


def dotted_name(node: ast.AST) -> str:
    """Return what an expression takes from ``tf``: ``math.add``; nothing if it is no such."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        is_module = isinstance(node.value, ast.Name) and node.value.id == "tf"
        return node.attr if is_module else owner and f"{owner}.{node.attr}"
    return ""


def resolve(api: Any, name: str) -> Any:
    for part in name.split("."):
        api = getattr(api, part, None)
    return api


@cache
def functions_of(mode: str, case: str) -> dict[Function, int]:
    """Map the public functions that a case names to where it does so first, in that order."""
    api = importlib.import_module("berth.compat.v1" if mode == "session" else "berth")
    public = {each.function for each in listed()}
    places: dict[Function, int] = {}
    for node in ast.walk(ast.parse(case, mode="eval")):
        function = resolve(api, name) if (name := dotted_name(node)) else None
        if isinstance(node, ast.Attribute) and callable(function) and function in public:
            places[function] = min(node.col_offset, places.get(function, node.col_offset))
    return dict(sorted(places.items(), key=lambda item: item[1]))


def without_a_case() -> list[str]:
    """List the functions that neither a case calls nor another test is named for."""
    called = {
        function
        for mode in ("eager", "session")
        for case in cases_for(mode)
        for function in functions_of(mode, case)
    }
    return [
        full_names(each)[0]
        for each in listed()
        if each.function not in called and full_names(each)[0] not in (*OWN, *TESTS)
    ]
