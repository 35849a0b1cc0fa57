"""Every test here has a default graph of its own, but those of eager programs."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph(sim, request):
    """Give each test a default graph of its own."""
    if "eager" in request.fixturenames:
        yield None
        return
    with tf.Graph().as_default() as graph:
        yield graph
