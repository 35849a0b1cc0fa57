"""The switches of TensorFlow 1 between eager programs and graphs."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf
from berth.eager.mode import set_eager


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("switch", "is_eager"),
    [
        (tf.enable_eager_execution, True),
        (tf.enable_v2_behavior, True),
        (tf.disable_eager_execution, False),
        (tf.disable_v2_behavior, False),
    ],
)
def test_switch_sets_the_mode(switch, is_eager, before):
    set_eager(before)
    assert switch() is None
    assert tf.executing_eagerly() is is_eager
