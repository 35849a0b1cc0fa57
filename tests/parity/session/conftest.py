"""Every test here has a default graph of its own."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph(sim):
    """Give each test a default graph of its own."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph).as_default() as session:
        yield session
    session.close()
