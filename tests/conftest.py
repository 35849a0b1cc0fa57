"""Every test gets a context of its own, with no environment but what it asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import settings

from berth.front.context import Context

settings.register_profile("ci", max_examples=100, deadline=None)
settings.register_profile("deep", max_examples=10_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def sim() -> Iterator[Callable[..., Context]]:
    """Start a fresh program: ``sim("2xT4", CUDA_VISIBLE_DEVICES="1")``.

    It becomes the default context, on that simulated machine (none by default) and with
    those environment variables only, until the next call or the end of the test.
    """
    with ExitStack() as stack:

        def start(machine: str | None = None, **environ: str) -> Context:
            if machine is not None:
                environ["BERTH_SIM"] = machine
            return stack.enter_context(Context(environ).as_default())

        start()
        yield start
