"""berth in TensorFlow's place: the module `tensorflow` of a program, and those below it.

`take_the_place_of` puts a `StandIn` where a program looks for TensorFlow, of the version that
BERTH_API names (v1 or v2). It has the public names of berth's face and no others; a name that
is not there is an error that says so, at which line, and what there is instead. Modules
below are made when they are asked for, by attribute or by import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

from berth.callsite import call_site
from berth.errors import explain
from berth.front.context import context
from berth.front.mode import start_with_graphs
from berth.tools.run.names import (
    API,
    ROOT,
    is_folder,
    module_at,
    nearest,
    public_names,
    version_names,
)


class StandIn(ModuleType):
    """One of TensorFlow's modules, with what berth has of it."""

    def __init__(self, name: str, api: API, face: ModuleType | None) -> None:
        super().__init__(name, face.__doc__ if face else "Modules of TensorFlow.")
        self.__path__: list[str] = []  # so that modules below can be imported
        self._api = api
        self._face = face
        self.__dict__.update(version_names(api, self._place))

    @property
    def _place(self) -> str:
        """The path from the module `tensorflow` on."""
        return self.__name__[len(ROOT) + 1 :]

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # what `from tensorflow import *` asks for
            return dir(self)
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        path = f"{self._place}.{name}".lstrip(".")
        if is_folder(path) or module_at(self._api, path) is not None:
            value: Any = _module_below(self._api, path)
        elif self._face is not None and name in public_names(self._face):
            value = getattr(self._face, name)
        else:
            first_line = f"module {self.__name__!r} has no attribute {name!r}"
            # With a module and no name, Python does not add a suggestion of its own.
            raise AttributeError(_complaint(first_line, self._api, path), obj=self)
        setattr(self, name, value)  # from now on it is found at once
        return value

    def __dir__(self) -> list[str]:
        names = public_names(self._face) if self._face else ()
        return sorted(name for name in names if not name.startswith("_"))


class _Finder:
    """Imports the modules below `tensorflow`."""

    def __init__(self, api: API) -> None:
        self._api = api

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{ROOT}."):
            return None
        place = name[len(ROOT) + 1 :]
        if not is_folder(place) and module_at(self._api, place) is None:
            raise ModuleNotFoundError(_complaint(f"No module named {name!r}", self._api, place))
        return ModuleSpec(name, cast(Any, self), is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        place = spec.name[len(ROOT) + 1 :]
        return StandIn(spec.name, self._api, module_at(self._api, place))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing more: what it has is looked up."""


def _module_below(api: API, path: str) -> ModuleType:
    """Return the stand-in for a module below `tensorflow`."""
    name = f"{ROOT}.{path}"
    if name not in sys.modules:
        sys.modules[name] = StandIn(name, api, module_at(api, path))
    return sys.modules[name]


def take_the_place_of(name: str) -> None:
    """Put a stand-in where a module is being imported."""
    api: API = "v1" if context().asked_api() == "v1" else "v2"
    root = StandIn(name, api, module_at(api, ""))
    root.__spec__, root.__file__ = sys.modules[name].__spec__, sys.modules[name].__file__
    if api == "v1":
        start_with_graphs()
    sys.meta_path.insert(0, cast(Any, _Finder(api)))
    sys.modules[name] = root


def _complaint(first_line: str, api: API, path: str) -> str:
    """Say that berth does not have a name, where it is asked for, and what there is."""
    return explain(
        first_line,
        f"{call_site().place} asks for tf.{path}, which berth does not have. "
        f"{nearest(api, path)}".rstrip(),
    )
