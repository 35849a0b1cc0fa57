"""The shape of the package: who may import whom, and who may touch what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "berth"

# A module may import its own layer and those before it. This tuple is the architecture.
LAYERS = (
    "base",
    "backends",
    "memory",
    "devices",
    "ops",
    "graph",
    "variables",
    "autodiff",
    "control_flow",
    "plan",
    "run",
    "front",
    "eager",
    "autograph",
    "functions",
    "session",
    "data",
    "layers",
    "summary",
    "train",
    "distribute",
    "public",
    "keras",
    "tools",
)
BASE = {
    "blocks",
    "errors",
    "file_errors",
    "finalizers",
    "units",
    "callsite",
    "crc32c",
    "deferred",
    "dtypes",
    "flags",
    "fp_errors",
    "keras_import",
    "lru",
    "missing",
    "openblas",
    "png",
    "printable",
    "proto",
    "public",
    "tensorflow_types",
    "text",
    "trackable",
}
PUBLIC = {
    "berth",
    "__version__",
    "bitwise",
    "config",
    "compat",
    "debugging",
    "device_lib",
    "experimental",
    "image",
    "initializers",
    "io",
    "linalg",
    "lookup",
    "math",
    "nest",
    "nn",
    "quantization",
    "ragged",
    "random",
    "raw_ops",
    "signal",
    "sparse",
    "strings",
    "sysconfig",
    "test",
    "timeline",
    "types",
}
TOOLS = {"__main__"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def layer_of(module: str) -> str:
    top = [*module.split("."), "berth"][1]
    if top in BASE:
        return "base"
    if top in PUBLIC:
        return "public"
    return "tools" if top in TOOLS else top


class Import(NamedTuple):
    """One import of a module."""

    where: str
    imported: str
    is_local: bool
    """It stands in a function."""


class Facts(NamedTuple):
    """What the tests ask of a module. Its tree is not kept: it would slow every collection of garbage."""

    imports: list[Import]
    long_functions: list[str]


@cache
def facts_of(path: Path) -> Facts:
    facts = Facts([], [])
    _walk(ast.parse(path.read_text()), path, facts, is_local=False)
    return facts


def _walk(node: ast.AST, path: Path, facts: Facts, is_local: bool) -> None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
        facts.imports.extend(Import(where, name, is_local) for name in _imported(node, where))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        is_local = True
        if node.end_lineno - node.lineno > 50:
            facts.long_functions.append(f"{module_name(path)}.{node.name}")
    for child in ast.iter_child_nodes(node):
        _walk(child, path, facts, is_local)


def _imported(node: ast.Import | ast.ImportFrom, where: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, f"{where}: imports are absolute"
    module = node.module or ""
    # `from berth import config` imports a module, `from berth.x import y` a name.
    bare = module in ("berth", "berth.config", "berth.tools")
    return [f"{module}.{alias.name}" if bare else module for alias in node.names]


def all_imports() -> Iterator[tuple[str, Import]]:
    for path in MODULES:
        for found in facts_of(path).imports:
            yield module_name(path), found


def test_every_module_has_a_layer():
    assert {layer_of(module_name(path)) for path in MODULES} <= set(LAYERS)


def test_imports_point_down():
    upwards = [
        f"{found.where}: {found.imported}"
        for module, found in all_imports()
        if found.imported.split(".")[0] == "berth"
        and LAYERS.index(layer_of(found.imported)) > LAYERS.index(layer_of(module))
    ]
    assert upwards == []


def test_no_import_hides_in_a_function():
    hidden = [
        f"{found.where}: {found.imported}"
        for _, found in all_imports()
        if found.is_local and found.imported.startswith("berth")
    ]
    assert hidden == []


@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        ("cupy", {"berth.backends.cuda"}),
        (
            "mmap",
            {"berth.backends.in_process"},
        ),
        (
            "rich",
            {
                "berth.tools.commands",
                "berth.tools.devices",
                "berth.tools.output",
                "berth.tools.run.memory_table",
                "berth.tools.top",
            },
        ),
    ],
)
def test_libraries_are_known_in_one_place(library, allowed):
    users = {
        module for module, found in all_imports() if found.imported.split(".")[0] == library
    }
    assert users <= allowed


def test_planning_and_running_know_no_operation():
    """What they need of an operation is a fact of its definition (`ops.opdef`)."""
    known = [
        f"{found.where}: {found.imported}"
        for module, found in all_imports()
        if layer_of(module) in ("graph", "plan", "run")
        and found.imported.startswith("berth.ops.")
        and found.imported.count(".") > 2
    ]
    assert known == []


def test_environment_is_read_in_one_place():
    readers = {module_name(path) for path in MODULES if "os.environ" in path.read_text()}
    assert readers == {"berth.front.context", "berth.tools.commands", "berth.tools.run.command"}


def test_modules_and_functions_stay_small():
    too_long = []
    for path in MODULES:
        text = path.read_text()
        if text.count("\n") > 400 and "# --- written by dev/make_api.py" not in text:
            too_long.append(module_name(path))
        too_long += facts_of(path).long_functions
    assert too_long == []
