"""The shim: a module `tensorflow`, and those below it, with berth's public names.

`become_tensorflow` makes a `Shim` of the module that a program imports as TensorFlow, of
the version that BERTH_API names (v1 or v2). It has the names of berth's public API and no
others; a name that is not there is an error that says so, at which line, and what there is
instead. Modules below are imported when they are asked for, by attribute too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any, cast

from berth.callsite import call_site
from berth.eager.mode import start_with_graphs
from berth.errors import explain
from berth.front.context import context
from berth.keras.package import api_folder
from berth.keras_import import is_only_asked
from berth.tools.run.module_names import public_names
from berth.tools.run.names import (
    API,
    OF_KERAS,
    ROOT,
    find,
    is_folder,
    module_at,
    nearest,
    version_names,
)


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
        path = f"{self._place}.{name}".lstrip(".")
        if name.startswith("__") and path != "__internal__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if is_folder(path) or module_at(self._api, path) is not None:
            value: Any = import_module(f"{ROOT}.{path}")
        elif path in OF_KERAS and self._api == "v2" and find(self._api, path).is_there:
            keras = import_module(f"{ROOT}.keras")
            value = keras if path == "keras" else getattr(keras, path)
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
        if not name.startswith(f"{ROOT}.") or name.startswith(f"{ROOT}.keras."):
            return None  # below tensorflow.keras are files of Keras's
        place = name[len(ROOT) + 1 :]
        if place == "keras" and self._api == "v2" and (folders := api_folder()):
            return spec_from_file_location(
                name, f"{folders[0]}/__init__.py", submodule_search_locations=folders
            )
        if not is_folder(place) and module_at(self._api, place) is None:
            if is_only_asked():
                return None
            raise ModuleNotFoundError(_complaint(f"No module named {name!r}", self._api, place))
        return ModuleSpec(name, cast(Any, self), is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Shim(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert isinstance(module, Shim), "what `create_module` has made"
        module.provide(self._api, module._place)


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
