"""Writes docs/ops.md: every operation, its names in both APIs, its devices, its gradient.

    python docs/make_ops.py

What is listed is what is there: the public names of both APIs, and the operations that
their functions use. A test compares the page with what this would write.
"""

from __future__ import annotations

import doctest
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import berth
from berth.blocks import FunctionBlock
from berth.dtypes import COMPLEX, FLOATING, INTEGERS, DType, bool_, resource, string
from berth.ops.builder import Builder, current, enter
from berth.ops.opdef import CATALOGUE, NOT_DIFFERENTIABLE, Attrs, OpDef

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
MADE_FROM_ARGUMENTS = ("Const",)
"""Operations that only turn arguments into tensors."""
KINDS = {
    "float": FLOATING,
    "int": INTEGERS,
    "complex": COMPLEX,
    "bool": (bool_,),
    "string": (string,),
}


class Named(NamedTuple):
    """A public function, and its names in each API; in one of them it may have none."""

    function: Callable[..., Any]
    new: list[str]
    old: list[str]

    def main_name(self) -> str:
        return min(self.new or self.old, key=by_depth)


def by_depth(name: str) -> tuple[int, str]:
    """Sort names of fewer parts first."""
    return name.count("."), name


def both_apis(homes: tuple[str, ...] = OPERATIONS) -> list[Named]:
    """List the functions of both APIs that live in some modules, by their main names."""
    v2, v1 = (
        public_functions("berth", homes),
        public_functions("berth.compat.v1", homes),
    )
    found = [Named(each, v2.get(each, []), v1.get(each, [])) for each in {**v2, **v1}]
    functions = [each for each in found if not isinstance(each.function, type)]
    return sorted(functions, key=lambda each: f"{each.main_name()} {not each.new}".lower())


def public_functions(api: str, homes: tuple[str, ...]) -> dict[Callable[..., Any], list[str]]:
    """Map what can be called in an API, and lives in some modules, to its names."""
    found: dict[Callable[..., Any], list[str]] = {}
    for module in MODULES:
        full = ".".join(part for part in (api, module) if part)
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


class Recorder:
    """A builder that notes the operations which pass through it to another."""

    def __init__(self, builder: Builder) -> None:
        self.used: dict[OpDef, None] = {}
        self._builder = builder

    def apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        self.used[op] = None
        return self._builder.apply(op, inputs, attrs, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)


def used_by(function: Callable[..., Any]) -> list[str]:
    """List the operations that the example in a function's docstring applies to tensors."""
    example = doctest.DocTestParser().get_doctest(
        function.__doc__ or "",
        dict(vars(sys.modules[function.__module__])),
        "",
        None,
        0,
    )
    recorder = Recorder(current())
    with FunctionBlock(enter, recorder):
        doctest.DocTestRunner(verbose=False).run(example, out=lambda text: None)
    return [op.name for op in recorder.used if op.name not in MADE_FROM_ARGUMENTS]


def types_of(dtypes: tuple[DType, ...]) -> str:
    """Name the kinds of elements that a kernel takes."""
    return ", ".join(kind for kind, members in KINDS.items() if set(members) & set(dtypes))


def devices_of(op: OpDef) -> str:
    """Say which devices run an operation, and for which elements."""
    parts = []
    allowed: tuple[DType, ...] | None = None
    first = op.arguments[op.type_position or 0].type if op.arguments else None
    if isinstance(first, DType) and first != resource:  # a variable may hold any type
        allowed = (first,)
    elif op.type_position is not None:
        allowed = op.types[str(first)]
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
    for function, new, old in both_apis():
        ops = ", ".join(used_by(function)) or "—"
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
        api, module = heading.split()
        full = {"v2": "berth", "v1": "berth.compat.v1"}[api]
        owner: Any = importlib.import_module(full)
        owner = owner if module == "tf" else getattr(owner, module)
        missing = [name for name in names if not hasattr(owner, name)]
        shown = "tf" if module == "tf" else f"tf.{module}"
        place = shown if api == "v2" else shown.replace("tf", "tf.compat.v1", 1)
        count = f"{len(names) - len(missing)} of {len(names)} there"
        yield f"| `{place}`: {count} | {' '.join(missing)} |"


def read_names() -> dict[str, list[str]]:
    """Read TensorFlow's names, by API and module."""
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
    return "\n".join(
        [
            "# Operations",
            "",
            "Written by `make reference` from the code itself.",
            "",
            f"## The {len(CATALOGUE)} operations",
            "",
            "What a graph is made of. A gradient of — means that it is not differentiable.",
            "",
            *operations_table(),
            "",
            "## The functions that make them",
            "",
            "Names under `tf`; several names of one function are in one row. The operations "
            "are those that the example in the function's documentation runs; — means none, "
            "or in a graph.",
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
