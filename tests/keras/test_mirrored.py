"""Keras on MirroredStrategy: losses, metrics and predictions are TensorFlow's."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("keras")

PROGRAM = """
import json
import berth as tf
import keras
import numpy as np

tf.simulate("2xT4")
keras.utils.set_random_seed(1)
with tf.distribute.MirroredStrategy().scope():
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16, activation="relu"),
            layers.BatchNormalization(),
            layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
x = np.random.RandomState(0).randn(64, 8).astype("f")
y = x[:, :1] * 2
history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0).history
evaluated = model.evaluate(x, y, verbose=0)
predicted = model.predict(x, verbose=0)[:2].ravel().tolist()
copies = [
    [(copy.device[-5:], copy.numpy().tolist()) for copy in weight.value.values]
    for weight in [*model.trainable_weights, *model.optimizer.variables]
]
print(json.dumps([history, evaluated, predicted, copies]))
"""
HISTORY = {
    "loss": [4.312569618225098, 3.010385036468506, 2.2892532348632812],
    "mae": [1.686336636543274, 1.4024637937545776, 1.2200021743774414],
}
EVALUATED = [2.5921010971069336, 1.2924338579177856]
PREDICTED = [0.4252626299858093, 0.022006314247846603]
"""Those of TensorFlow 2.21 with two replicas, on two logical CPUs."""


def test_fit_equals_tensorflow():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    history, evaluated, predicted, copies = json.loads(done.stdout)
    for name, values in HISTORY.items():
        assert history[name] == pytest.approx(values, rel=2e-6)
    assert evaluated == pytest.approx(EVALUATED, rel=2e-6)
    assert predicted == pytest.approx(PREDICTED, abs=2e-6)
    for (first_device, first), (second_device, second) in copies:
        assert (first_device, second_device) == ("GPU:0", "GPU:1")
        assert first == second
