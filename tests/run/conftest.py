"""Sessions for tests of what runs a plan: on two simulated GPUs, with a graph of their own."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf


@pytest.fixture
def session(sim):
    """A session of a new graph, on a machine with two GPUs of 1 GiB."""
    sim("2xT4:1GiB")
    with tf.Graph().as_default(), tf.Session() as session:
        yield session
