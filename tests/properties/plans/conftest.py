"""Streams on which the laws of plans are checked."""

from __future__ import annotations

import functools

import pytest

import berth.compat.v1 as tf
from berth.backends.sim import SimBackend
from berth.run import executor
from tests.properties.plans.recipes import N_GPUS


@pytest.fixture(autouse=True, params=["at once", "put off", "by workers"])
def streams(request, sim, monkeypatch):
    """Run every law on streams that work at once, on those that wait, and in threads."""
    if request.param == "put off":
        lazy = functools.partial(SimBackend, lazy=True)
        monkeypatch.setattr("berth.front.context.SimBackend", lazy)
    if request.param == "by workers":
        monkeypatch.setattr(executor, "WORTH_A_THREAD", 0.0)
    # What is freed is filled with NaN, so that whoever still uses it gives himself away.
    sim(f"{N_GPUS}xT4", BERTH_SCRUB_MEMORY="1")
    tf.reset_default_graph()
