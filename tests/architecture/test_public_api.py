"""The public lists are true, and complete."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import berth

PUBLIC = [
    "berth",
    "berth.bitwise",
    "berth.both",
    "berth.both_math",
    "berth.compat.v1",
    "berth.compat.v1.initializers",
    "berth.compat.v1.linalg",
    "berth.compat.v1.math",
    "berth.compat.v1.nn",
    "berth.compat.v1.random",
    "berth.compat.v1.train",
    "berth.compat.v1.variables",
    "berth.config",
    "berth.config.experimental",
    "berth.config.threading",
    "berth.debugging",
    "berth.device_lib",
    "berth.dtypes",
    "berth.experimental",
    "berth.experimental.dlpack",
    "berth.initializers",
    "berth.linalg",
    "berth.math",
    "berth.nest",
    "berth.nn",
    "berth.random",
    "berth.strings",
    "berth.test",
    "berth.timeline",
]
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(berth.__path__, "berth.")
    if not info.name.endswith("__main__")
)


@pytest.mark.parametrize("name", PUBLIC)
def test_listed_names_exist(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        assert hasattr(module, public), f"{name}.{public}"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_functions_are_documented(name):
    module = importlib.import_module(name)
    undocumented = [
        public
        for public in module.__all__
        if callable(getattr(module, public)) and not getattr(module, public).__doc__
    ]
    assert undocumented == []


@pytest.mark.parametrize("name", PUBLIC)
def test_public_operations_have_an_example(name):
    module = importlib.import_module(name)
    functions = [getattr(module, public) for public in module.__all__]
    silent = [
        function.__name__
        for function in functions
        if inspect.isfunction(function) and function.__module__.startswith("berth.ops.")
        if ">>>" not in (function.__doc__ or "")
    ]
    assert silent == []


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_tell_the_truth(name, eager):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_version_is_the_distribution_s():
    from importlib.metadata import version

    assert version("berth") == berth.__version__
