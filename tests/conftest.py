"""Every test gets a context of its own, with no environment but what it asks for."""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: the cores have tests to run

import pytest
from hypothesis import settings

from berth.eager.mode import set_eager
from berth.front.context import Context

# Simulated machines are shared between processes: those of this run keep to themselves.
LEDGERS = tempfile.mkdtemp(prefix="berth-tests-")
os.environ["BERTH_LEDGER_DIR"] = LEDGERS
atexit.register(shutil.rmtree, LEDGERS, ignore_errors=True)

settings.register_profile("ci", max_examples=60, deadline=None)
settings.register_profile("deep", max_examples=10_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what pytest knows of thousands of tests."""
    gc.collect()
    gc.freeze()


_n_tests = itertools.count(1)


def pytest_runtest_logfinish() -> None:
    """Let it pass over the reports of tests, too, which pytest keeps."""
    if next(_n_tests) % 500 == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def sim() -> Iterator[Callable[..., Context]]:
    """Start a fresh program: ``sim("2xT4", CUDA_VISIBLE_DEVICES="1")``.

    It becomes the default context, on that simulated machine (none by default) and with
    those environment variables only, until the next call or the end of the test.
    """
    with ExitStack() as stack:

        def start(machine: str | None = None, **environ: str) -> Context:
            stack.pop_all().close()  # the program before this one has ended
            if machine is not None:
                environ["BERTH_SIM"] = machine
            program = Context({"BERTH_LEDGER_DIR": LEDGERS, **environ})
            stack.callback(program.reset)
            return stack.enter_context(program.as_default())

        start()
        before = set_eager(False)  # whichever API was imported first
        yield start
        set_eager(before)


@pytest.fixture
def eager(sim: Callable[..., Context]) -> Iterator[None]:
    """Compute operations as they are written: other tests are of TensorFlow 1."""
    before = set_eager(True)
    try:
        yield
    finally:
        set_eager(before)
