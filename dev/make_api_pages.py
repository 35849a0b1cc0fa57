"""Makes the pages of the API reference, from the public modules and their docstrings.

`make docs` calls it: the pages are part of the site and not of the repository, so that they
cannot be out of date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

MODULES = (
    "berth",
    "berth.config",
    "berth.config.experimental",
    "berth.debugging",
    "berth.math",
    "berth.nn",
    "berth.linalg",
    "berth.random",
    "berth.strings",
    "berth.bitwise",
    "berth.initializers",
    "berth.nest",
    "berth.sysconfig",
    "berth.test",
    "berth.timeline",
    "berth.device_lib",
    "berth.compat.v1",
    "berth.compat.v1.nn",
    "berth.compat.v1.math",
    "berth.compat.v1.linalg",
    "berth.compat.v1.random",
    "berth.compat.v1.app",
    "berth.compat.v1.flags",
    "berth.compat.v1.logging",
)
INTRODUCTION = """\
# API

Every public name, with its signature and documentation, by module. `import berth as tf` is
TensorFlow 2's API and `import berth.compat.v1 as tf` TensorFlow 1's. Arguments mean what they
mean in TensorFlow, whose own [API documentation](https://www.tensorflow.org/api_docs/python/tf)
has longer descriptions and examples of each.

| module | names |
|---|--:|
"""


def api_pages() -> dict[str, str]:
    """Return the text of each page by its path in the site: an index, and the modules."""
    loaded = {name: import_module(name) for name in MODULES}
    rows = [
        f"| [`{name}`](api/{name}.md) | {len(public_names(module))} |"
        for name, module in loaded.items()
    ]
    pages = {f"reference/api/{name}.md": _page(module) for name, module in loaded.items()}
    return {"reference/api.md": INTRODUCTION + "\n".join(rows) + "\n", **pages}


def public_names(module: ModuleType) -> list[str]:
    """List the names that a module documents: no modules and no constants of other types."""
    listed = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
    return [name for name in sorted(listed) if callable(getattr(module, name))]


def _page(module: ModuleType) -> str:
    entries = [
        "\n".join(_entry(module.__name__, name, getattr(module, name)))
        for name in public_names(module)
    ]
    return "\n\n".join([f"# {module.__name__}", _prose(module.__doc__), *entries, ""])


def _entry(module: str, name: str, value: Any) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"```python\n{module}.{name}{_signature(value)}\n```\n"
    if inspect.isclass(value) and issubclass(value, tuple | BaseException):
        yield _prose(value.__doc__)
        return
    yield _prose(inspect.getdoc(value))
    if inspect.isclass(value):
        for member, function in inspect.getmembers(value, _is_documented):
            if not member.startswith("_"):
                yield f"\n**`.{member}{_signature(function)}`**\n"
                yield _prose(inspect.getdoc(function))


def _is_documented(member: Any) -> bool:
    function = member.fget if isinstance(member, property) else member
    return inspect.isfunction(function) and bool(function.__doc__)


def _signature(value: Any) -> str:
    if isinstance(value, property):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in _shown(signature)]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "…", text)


def _shown(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [each for name, each in signature.parameters.items() if name not in ("self", "cls")]


def _prose(text: str | None) -> str:
    """Turn a docstring into Markdown: its sessions become blocks of code."""
    cleaned = inspect.cleandoc(text or "")
    cleaned = re.sub(r"(?m)^(>>> (?:.+\n?)+)", r"```pycon\n\1\n```", cleaned)
    return re.sub(r"(?m)^    (?=\S)", "        ", cleaned)
