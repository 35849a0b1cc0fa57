"""Writes docs/ops.md: every operation, its names in both APIs, its devices, its gradient.

    python docs/make_ops.py

What is listed is what is there: the public names of both faces, and the operations that
their functions use. A test compares the page with what this would write.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import berth
from berth.dtypes import COMPLEX, FLOATING, INTEGERS, DType, bool_, string
from berth.ops.opdef import CATALOGUE, NOT_DIFFERENTIABLE, OpDef

PAGE = Path(__file__).with_name("ops.md")
NAMES = Path(__file__).with_name("tensorflow-names.txt")
MODULES = ("", "bitwise", "debugging", "linalg", "math", "nn", "random", "strings")
OPERATIONS = (
    "berth.ops.",
    "berth.graph.",
    "berth.control_flow.",
    "berth.autodiff.",
    "berth.variables.",
)
"""Where the functions live that are made of operations."""
KINDS = {
    "float": FLOATING,
    "int": INTEGERS,
    "complex": COMPLEX,
    "bool": (bool_,),
    "string": (string,),
}


class Named(NamedTuple):
    """A public function, and its names in each face; in one of them it may have none."""

    function: Callable[..., Any]
    new: list[str]
    old: list[str]

    def main_name(self) -> str:
        return min(self.new or self.old, key=by_depth)


def by_depth(name: str) -> tuple[int, str]:
    """Sort names of fewer parts first."""
    return name.count("."), name


def both_faces(homes: tuple[str, ...] = OPERATIONS) -> list[Named]:
    """List the functions of both faces that live in some modules, by their main names."""
    v2, v1 = public_functions("berth", homes), public_functions("berth.compat.v1", homes)
    found = [Named(each, v2.get(each, []), v1.get(each, [])) for each in {**v2, **v1}]
    functions = [each for each in found if not isinstance(each.function, type)]
    return sorted(functions, key=lambda each: f"{each.main_name()} {not each.new}".lower())


def public_functions(face: str, homes: tuple[str, ...]) -> dict[Callable[..., Any], list[str]]:
    """Map what can be called in a face, and lives in some modules, to its names."""
    found: dict[Callable[..., Any], list[str]] = {}
    for module in MODULES:
        full = ".".join(part for part in (face, module) if part)
        try:
            names = importlib.import_module(full)
        except ModuleNotFoundError:
            names = importlib.import_module(f"berth.{module}")
        for name in names.__all__:
            function = getattr(names, name)
            home = getattr(function, "__module__", "") or ""
            if callable(function) and home.startswith(homes):
                found.setdefault(function, []).append(f"{module}.{name}".lstrip("."))
    return found


def used_by(function: Callable[..., Any]) -> list[OpDef]:
    """List the operations that a function of ours applies, itself or through its helpers."""
    seen: set[Any] = set()
    used: dict[OpDef, None] = {}

    def look(each: Any, home: str) -> None:
        code = getattr(each, "__code__", None)
        if code is None or each in seen:
            return
        seen.add(each)
        for cell in each.__closure__ or ():
            if isinstance(cell.cell_contents, OpDef):
                used[cell.cell_contents] = None
        for name in _names(code):
            value = each.__globals__.get(name)
            if isinstance(value, OpDef):
                used[value] = None
            elif isinstance(value, dict) and all(isinstance(v, OpDef) for v in value.values()):
                used.update(dict.fromkeys(value.values()))
            elif getattr(value, "__module__", None) == home and name.startswith("_"):
                look(value, home)

    look(function, function.__module__)
    return list(used)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def types_of(dtypes: tuple[DType, ...]) -> str:
    """Name the kinds of elements that a kernel takes."""
    return ", ".join(kind for kind, members in KINDS.items() if set(members) & set(dtypes))


def devices_of(op: OpDef) -> str:
    """Say which devices run an operation, and for which elements."""
    parts = []
    allowed: tuple[DType, ...] | None = None
    if op.type_position is not None:
        allowed = op.types[str(op.arguments[op.type_position].type)]
    for device in ("CPU", "GPU"):
        dtypes = tuple(t for k in op.kernels if k.device_type == device for t in k.dtypes)
        dtypes = tuple(t for t in dtypes if allowed is None or t in allowed)
        if dtypes:
            parts.append(f"{device}: {types_of(dtypes)}")
    if len(parts) == 2 and parts[0][3:] == parts[1][3:]:
        return f"CPU, GPU{parts[0][3:]}"
    return "; ".join(parts)


def gradient_of(op: OpDef) -> str:
    return "—" if op.gradient is NOT_DIFFERENTIABLE or op.gradient is None else "yes"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names, key=by_depth))


def functions_table() -> Iterator[str]:
    yield "| `import berth as tf` | `import berth.compat.v1 as tf` | operations |"
    yield "|---|---|---|"
    for function, new, old in both_faces():
        ops = ", ".join(op.name for op in used_by(function)) or "made of others"
        older = "the same" if sorted(new) == sorted(old) else _listed(old) or "—"
        yield f"| {_listed(new) or '—'} | {older} | {ops} |"


def operations_table() -> Iterator[str]:
    yield "| operation | kernels | gradient |"
    yield "|---|---|---|"
    for name in sorted(CATALOGUE):
        op = CATALOGUE[name]
        yield f"| {name} | {devices_of(op)} | {gradient_of(op)} |"


def missing_table() -> Iterator[str]:
    """List TensorFlow's functions that are not there."""
    yield "| | not there |"
    yield "|---|---|"
    for heading, names in read_names().items():
        face, module = heading.split()
        full = {"v2": "berth", "v1": "berth.compat.v1"}[face]
        owner: Any = importlib.import_module(full)
        owner = owner if module == "tf" else getattr(owner, module)
        missing = [name for name in names if not hasattr(owner, name)]
        shown = "tf" if module == "tf" else f"tf.{module}"
        place = shown if face == "v2" else shown.replace("tf", "tf.compat.v1", 1)
        count = f"{len(names) - len(missing)} of {len(names)} there"
        yield f"| `{place}`: {count} | {' '.join(missing)} |"


def read_names() -> dict[str, list[str]]:
    """Read TensorFlow's names, by face and module."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in NAMES.read_text().splitlines()[1:]:
        if line.startswith("["):
            heading = line.strip("[]")
            found[heading] = []
        else:
            found[heading] += line.split()
    return found


def page() -> str:
    """Return the page."""
    importlib.import_module("berth.compat.v1")
    importlib.import_module("berth.ops.gradients")
    return "\n".join(
        [
            "# Operations",
            "",
            "Written by `docs/make_ops.py` from the code itself.",
            "",
            f"## The {len(CATALOGUE)} operations",
            "",
            "What a graph is made of. A gradient of — means that none goes back through it.",
            "",
            *operations_table(),
            "",
            "## The functions that make them",
            "",
            "Names under `tf`; several names of one function are in one row.",
            "",
            *functions_table(),
            "",
            "## What TensorFlow 2.21 has besides",
            "",
            *missing_table(),
            "",
        ]
    )


if __name__ == "__main__":
    assert berth.__version__
    PAGE.write_text(page())
