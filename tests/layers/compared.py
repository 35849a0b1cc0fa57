"""Programs on small data, run by berth and by TensorFlow: what each of them gives.

A program is a function of `tf` that builds a graph and returns tensors, which are run one after
the other. What TensorFlow gives for a set of programs is kept in a file beside it:

    TF_USE_LEGACY_KERAS=1 python -m tests.layers.compared losses

run by a Python that has tensorflow and tf_keras writes ``losses.json`` for ``loss_programs.py``.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np

COLLECTIONS = (
    "variables",
    "trainable_variables",
    "local_variables",
    "metric_variables",
    "model_variables",
    "losses",
    "regularization_losses",
    "update_ops",
    "wanted",
)


def numbers(shape, step, period):
    """Return an array of numbers between -0.9 and 1.1, the same in every run."""
    count = int(np.prod(shape))
    scaled = np.arange(count) * step % period / (period / 2) - 0.9
    return scaled.astype(np.float32).reshape(shape)


def plain(value):
    """Return the first line of a text; TensorFlow 1 prints an unknown size as a question mark."""
    return str(value).split("\n")[0].replace("?", "None")


def evaluate(tf, build):
    """Build a program in a graph of its own, and run what it returns."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        try:
            tensors = build(tf)
        except Exception as error:
            return {"error": [type(error).__name__, plain(error)]}
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            values = [np.asarray(session.run(each)) for each in tensors]
        collections = {
            key: [each.name for each in graph.get_collection(key)]
            for key in COLLECTIONS
            if graph.get_collection(key)
        }
        return {
            "names": [each.name for each in tensors if not each.name.startswith("gradients")],
            "shapes": [list(value.shape) for value in values],
            "static_shapes": [plain(each.shape) for each in tensors],
            "values": [np.round(value.astype(float), 6).ravel().tolist() for value in values],
            "collections": collections,
        }


def kept(subject):
    """Return what TensorFlow gives for the programs of a subject."""
    return json.loads(Path(__file__).with_name(f"{subject}.json").read_text())


def check(found, wanted, names=True, tolerance=1e-5):
    """Compare what berth gives with what TensorFlow gives."""
    assert found.get("error") == wanted.get("error")
    if "error" in wanted:
        return
    for key in ("shapes", "static_shapes", *(("names", "collections") if names else ())):
        assert found[key] == wanted[key], key
    for one, other in zip(found["values"], wanted["values"], strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    for subject in sys.argv[1:]:
        cases = importlib.import_module(f"tests.layers.{subject}_programs").CASES
        gave = {name: evaluate(tensorflow, build) for name, build in cases.items()}
        path = Path(__file__).with_name(f"{subject}.json")
        lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in gave.items())
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
