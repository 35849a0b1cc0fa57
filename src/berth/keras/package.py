"""The package Keras: whether it is installed, which version, and how it is loaded on berth.

Keras imports its backend as ``tensorflow``. In a program that imports berth, that is berth's
package `tensorflow`, the one that `berth run` puts on the path, unless TensorFlow itself was
imported before.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from berth import config
from berth.callsite import pass_over
from berth.errors import explain
from berth.front.context import context

OLDEST, TOO_NEW = (3, 12), (4, 0)
"""The versions of Keras that are supported: from the first on, below the second."""
INSTALL = 'pip install "berth[keras]"'
"""The command that installs Keras."""
_ON_PATH = Path(config.__file__).parents[1] / "tools" / "run" / "on_path"


def supported() -> str:
    """Say which versions of Keras are supported."""
    return f"Keras {'.'.join(map(str, OLDEST))} or newer, below {'.'.join(map(str, TOO_NEW))}"


def api_folder() -> list[str]:
    """List the folder of the modules of ``tf.keras``, or nothing without the package."""
    spec = importlib.util.find_spec("keras")
    folders = spec.submodule_search_locations if spec is not None else None
    return [f"{folder}/_tf_keras/keras" for folder in folders or ()]


def load() -> ModuleType:
    """Import what ``tf.keras`` is: Keras's own module of that name."""
    if not api_folder():
        raise ImportError(
            explain("No module named 'keras'", f"tf.keras is the package Keras: {INSTALL}.")
        )
    if is_other(sys.modules.get("tensorflow")):
        raise ImportError(
            explain(
                "tf.keras would run on TensorFlow, and not on berth.",
                "TensorFlow was imported before, and a process has one package of that name. "
                "Import berth.keras first, or use `berth run`.",
            )
        )
    return importlib.import_module("keras._tf_keras.keras")


def prepare() -> None:
    """Prepare for the import of Keras: check its version, and be its ``tensorflow``."""
    if chosen_backend() not in (None, "tensorflow"):
        return
    if is_other(sys.modules.get("tensorflow")):
        return
    metadata: Any = importlib.import_module("importlib.metadata")  # which imports much
    check_version(metadata.version("keras"))
    context().choose_keras_backend()
    for name in ("keras", "optree"):  # a line of the user's is none of theirs
        spec = importlib.util.find_spec(name)
        for folder in (spec and spec.submodule_search_locations) or ():
            pass_over(folder)
    become_tensorflow()


def chosen_backend() -> str | None:
    """Return the backend that the user chose, by KERAS_BACKEND or in Keras's settings."""
    asked = context().keras_backend()
    if asked is not None:
        return asked
    home = context().keras_home()
    settings = (Path(home) if home else Path("~/.keras").expanduser()) / "keras.json"
    try:
        backend: str | None = json.loads(settings.read_text()).get("backend")
    except (OSError, ValueError, AttributeError):
        return None
    return backend


def check_version(version: str) -> None:
    """Raise ImportError for a Keras that is too old or too new."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if not OLDEST <= numbers < TOO_NEW:
        raise ImportError(
            explain(
                f"Keras {version} is not supported.",
                f"berth runs {supported()}: {INSTALL}.",
            )
        )


def is_other(module: Any) -> bool:
    """Tell whether a module `tensorflow` is another than berth's."""
    return module is not None and not hasattr(module, "_api")


def become_tensorflow() -> None:
    """Import berth's package `tensorflow`, also if TensorFlow is installed."""
    if "tensorflow" in sys.modules:
        return
    spec = PathFinder.find_spec("tensorflow", [str(_ON_PATH)])
    assert spec is not None, "berth's own package tensorflow"
    assert spec.loader is not None, "it is a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules["tensorflow"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["tensorflow"]
        raise
