"""Loads the operations that are otherwise imported when a function of theirs is first used."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import berth.ops


def load_all_ops() -> None:
    """Import every module of operations, so that the catalogue is complete."""
    for module in pkgutil.walk_packages(berth.ops.__path__, "berth.ops."):
        import_module(module.name)
