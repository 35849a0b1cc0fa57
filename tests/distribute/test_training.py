"""Training on replicas: the losses are those of one device with the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")
BATCH = 12
LOSSES = [
    0.5036195516586304,
    1.5213032960891724,
    0.29438042640686035,
    0.47992151975631714,
    1.4858609437942505,
    0.2951781749725342,
]
"""Those of TensorFlow, with two replicas."""


def train(strategy: Any, n_steps: int = 6) -> list[float]:
    """Train a small network; return the loss of each step."""
    random = np.random.RandomState(0)
    x = random.randn(3 * BATCH, 5).astype("f")
    y = (x[:, :1] * x[:, 1:2]).astype("f")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat()
    with strategy.scope():
        weights = [
            tf.Variable(random.randn(*shape).astype("f") * 0.1)
            for shape in ((5, 300), (300,), (300, 1))
        ]
        momenta = [tf.Variable(tf.zeros(w.shape)) for w in weights]

    def replica_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(x, weights[0]) + weights[1])
            error = tf.matmul(hidden, weights[2]) - y
            loss = tf.reduce_sum(tf.square(error)) / BATCH
        gradients = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        for w, m, g in zip(weights, momenta, context.all_reduce("SUM", gradients), strict=True):
            m.assign(0.9 * m + g)
            w.assign_sub(0.002 * m)
        return loss

    @tf.function
    def step(x: Any, y: Any) -> Any:
        losses = strategy.run(replica_step, args=(x, y))
        return strategy.reduce("SUM", losses, axis=None)

    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    return [float(step(*next(iterator))) for _ in range(n_steps)]


@pytest.mark.parametrize("reduction", ["NcclAllReduce", "ReductionToOneDevice"])
@pytest.mark.parametrize("n_gpus", [1, 2, 4])
def test_losses_are_those_of_one_device(
    sim: Callable[..., Any], n_gpus: int, reduction: str
) -> None:
    sim("4xT4")
    expected = train(tf.distribute.OneDeviceStrategy("GPU:0"))
    devices = [f"GPU:{k}" for k in range(n_gpus)]
    chosen = getattr(tf.distribute, reduction)()
    trained = train(tf.distribute.MirroredStrategy(devices, chosen))
    np.testing.assert_allclose(trained, expected, rtol=2e-6)
    np.testing.assert_allclose(trained, LOSSES, rtol=1e-5)
