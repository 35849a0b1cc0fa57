"""The public names of a module."""

from __future__ import annotations

from types import ModuleType


def public_names(module: ModuleType) -> list[str]:
    """List the public names of a module."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
