"""The states of random operations in an eager program: kept where a later call continues them."""

from __future__ import annotations

import pytest

import berth as tf
from berth.eager.mode import eager_builder

# By TensorFlow 2.21, after set_seed(7).
OF_TENSORFLOW = [0.834453821182251, 0.01905345916748047, 0.25153684616088867]
OF_TENSORFLOW_WITH_SEED_3 = [0.4010878801345825, 0.7061948776245117, 0.3426402807235718]


@pytest.mark.usefixtures("eager")
def test_calls_without_a_seed_keep_no_state():
    tf.random.set_seed(7)
    drawn = [float(tf.random.uniform([])) for _ in range(50)]
    assert drawn[:3] == OF_TENSORFLOW
    assert not eager_builder()._generators._states
    assert len(set(drawn)) == 50


@pytest.mark.usefixtures("eager")
def test_calls_with_a_seed_continue_each_other():
    tf.random.set_seed(7)
    first = [float(tf.random.uniform([], seed=3)) for _ in range(3)]
    assert len(eager_builder()._generators._states) == 1
    assert first == OF_TENSORFLOW_WITH_SEED_3
