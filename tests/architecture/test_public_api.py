"""The public lists are true, and complete."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

import berth

PUBLIC = [
    "berth",
    "berth.bitwise",
    "berth.compat.v1",
    "berth.compat.v1.app",
    "berth.compat.v1.contrib.eager",
    "berth.compat.v1.contrib.framework",
    "berth.compat.v1.contrib.layers",
    "berth.compat.v1.contrib.layers.utils",
    "berth.compat.v1.contrib.losses",
    "berth.compat.v1.contrib.rnn",
    "berth.compat.v1.contrib.slim",
    "berth.compat.v1.contrib.slim.losses",
    "berth.compat.v1.contrib.slim.utils",
    "berth.compat.v1.flags",
    "berth.compat.v1.image",
    "berth.compat.v1.initializers",
    "berth.compat.v1.linalg",
    "berth.compat.v1.logging",
    "berth.compat.v1.losses",
    "berth.compat.v1.math",
    "berth.compat.v1.math.special",
    "berth.compat.v1.metrics",
    "berth.compat.v1.nn",
    "berth.compat.v1.nn.experimental",
    "berth.compat.v1.nn.rnn_cell",
    "berth.compat.v1.quantization",
    "berth.compat.v1.random",
    "berth.compat.v1.random.experimental",
    "berth.compat.v1.signal",
    "berth.compat.v1.spectral",
    "berth.compat.v1.strings",
    "berth.compat.v1.train",
    "berth.config",
    "berth.config.experimental",
    "berth.config.optimizer",
    "berth.config.threading",
    "berth.debugging",
    "berth.device_lib",
    "berth.dtypes",
    "berth.experimental",
    "berth.experimental.dlpack",
    "berth.image",
    "berth.initializers",
    "berth.linalg",
    "berth.math",
    "berth.math.special",
    "berth.nest",
    "berth.nn",
    "berth.nn.experimental",
    "berth.quantization",
    "berth.random",
    "berth.random.experimental",
    "berth.signal",
    "berth.strings",
    "berth.sysconfig",
    "berth.test",
    "berth.timeline",
]
ROOT = Path(__file__).parents[2]
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(berth.__path__, "berth.")
    if not info.name.endswith("__main__")
)


@pytest.fixture(scope="module")
def make_api() -> ModuleType:
    script = ROOT / "dev" / "make_api.py"
    spec = importlib.util.spec_from_file_location("make_api", script)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load_everything()
    return module


def test_public_modules_are_current(make_api):
    """Run `make api` if this fails: it writes them."""
    stale = [p for p in make_api.public_modules() if p.read_text() != make_api.current(p)]
    assert stale == []


def test_every_declared_name_is_public(make_api):
    for declared in make_api.DECLARED:
        owner, _, name = declared.path.rpartition(".")
        root = importlib.import_module("berth" if declared.api == "v2" else "berth.compat.v1")
        module = attrgetter(owner)(root) if owner else root
        source = importlib.import_module(declared.module)
        assert getattr(module, name) is getattr(source, declared.attribute), declared


@pytest.mark.parametrize("name", PUBLIC)
def test_listed_names_exist(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        assert hasattr(module, public), f"{name}.{public}"


@pytest.mark.parametrize("name", PUBLIC)
def test_functions_are_in_the_module_s_dictionary(name, make_api):
    """So that `dir`, completion and `vars` find them; submodules may be loaded later.

    So may the few names whose module is one that `import berth` leaves out.
    """
    module = importlib.import_module(name)
    names, lazy = set(make_api.names_of(name)), set(vars(module).get("_LAZY_NAMES", ()))
    assert names <= set(dir(module))
    assert names - lazy <= set(vars(module))


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
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for each in list(vars(module).values()):
        # Functions that `berth.ops.declare` made: doctest finds only those written here.
        made = inspect.isfunction(each) and each.__globals__ is not vars(module)
        if made and each.__module__ == name:
            for test in doctest.DocTestFinder().find(each, each.__name__, globs=vars(module)):
                runner.run(test)
    assert runner.failures == 0


def test_version_is_the_distribution_s():
    from importlib.metadata import version

    assert version("berth") == berth.__version__


@pytest.mark.parametrize("name", ["berth", "berth.compat.v1"])
def test_modules_that_are_loaded_later_are_public(name):
    module = importlib.import_module(name)
    assert set(module._LAZY_MODULES) <= set(module.__all__)
