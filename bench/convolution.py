"""Convolutions, pools and a training step of the CIFAR-10 model: berth beside TensorFlow.

``convolution.py [--rounds 5] [words]`` times the cases whose names contain one of the
words. The sides run alternately, each in a process of its own; a time is the smallest of
all, a ratio that of the smallest. BERTH_BENCH_VENV says where the peer's virtual environment
is, as for ``run.py``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sides import NO_GPUS

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
PEER_PYTHON = Path(os.environ.get("BERTH_BENCH_VENV", CACHE / "berth-bench")) / "bin/python"
N_THREADS = 2
BATCH = 128
SECONDS = 1.0
"""How long a case is repeated in each round."""

Case = Callable[[Any, Callable[..., Any]], Any]
"""Builds what is timed, of an API (TensorFlow 1's names) and a maker of variables."""


def face_of(module: str) -> Any:
    """Return TensorFlow 1's names, and the operations of gradients as ``back``."""
    if module == "berth":
        return _berth()
    tf = importlib.import_module("tensorflow")
    raw = tf.raw_ops
    back = SimpleNamespace(
        max_pool=lambda x, y, g, **sizes: raw.MaxPoolGrad(
            orig_input=x, orig_output=y, grad=g, **sizes
        ),
        lrn=lambda x, y, g, **attrs: raw.LRNGrad(
            input_grads=g, input_image=x, output_image=y, **attrs
        ),
        avg_pool=lambda dims, g, **sizes: raw.AvgPoolGrad(
            orig_input_shape=dims, grad=g, **sizes
        ),
    )
    tf.compat.v1.disable_v2_behavior()
    v1 = tf.compat.v1
    return SimpleNamespace(tf=v1, nn=v1.nn, back=back, gradients=v1.gradients)


def _berth() -> Any:
    tf = importlib.import_module("berth.compat.v1")
    apply = importlib.import_module("berth.ops.builder").apply
    lrn, pooling_ops = (
        importlib.import_module(f"berth.ops.nn.{module}") for module in ("lrn", "pooling_ops")
    )
    sizes = {"explicit_paddings": [], "data_format": "NHWC"}
    back = SimpleNamespace(
        max_pool=lambda x, y, g, **a: apply(pooling_ops.MAX_POOL_GRAD, (x, y, g), a | sizes),
        lrn=lambda x, y, g, **a: apply(lrn.LRN_GRAD, (g, x, y), a),
        avg_pool=lambda dims, g, **a: apply(pooling_ops.AVG_POOL_GRAD, (dims, g), a | sizes),
    )
    return SimpleNamespace(tf=tf, nn=tf.nn, back=back, gradients=tf.gradients)


# --- cases --------------------------------------------------------------------------------

ONES = [1, 1, 1, 1]
POOL = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
NORM = {"depth_radius": 4, "bias": 1.0, "alpha": 0.001 / 9, "beta": 0.75}


def _convolution(size: int, channels: int, way: str) -> Case:
    images, filters = (BATCH, size, size, channels), (5, 5, channels, 64)
    results = (BATCH, size, size, 64)

    def forwards(api: Any, variable: Callable[..., Any]) -> Any:
        return api.nn.conv2d(variable(*images), variable(*filters), ONES, "SAME")

    def to_input(api: Any, variable: Callable[..., Any]) -> Any:
        return api.nn.conv2d_backprop_input(
            images, variable(*filters), variable(*results), ONES, "SAME"
        )

    def to_filter(api: Any, variable: Callable[..., Any]) -> Any:
        return api.nn.conv2d_backprop_filter(
            variable(*images), filters, variable(*results), ONES, "SAME"
        )

    return {"forwards": forwards, "to input": to_input, "to filter": to_filter}[way]


def _three_by_three(api: Any, variable: Callable[..., Any]) -> Any:
    images, filters = variable(32, 28, 28, 128), variable(3, 3, 128, 128)
    return api.nn.conv2d(images, filters, ONES, "SAME")


def _one_by_one(api: Any, variable: Callable[..., Any]) -> Any:
    return api.nn.conv2d(variable(32, 28, 28, 128), variable(1, 1, 128, 256), ONES, "SAME")


def _stem(api: Any, variable: Callable[..., Any]) -> Any:
    images, filters = variable(8, 224, 224, 3), variable(7, 7, 3, 64)
    return api.nn.conv2d(images, filters, [1, 2, 2, 1], "SAME")


def _max_pool(api: Any, variable: Callable[..., Any]) -> Any:
    return api.nn.max_pool(variable(BATCH, 24, 24, 64), **POOL)


def _max_pool_gradient(api: Any, variable: Callable[..., Any]) -> Any:
    images = variable(BATCH, 24, 24, 64)
    largest = variable(of=api.nn.max_pool(images, **POOL))
    return api.back.max_pool(images, largest, variable(BATCH, 12, 12, 64), **POOL)


def _avg_pool(api: Any, variable: Callable[..., Any]) -> Any:
    return api.nn.avg_pool(variable(BATCH, 24, 24, 64), **POOL)


def _avg_pool_gradient(api: Any, variable: Callable[..., Any]) -> Any:
    return api.back.avg_pool([BATCH, 24, 24, 64], variable(BATCH, 12, 12, 64), **POOL)


def _lrn(api: Any, variable: Callable[..., Any]) -> Any:
    return api.nn.lrn(variable(BATCH, 12, 12, 64), 4, 1.0, 0.001 / 9, 0.75)


def _lrn_gradient(api: Any, variable: Callable[..., Any]) -> Any:
    images = variable(BATCH, 12, 12, 64)
    normalized = variable(of=api.nn.lrn(images, 4, 1.0, 0.001 / 9, 0.75))
    return api.back.lrn(images, normalized, variable(BATCH, 12, 12, 64), **NORM)


def _depthwise(way: str) -> Case:
    dims, filters = (BATCH, 12, 12, 64), (5, 5, 64, 1)

    def case(api: Any, variable: Callable[..., Any]) -> Any:
        nn = api.nn
        if way == "forwards":
            return nn.depthwise_conv2d(variable(*dims), variable(*filters), ONES, "SAME")
        if way == "to input":
            weights, grads = variable(*filters), variable(*dims)
            return nn.depthwise_conv2d_backprop_input(dims, weights, grads, ONES, "SAME")
        images, grads = variable(*dims), variable(*dims)
        return nn.depthwise_conv2d_backprop_filter(images, filters, grads, ONES, "SAME")

    return case


def _training_step(api: Any, variable: Callable[..., Any]) -> Any:
    """One step of gradient descent on the CIFAR-10 tutorial's model."""
    tf, nn = api.tf, api.nn
    weights: list[Any] = []

    def weight(*dims: int, scale: float = 0.05) -> Any:
        weights.append(variable(*dims, scale=scale))
        return weights[-1]

    def layer(x: Any, n_features: int) -> Any:
        return tf.matmul(x, weight(x.shape[1], n_features, scale=0.04)) + weight(n_features)

    images = variable(BATCH, 24, 24, 3)
    labels = tf.constant(np.arange(BATCH) % 10, tf.int64)
    x = nn.conv2d(images, weight(5, 5, 3, 64), ONES, "SAME")
    x = nn.max_pool(nn.relu(nn.bias_add(x, weight(64))), **POOL)
    x = nn.conv2d(nn.lrn(x, **NORM), weight(5, 5, 64, 64), ONES, "SAME")
    x = nn.lrn(nn.relu(nn.bias_add(x, weight(64))), **NORM)
    x = tf.reshape(nn.max_pool(x, **POOL), [BATCH, 6 * 6 * 64])
    x = nn.relu(layer(nn.relu(layer(x, 384)), 192))
    logits = layer(x, 10)
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    decay = sum(0.004 * nn.l2_loss(w) for w in weights if w.shape[0] in (2304, 384))
    grads = api.gradients(tf.reduce_mean(losses) + decay, weights)
    steps = zip(weights, grads, strict=True)
    return tf.group(*(tf.assign_sub(w, 0.01 * grad) for w, grad in steps))


LAYER = "conv 5x5, 64 to 64, 12x12"
FIRST = "conv 5x5, 3 to 64, 24x24"
CASES: Mapping[str, Case] = {
    LAYER: _convolution(12, 64, "forwards"),
    f"{LAYER}, to input": _convolution(12, 64, "to input"),
    f"{LAYER}, to filter": _convolution(12, 64, "to filter"),
    FIRST: _convolution(24, 3, "forwards"),
    f"{FIRST}, to filter": _convolution(24, 3, "to filter"),
    "conv 3x3, 128 to 128, 28x28, batch 32": _three_by_three,
    "conv 1x1, 128 to 256, 28x28, batch 32": _one_by_one,
    "conv 7x7/2, 3 to 64, 224x224, batch 8": _stem,
    "max_pool 3x3/2, 24x24x64": _max_pool,
    "max_pool gradient": _max_pool_gradient,
    "avg_pool 3x3/2, 24x24x64": _avg_pool,
    "avg_pool gradient": _avg_pool_gradient,
    "lrn, 12x12x64": _lrn,
    "lrn gradient": _lrn_gradient,
    "depthwise 5x5, 12x12x64": _depthwise("forwards"),
    "depthwise, to input": _depthwise("to input"),
    "depthwise, to filter": _depthwise("to filter"),
    "CIFAR-10 training step, batch 128": _training_step,
}

# --- timing -------------------------------------------------------------------------------


def milliseconds(api: Any, case: Case) -> float:
    """Return the shortest time that a case takes."""
    tf = api.tf
    generator = np.random.default_rng(0)
    with tf.Graph().as_default():
        made = []

        def variable(*dims: int, of: Any = None, scale: float = 1.0) -> Any:
            start = generator.standard_normal(dims).astype(np.float32) * scale
            made.append(tf.Variable(start if of is None else of, name="v"))
            return made[-1]

        result = case(api, variable)
        target = getattr(result, "op", result)
        config = tf.ConfigProto(
            intra_op_parallelism_threads=N_THREADS, inter_op_parallelism_threads=1
        )
        with tf.Session(config=config) as session:
            for each in made:
                session.run(each.initializer)
            times: list[float] = []
            end = time.perf_counter() + SECONDS
            while len(times) < 3 or time.perf_counter() < end:
                start = time.perf_counter()
                session.run(target)
                times.append(time.perf_counter() - start)
    return 1000 * min(times)


def measure(module: str, names: list[str]) -> None:
    """Time cases in this process, and print them as JSON."""
    api = face_of(module)
    print(json.dumps({name: milliseconds(api, CASES[name]) for name in names}))


def ask(python: str | Path, module: str, names: list[str]) -> dict[str, float]:
    """Let a Python time cases."""
    command = [str(python), __file__, "--side", module, *names]
    done = subprocess.run(command, env=NO_GPUS, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Time both sides in turn, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of the names of the cases to time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        measure(options.side, options.words)
        return
    words = options.words or [""]
    names = [name for name in CASES if any(word in name for word in words)]
    sides: dict[str, str | Path] = {"berth": sys.executable}
    if PEER_PYTHON.exists():
        sides["tensorflow"] = PEER_PYTHON
    best: dict[str, dict[str, float]] = {side: {} for side in sides}
    for _ in range(options.rounds):
        for side, python in sides.items():
            for name, found in ask(python, side, names).items():
                best[side][name] = min(found, best[side].get(name, found))
    print(f"{'':40}{'berth':>10}{'peer':>10}{'ratio':>8}")
    for name in names:
        ours, theirs = best["berth"][name], best.get("tensorflow", {}).get(name)
        beside = f"{theirs:8.2f}ms{ours / theirs:8.2f}" if theirs else ""
        print(f"{name:40}{ours:8.2f}ms{beside}")


if __name__ == "__main__":
    main()
