"""Private names: ``self.__x`` in a class is ``self._Class__x``, which the compiler writes.

A method that is compiled alone, outside of its class, has to be written so.
"""

from __future__ import annotations

import ast
from typing import Any


def mangle(node: ast.AST, class_name: str) -> None:
    """Write the private names in a method as the compiler would within its class."""
    stripped = class_name.lstrip("_")
    if stripped:
        _Mangling(f"_{stripped}").visit(node)


class _Mangling(ast.NodeVisitor):
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def _mangled(self, name: Any) -> Any:
        is_private = isinstance(name, str) and name.startswith("__")
        if not is_private or name.endswith("__") or "." in name:
            return name
        return self._prefix + name

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leave a class inside to the compiler, but for what is evaluated outside of it."""
        node.name = self._mangled(node.name)
        for part in (*node.bases, *node.keywords, *node.decorator_list):
            self.visit(part)

    def generic_visit(self, node: ast.AST) -> None:
        """Mangle every field that is a name."""
        for field in ("id", "attr", "arg", "name", "asname", "rest"):
            if field == "name" and isinstance(node, ast.alias):
                continue
            if field == "arg" and isinstance(node, ast.keyword):
                node.arg = self._mangled(node.arg)
            elif hasattr(node, field):
                setattr(node, field, self._mangled(getattr(node, field)))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._mangled(name) for name in node.names]
        super().generic_visit(node)
