"""Plans for tests: what a session would do, without doing it."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf


@pytest.fixture
def plan(sim):
    """Plan fetches on a machine with two GPUs: ``plan(fetches, feeds)``."""
    sim("2xT4")
    sessions = []

    def make(fetches, feeds=None):
        sessions.append(tf.Session())
        return sessions[-1].plan(fetches, feeds)

    with tf.Graph().as_default():
        yield make
    for session in sessions:
        session.close()
