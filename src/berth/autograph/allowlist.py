"""What is not converted: berth, the standard library, and packages on TensorFlow's list."""

from __future__ import annotations

import os
import sysconfig
from types import CodeType, FunctionType

_PACKAGES = (
    "berth",
    "builtins",  # of code that a program makes with `exec`, without a name
    "collections",
    "ipdb",
    "keras",
    "matplotlib",
    "mock",
    "numpy",
    "pandas",
    "PIL",
    "absl.logging",
    "tensorflow",
    "tensorflow_datasets.core",
    "tensorflow_probability",
    "tf_keras",
)
_BERTH = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = tuple(
    dict.fromkeys(
        os.path.realpath(sysconfig.get_path(kind)) + os.sep for kind in ("stdlib", "platstdlib")
    )
)
_INSTALLED = ("site-packages", "dist-packages")
_frozen: dict[str, bool] = {}
"""What was found for a file."""


def is_left_alone(function: FunctionType) -> bool:
    """Tell whether a function belongs to what AutoGraph does not convert."""
    module = getattr(function, "__module__", None) or ""
    return _is_package(module) or is_own(function.__code__) or _is_library(function.__code__)


def is_own(code: CodeType) -> bool:
    """Tell whether code is berth's own."""
    return code.co_filename.startswith(_BERTH)


def _is_package(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _PACKAGES)


def _is_library(code: CodeType) -> bool:
    file = code.co_filename
    known = _frozen.get(file)
    if known is None:
        if len(_frozen) > 10_000:  # a program that makes files without end
            _frozen.clear()
        known = _frozen[file] = _is_of_library(file)
    return known


def _is_of_library(file: str) -> bool:
    if file.startswith("<frozen "):
        return True
    path = os.path.realpath(file)
    if not path.startswith(_LIBRARY):
        return False
    return not any(f"{os.sep}{folder}{os.sep}" in path for folder in _INSTALLED)
