"""Fixtures of the parity tests."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from berth.front.context import context


@pytest.fixture
def in_thread(sim) -> Callable:
    """Call a function in another thread of the same program; return its result."""

    def call(function: Callable):
        program = context()

        def inside():
            with program.as_default():
                return function()

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(inside).result()

    return call
