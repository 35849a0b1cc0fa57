"""Writes the public modules: their imports and ``__all__``, from what is declared in the code.

    make api

Every module of berth with the line `BEGIN` is such a module. Between that line and `END` is
what this script writes; the docstring before and whatever comes after is written by hand.
The module's own name says what belongs there: ``berth.compat.v1.nn`` has the names declared
as ``nn.…`` in TensorFlow 1's API, ``berth`` those without a dot in TensorFlow 2's.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import berth
from berth.public import API, DECLARED, PublicName

SOURCES = Path(berth.__file__).parent
BEGIN = "# --- written by dev/make_api.py: make api\n# isort: split"
END = "# --- end"
V1 = "compat.v1"
ROOTS = (
    *("berth", "berth.math", "berth.compat.v1", "berth.compat.v1.math", "berth.compat.v1.nn"),
    *("berth.random", "berth.compat.v1.random", "berth.test"),
)
LAZY = (
    *("berth.data.", "berth.layers.", "berth.summary.", "berth.train."),
    *("berth.ops.lists.", "berth.ops.lookup.", "berth.ops.quantization.", "berth.ops.ragged."),
    *("berth.ops.signal.", "berth.ops.sparse.", "berth.ops.special.", "berth.ops.text."),
    *("berth.eager.random_generator", "berth.session.test_case"),
)
"""What `ROOTS` import when a name is first used: most programs need few of these."""


def load_everything() -> None:
    """Import all modules of berth, so that all names are declared."""
    for module in pkgutil.walk_packages(berth.__path__, "berth."):
        if not module.name.endswith("__main__") and ".on_path" not in module.name:
            import_module(module.name)


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def public_place(module: str) -> tuple[API, str]:
    """Say which API a public module belongs to, and its path there.

    >>> public_place("berth.compat.v1.nn")
    ('v1', 'nn')
    """
    place = module.removeprefix("berth").removeprefix(".")
    if place == V1 or place.startswith(f"{V1}."):
        return "v1", place.removeprefix(V1).removeprefix(".")
    return "v2", place


def names_of(module: str) -> dict[str, PublicName]:
    """Map the names of a public module to where they are defined."""
    api, place = public_place(module)
    found: dict[str, PublicName] = {}
    for declared in DECLARED:
        owner, _, name = declared.path.rpartition(".")
        if declared.api != api or owner != place:
            continue
        other = found.setdefault(name, declared)
        assert other == declared, f"{module}.{name} is declared in two places"
    return found


def written(module: str) -> str:
    """Return what stands between the two lines of a public module."""
    names = {n: each for n, each in names_of(module).items() if each.module != module}
    lazy = {
        name: each
        for name, each in sorted(names.items())
        if module in ROOTS and each.module.startswith(LAZY)
    }
    imports = sorted(import_of(name, each) for name, each in names.items() if name not in lazy)
    listed = "".join(f"    {name!r},\n" for name in sorted(names_of(module)))
    text = [*imports, "", f"__all__ = [\n{listed}]", ""]
    if module in ROOTS:
        places = "".join(
            f"    {name!r}: ({each.module!r}, {each.attribute!r}),\n"
            for name, each in lazy.items()
        )
        text += [f"_LAZY_NAMES: _LazyNames = {{\n{places}}}", ""]
    if lazy:
        checked = sorted(import_of(name, each, exported=True) for name, each in lazy.items())
        text += ["if TYPE_CHECKING:", *(f"    {line}" for line in checked), ""]
    return "\n".join(text)


def import_of(name: str, each: PublicName, exported: bool = False) -> str:
    """Write the import of a name; a checker takes ``as`` to mean that it is exported."""
    renamed = exported or each.attribute != name
    return f"from {each.module} import {each.attribute}" + (f" as {name}" if renamed else "")


def current(path: Path) -> str:
    """Return a public module as it should be."""
    text = path.read_text()
    head, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, tail = rest.partition(f"{END}\n")
    assert begin, f"{path} has no line {BEGIN!r}"
    assert end, f"{path} has no line {END!r}"
    return formatted(f"{head}{begin}{written(module_name(path))}{end}{tail}")


def formatted(text: str) -> str:
    for command in (["check", "--select", "I", "--fix-only", "--quiet", "-"], ["format", "-"]):
        ruff = [sys.executable, "-m", "ruff", *command]
        text = subprocess.run(
            ruff, input=text, capture_output=True, check=True, text=True
        ).stdout
    return text


def public_modules() -> list[Path]:
    """List the files that this script writes to."""
    return [path for path in sorted(SOURCES.rglob("*.py")) if f"{BEGIN}\n" in path.read_text()]


if __name__ == "__main__":
    load_everything()
    for path in public_modules():
        path.write_text(current(path))
