"""The shim: a module `tensorflow`, and those below it, with berth's public names.

`become_tensorflow` makes a `Shim` of the module that a program imports as TensorFlow, of
the version that BERTH_API names (v1 or v2). It has the names of berth's public API and no
others; a name that is not there is an error that says so, at which line, and what there is
instead. Modules below are imported when they are asked for, by attribute too.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, cast

from berth.callsite import call_site
from berth.eager.mode import start_with_graphs
from berth.errors import explain
from berth.front.context import context
from berth.tools.run.module_names import public_names
from berth.tools.run.names import API, ROOT, is_folder, module_at, nearest, version_names


class Shim(ModuleType):
    """One of TensorFlow's modules, with what berth has of it."""

    _api: API
    _module: ModuleType | None

    def provide(self, api: API, place: str) -> None:
        """Provide a module's names; `place` is the path from the module `tensorflow` on."""
        self._api = api
        self._module = module_at(api, place)
        self.__doc__ = self._module.__doc__ if self._module else "Modules of TensorFlow."
        self.__dict__.update(version_names(api, place))

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
            value: Any = import_module(f"{ROOT}.{path}")
        elif self._module is not None and name in public_names(self._module):
            value = getattr(self._module, name)
        else:
            first_line = f"module {self.__name__!r} has no attribute {name!r}"
            # With a module and no name, Python does not add a suggestion of its own.
            raise AttributeError(_complaint(first_line, self._api, path), obj=self)
        setattr(self, name, value)  # from now on it is found at once
        return value

    def __dir__(self) -> list[str]:
        names = public_names(self._module) if self._module else ()
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
            if _is_only_asked():
                return None
            raise ModuleNotFoundError(_complaint(f"No module named {name!r}", self._api, place))
        return ModuleSpec(name, cast(Any, self), is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Shim(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert isinstance(module, Shim), "what `create_module` has made"
        module.provide(self._api, module._place)


def _is_only_asked() -> bool:
    """Tell whether a module is looked for by `importlib.util.find_spec`, not imported."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name in ("_find_spec", "find_spec"):
        if frame.f_code is importlib.util.find_spec.__code__:
            return True
        frame = frame.f_back
    return False


def become_tensorflow(module: ModuleType) -> None:
    """Make the module that is being imported as `tensorflow` a `Shim`.

    It stays the same object: other threads may have it already, and wait for it to be done.
    """
    api: API = "v1" if context().asked_api() == "v1" else "v2"
    module.__class__ = Shim
    assert isinstance(module, Shim)
    module.provide(api, "")
    if api == "v1":
        start_with_graphs()
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):  # if not reloaded
        sys.meta_path.insert(0, cast(Any, _Finder(api)))


def _complaint(first_line: str, api: API, path: str) -> str:
    """Say that berth does not have a name, where it is asked for, and what there is."""
    return explain(
        first_line,
        f"{call_site().place} asks for tf.{path}, which berth does not have. "
        f"{nearest(api, path)}".rstrip(),
    )
