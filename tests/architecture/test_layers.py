"""The shape of the package: who may import whom, and who may touch what."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

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
    "functions",
    "session",
    "data",
    "layers",
    "summary",
    "train",
    "public",
    "keras",
    "tools",
)
BASE = {
    "errors",
    "units",
    "callsite",
    "crc32c",
    "deferred",
    "dtypes",
    "flags",
    "lru",
    "missing",
    "printable",
    "proto",
    "public",
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
    "initializers",
    "linalg",
    "math",
    "nest",
    "nn",
    "random",
    "strings",
    "sysconfig",
    "test",
    "timeline",
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


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports_of(path: Path) -> list[tuple[ast.stmt, str]]:
    found: list[tuple[ast.stmt, str]] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(node, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            module = node.module or ""
            # `from berth import config` imports a module, `from berth.x import y` a name.
            bare = module in ("berth", "berth.config", "berth.tools")
            found += [(node, f"{module}.{a.name}" if bare else module) for a in node.names]
    return found


def test_every_module_has_a_layer():
    assert {layer_of(module_name(path)) for path in MODULES} <= set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_down(path):
    own = LAYERS.index(layer_of(module_name(path)))
    for node, imported in imports_of(path):
        if imported.split(".")[0] == "berth":
            theirs = layer_of(imported)
            assert LAYERS.index(theirs) <= own, f"{path.name}:{node.lineno}: {imported}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_no_import_hides_in_a_function(path):
    local = {
        inner
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(function)
    }
    for node, imported in imports_of(path):
        same = [n for n in local if getattr(n, "lineno", 0) == node.lineno]
        is_local = any(type(n) is type(node) for n in same)
        assert not (is_local and imported.startswith("berth")), f"{path.name}:{node.lineno}"


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
        module_name(path)
        for path in MODULES
        for _, imported in imports_of(path)
        if imported.split(".")[0] == library
    }
    assert users <= allowed


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_planning_and_running_know_no_operation(path):
    """What they need of an operation is a fact of its definition (`ops.opdef`)."""
    if layer_of(module_name(path)) in ("graph", "plan", "run"):
        named = [imported for _, imported in imports_of(path) if imported.count(".") > 2]
        assert [imported for imported in named if imported.startswith("berth.ops.")] == []


def test_environment_is_read_in_one_place():
    readers = {module_name(path) for path in MODULES if "os.environ" in path.read_text()}
    assert readers == {"berth.front.context", "berth.tools.commands", "berth.tools.run.command"}


def test_modules_and_functions_stay_small():
    too_long = []
    for path in MODULES:
        text = path.read_text()
        if text.count("\n") > 400 and "# --- written by dev/make_api.py" not in text:
            too_long.append(module_name(path))
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno > 50:
                too_long.append(f"{module_name(path)}.{node.name}")
    assert too_long == []
