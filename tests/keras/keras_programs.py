"""Programs of Keras whose losses and predictions are compared with TensorFlow's.

    python -m tests.keras.keras_programs

run by a Python that has tensorflow and keras writes ``tensorflow.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

VALUES = Path(__file__).with_name("tensorflow.json")


def _data(*shape: int) -> tuple[Any, Any]:
    draw = np.random.RandomState(0)
    x = draw.rand(32, *shape).astype("float32")
    return x, x.reshape(32, -1).sum(1, keepdims=True)


def dense(keras: Any) -> list[Any]:
    return [
        keras.Input((4,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dense(1),
    ]


def lstm(keras: Any) -> list[Any]:
    return [keras.Input((5, 3)), keras.layers.LSTM(6), keras.layers.Dense(1)]


def convolution(keras: Any) -> list[Any]:
    return [
        keras.Input((6, 6, 2)),
        keras.layers.Conv2D(4, 3, padding="same", use_bias=False),
        keras.layers.BatchNormalization(),
        keras.layers.ReLU(),
        keras.layers.MaxPooling2D(),
        keras.layers.Dropout(0.25),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]


MODELS = {"dense": dense, "lstm": lstm, "convolution": convolution}


def run(keras: Any, name: str) -> dict[str, Any]:
    """Train a model for three epochs; return losses, an evaluation and predictions."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    layers = MODELS[name](keras)
    model = keras.Sequential(layers)
    x, y = _data(*layers[0].shape[1:])
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, validation_split=0.25)
    return {
        "history": {key: list(map(float, values)) for key, values in history.history.items()},
        "evaluate": list(map(float, model.evaluate(x, y, verbose=0))),
        "predict": model.predict(x[:4], verbose=0).reshape(-1).tolist(),
    }


if __name__ == "__main__":
    import keras

    values = {name: run(keras, name) for name in MODELS}
    VALUES.write_text(json.dumps(values, indent=1) + "\n")
