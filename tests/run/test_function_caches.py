"""Bounded caches of functions."""

from __future__ import annotations

import pytest

import berth as tf
from berth.functions.runtime import MAX_RUNNERS
from berth.lru import cache_info

pytestmark = pytest.mark.usefixtures("eager")


def _most_entries(name):
    return max(info.entries for info in cache_info() if info.name == name)


def test_functions_keep_few_runners():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def double(x):
        return x + x

    for size in [*range(1, 100), *range(1, 100)]:
        assert double(tf.ones([size])).shape == (size,)
    assert _most_entries("function runners") == MAX_RUNNERS
    assert _most_entries("runners") == MAX_RUNNERS
