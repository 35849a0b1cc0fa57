"""Which of TensorFlow's names berth has, and where.

There are two TensorFlows: of version 1 and of version 2 (`API`). A name is a path from the
module `tensorflow` on: ``nn.relu``, ``compat.v1.Session``, ``python.client.timeline``. The
modules on such paths are berth's public API; their ``__all__`` lists the public names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Literal, NamedTuple

from berth import compat
from berth.errors import did_you_mean
from berth.keras.package import INSTALL, api_folder
from berth.missing import instead_of
from berth.tools.run import internal_modules
from berth.tools.run.module_names import public_names

ROOT = "tensorflow"
API = Literal["v1", "v2"]
VERSIONS: dict[API, str] = {"v1": "1.15.5", "v2": "2.21.0"}
"""The versions of TensorFlow whose behaviour berth has."""

_ELSEWHERE: dict[str, Callable[[], ModuleType]] = {
    "compat.v1": lambda: compat.v1,
    "compat.v2": lambda: import_module("berth"),
}
"""Modules that are not attributes of the API's root, or differ from that attribute."""
_API_ROOTS = {"v1": _ELSEWHERE["compat.v1"], "v2": _ELSEWHERE["compat.v2"]}
# `compat.v1` as an attribute: to import it would make this a program of TensorFlow 1.
_FOLDERS = {"compat", *internal_modules.FOLDERS}
"""Modules that only hold others."""
_ROOTS = ("", "compat.v1", "compat.v2")
"""Paths of the APIs' root modules."""
OF_KERAS = ("keras", "losses", "metrics", "optimizers")
"""What TensorFlow 2 has of the package Keras."""
_OWN_TO_V1 = (
    "app",
    "contrib",
    "flags",
    "gfile",
    "layers",
    "logging",
    "python_io",
    "train.AdagradOptimizer",
    "train.AdamOptimizer",
    "train.GradientDescentOptimizer",
    "train.MomentumOptimizer",
    "train.MonitoredTrainingSession",
    "train.RMSPropOptimizer",
    "train.Saver",
)
"""Names of TensorFlow 1 alone that berth has not, and programs often use."""
_OF_BOTH = ("compat.", "core.", "initializers.", "python.")
"""Modules of both versions, whether or not berth has them for both."""


def module_at(api: API, path: str) -> ModuleType | None:
    """Return the module of berth that stands for one of TensorFlow's; None if none does.

    >>> module_at("v1", "nn").__name__, module_at("v2", "keras")
    ('berth.compat.v1.nn', None)
    """
    if path in _ELSEWHERE:
        return _ELSEWHERE[path]()
    if path in internal_modules.PATHS:
        return internal_modules.internal_module(path)
    if not path:
        return _API_ROOTS[api]()
    around, _, last = path.rpartition(".")
    if last == "version" and around in _ROOTS:
        return _version_module(api)
    outer = module_at(api, around)
    if outer is None or last not in public_names(outer):
        return None
    found = getattr(outer, last)
    return found if isinstance(found, ModuleType) else None


def _version_module(api: API) -> ModuleType:
    """Make ``tf.version``: it tells which TensorFlow this stands for, not which berth it is."""
    module = ModuleType("version")
    module.__dict__.update(VERSION=VERSIONS[api], __all__=["VERSION"])
    return module


def version_names(api: API, path: str) -> dict[str, str]:
    """Return the version attributes of an API's root module, by name.

    >>> version_names("v2", ""), version_names("v2", "nn")
    ({'__version__': '2.21.0'}, {})
    """
    if path not in _ROOTS:
        return {}
    is_v1 = api == "v1" or path == "compat.v1"
    return dict.fromkeys(["__version__"] + ["VERSION"] * is_v1, VERSIONS[api])


def is_folder(path: str) -> bool:
    """Tell whether a module only holds others."""
    return path in _FOLDERS


class Found(NamedTuple):
    """How far a path leads."""

    name: str
    """The path, up to what is no module: what follows are attributes of a value."""
    is_there: bool


def find(api: API, path: str) -> Found:
    """Follow a path from module to module.

    >>> find("v1", "Session.run"), find("v2", "Session.run")
    (Found(name='Session', is_there=True), Found(name='Session', is_there=False))
    """
    parts = path.split(".")
    if api == "v2" and parts[0] in OF_KERAS:
        return Found(parts[0], bool(api_folder()))
    for n_parts in range(1, len(parts) + 1):
        here = ".".join(parts[:n_parts])
        if is_folder(here) or module_at(api, here) is not None:
            continue
        around, _, last = here.rpartition(".")
        module = module_at(api, around)
        is_there = module is not None and (
            last in public_names(module)
            or (last.startswith("__") and hasattr(module, last))  # `tf.__file__`
        )
        return Found(here, is_there or last in version_names(api, around))
    return Found(path, True)


@cache
def is_own_to_v1(path: str) -> bool:
    """Tell whether a name belongs to TensorFlow 1 alone, whether or not berth has it."""
    if path.startswith(_OF_BOTH):
        return False
    if any(path == name or path.startswith(f"{name}.") for name in _OWN_TO_V1):
        return True
    if find("v2", path).is_there:  # first: most programs need not load the other API
        return False
    # That a module is used does not say for what.
    return find("v1", path).is_there and module_at("v1", path) is None


def nearest(api: API, path: str) -> str:
    """Say what berth has instead of a name that it has not; nothing if there is none.

    >>> nearest("v2", "Session"), nearest("v2", "nn.sigmod")
    ('berth has tf.compat.v1.Session.', "Did you mean 'nn.sigmoid'?")
    """
    if api == "v2" and path.partition(".")[0] in OF_KERAS:
        return f"It is the package Keras: {INSTALL}."
    substitute = instead_of(path)
    if substitute is not None:
        return substitute
    around, _, last = path.rpartition(".")
    under = "compat.v1." if around.startswith("compat.v1") else ""
    known = (f"{under}{place}" for place in _all_paths("v1" if under else api))
    places = [place for place in known if place.rpartition(".")[2] == last]
    if places:
        return f"berth has {' and '.join(f'tf.{place}' for place in places[:2])}."
    module = module_at(api, around)
    if module is None:
        return ""
    prefix = f"{around}." if around else ""
    return did_you_mean(path, [f"{prefix}{name}" for name in public_names(module)])


def _all_paths(api: API) -> Iterator[str]:
    """List every name, those of the API itself first, and of TensorFlow 1 last."""
    root = module_at(api, "")
    assert root is not None
    names = public_names(root)
    yield from names
    for name in names:
        inner = module_at(api, name)
        if inner is not None and name not in ("compat", "nest"):
            yield from (f"{name}.{each}" for each in public_names(inner))
    if api == "v2":
        yield from (f"compat.v1.{name}" for name in _all_paths("v1"))
