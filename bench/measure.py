"""One side of the benchmark: times cases in this process and prints them as JSON.

Run by bench/run.py, with berth's Python and with the peer's, for the cases that are named:
``measure.py berth "matmul 2048x2048"``. A case gets the module under test as ``tf``, does
the same on both sides, checks what comes out, and returns seconds: of a call, a node, an
operation, as its name says.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

Case = Callable[[Any], float]

STEPS = 1_000
CHAIN = 1_000
BUILT = 2_000
LARGE_GRAPH = 10_000
SIDE = 2048
N_FLOATS = 4_000_000
N_LAYERS = 40
N_UNITS = 16


def seconds_of(work: Callable[[], Any], n_calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(n_calls):
        work()
    return time.perf_counter() - start


def seconds_per_call(work: Callable[[], Any], at_least: float = 0.02) -> float:
    """Time a call: the median of 7 repetitions, each long enough for the clock to tell."""
    work()
    n_calls = 1
    while seconds_of(work, n_calls) < at_least:
        n_calls *= 4
    return statistics.median(seconds_of(work, n_calls) for _ in range(7)) / n_calls


# --- calls that need no graph -------------------------------------------------------------


def from_string(tf: Any) -> float:
    text = "/job:worker/replica:0/task:1/device:GPU:2"
    return seconds_per_call(lambda: tf.DeviceSpec.from_string(text))


def make_merged_spec(tf: Any) -> float:
    spec = tf.DeviceSpec.from_string("/job:worker/task:1")
    gpu = tf.DeviceSpec.from_string("/gpu:1")
    return seconds_per_call(lambda: spec.make_merged_spec(gpu))


def to_string(tf: Any) -> float:
    return seconds_per_call(tf.DeviceSpec.from_string("/job:worker/task:1").to_string)


def enter_scope(tf: Any) -> float:
    def scope() -> None:
        with tf.device("/cpu:0"):
            pass

    return seconds_per_call(scope)


def repeat_in_function(tf: Any) -> float:
    """Time a function whose `while` on tensors AutoGraph converted."""

    def total(n: Any) -> Any:
        s = 0
        i = 0
        while i < n:
            s += i * 2
            i += 1
        return s

    function, n = tf.function(total), tf.constant(STEPS)
    assert int(function(n)) == STEPS * (STEPS - 1)
    return seconds_per_call(lambda: function(n))


CALLS: dict[str, Case] = {
    "DeviceSpec.from_string": from_string,
    "DeviceSpec.make_merged_spec": make_merged_spec,
    "DeviceSpec.to_string": to_string,
    "config.list_physical_devices": lambda tf: seconds_per_call(
        tf.config.list_physical_devices
    ),
    "config.list_logical_devices": lambda tf: seconds_per_call(tf.config.list_logical_devices),
    "with tf.device('/cpu:0'): pass": enter_scope,
    "while loop of 1,000 steps, in a function": repeat_in_function,
}


# --- graphs and sessions ------------------------------------------------------------------


@contextmanager
def running(tf: Any) -> Iterator[Any]:
    """Open a session for what was built, with its variables initialised."""
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        yield sess


def chain(tf: Any, n_nodes: int) -> tuple[Any, Any]:
    """Build a chain of additions of a fed scalar; return what is fed, and the end."""
    fed = tf.placeholder(tf.float32, [])
    end = fed
    for _ in range(n_nodes):
        end = tf.add(end, fed)
    return fed, end


def random_floats(*dims: int) -> Any:
    return np.random.default_rng(0).random(dims, np.float32)


def tiny_run(tf: Any) -> float:
    with tf.Graph().as_default():
        result = tf.Variable(1.0) + 1.0
        with running(tf) as sess:
            assert sess.run(result) == 2.0
            return seconds_per_call(lambda: sess.run(result))


def tiny_run_fed(tf: Any) -> float:
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, [])
        result = tf.Variable(1.0) + fed
        with running(tf) as sess:
            assert sess.run(result, {fed: 2.0}) == 3.0
            return seconds_per_call(lambda: sess.run(result, {fed: 2.0}))


def run_chain(tf: Any) -> float:
    with tf.Graph().as_default():
        fed, end = chain(tf, CHAIN)
        with running(tf) as sess:
            assert sess.run(end, {fed: 1.0}) == CHAIN + 1
            return seconds_per_call(lambda: sess.run(end, {fed: 1.0})) / CHAIN


def build_nodes(tf: Any) -> float:
    def build() -> None:
        with tf.Graph().as_default():
            chain(tf, BUILT)

    return seconds_per_call(build) / BUILT


def first_run(tf: Any) -> float:
    """Time the first runs of new sessions on new graphs, and nothing before them."""

    def seconds(n_nodes: int) -> float:
        with tf.Graph().as_default():
            fed, end = chain(tf, n_nodes)
            with tf.Session() as sess:
                return seconds_of(lambda: sess.run(end, {fed: 1.0}))

    seconds(CHAIN)  # what the process has to do but once
    return statistics.median(seconds(LARGE_GRAPH) for _ in range(3))


def matmul(tf: Any) -> float:
    with tf.Graph().as_default():
        values = random_floats(2, SIDE, SIDE)
        product = tf.matmul(tf.Variable(values[0]), tf.Variable(values[1]))
        with running(tf) as sess:
            expected = values[0, :2] @ values[1]
            assert np.allclose(sess.run(product)[:2], expected, rtol=1e-3)
            return seconds_per_call(lambda: sess.run(product))


def six_ops(tf: Any, x: Any) -> Any:
    return tf.sqrt(tf.abs((x * 2.0 + 1.0) - 0.5)) * 3.0


def elementwise(tf: Any) -> float:
    with tf.Graph().as_default():
        values = random_floats(N_FLOATS)
        result = six_ops(tf, tf.Variable(values))
        with running(tf) as sess:
            assert np.allclose(sess.run(result), np.sqrt(values * 2 + 0.5) * 3)
            return seconds_per_call(lambda: sess.run(result))


def elementwise_fed(tf: Any) -> float:
    with tf.Graph().as_default():
        values = random_floats(N_FLOATS)
        fed = tf.placeholder(tf.float32, [N_FLOATS])
        result = six_ops(tf, fed)
        with running(tf) as sess:
            assert np.allclose(sess.run(result, {fed: values}), np.sqrt(values * 2 + 0.5) * 3)
            return seconds_per_call(lambda: sess.run(result, {fed: values}))


def train_mlp(tf: Any) -> float:
    """Time a training step of an MLP, 784 to 256 to 10, by Adam on batches of 128."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [128, 784]), tf.placeholder(tf.int32, [128])
        layer = x
        for name, n_in, n_out in (("hidden", 784, 256), ("logits", 256, 10)):
            layer = tf.nn.relu(layer) if name == "logits" else layer
            w = tf.get_variable(
                f"{name}/w", initializer=random_floats(n_in, n_out) * 0.1 - 0.05
            )
            b = tf.get_variable(f"{name}/b", initializer=np.zeros(n_out, np.float32))
            layer = tf.nn.bias_add(tf.matmul(layer, w), b)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=layer)
        loss = tf.reduce_mean(losses)
        step = tf.train.AdamOptimizer(0.001).minimize(loss)
        batch = {x: random_floats(128, 784), y: np.arange(128, dtype=np.int32) % 10}
        with running(tf) as sess:
            first = sess.run(loss, batch)
            for _ in range(20):
                sess.run(step, batch)
            assert sess.run(loss, batch) < first
            return seconds_per_call(lambda: sess.run([step, loss], batch))


def new_shapes(with_gradients: bool) -> Case:
    """Time runs of a model of 40 layers with feeds of shapes that it has not seen before."""

    def case(tf: Any) -> float:
        with tf.Graph().as_default():
            x = layer = tf.placeholder(tf.float32, [None, N_UNITS])
            variables = []
            for _ in range(N_LAYERS):
                w = tf.Variable(random_floats(N_UNITS, N_UNITS) * 0.1)
                b = tf.Variable(np.zeros(N_UNITS, np.float32))
                layer = tf.nn.relu(tf.matmul(layer, w) + b)
                variables += [w, b]
            loss = tf.reduce_mean(tf.square(layer))
            fetches = [loss, *tf.gradients(loss, variables)] if with_gradients else loss
            with running(tf) as sess:
                batches = [np.ones((n, N_UNITS), np.float32) for n in range(1, 102)]
                sess.run(fetches, {x: batches[0]})
                runs = [partial(sess.run, fetches, {x: batch}) for batch in batches[1:]]
                return statistics.median(map(seconds_of, runs))

    return case


def save_and_restore(tf: Any) -> float:
    """Time a checkpoint of ten variables of 10 MB: saved over the last one, and restored."""
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        variables = [tf.get_variable(f"v{n}", [2500, 1000]) for n in range(10)]
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            before = sess.run(variables[0])

            def both() -> None:
                path = saver.save(sess, f"{folder}/model", write_meta_graph=False)
                saver.restore(sess, path)

            seconds = seconds_per_call(both)
            assert (sess.run(variables[0]) == before).all()
            return seconds


def read_batches(tf: Any) -> float:
    """Time a batch of 32 small elements that were mapped and shuffled."""
    with tf.Graph().as_default():
        numbers = tf.data.Dataset.range(100_000).map(lambda x: x * 2)
        dataset = numbers.shuffle(1000, seed=1).batch(32).repeat()
        batch = tf.data.make_one_shot_iterator(dataset).get_next()
        with tf.Session() as sess:
            assert sess.run(batch).shape == (32,)
            return seconds_per_call(lambda: sess.run(batch))


RUNS: dict[str, Case] = {
    "sess.run(variable + 1.0)": tiny_run,
    "sess.run(variable + fed scalar)": tiny_run_fed,
    "run of 1,000 chained ops, per op": run_chain,
    "building a graph, per node": build_nodes,
    "first run of 10,000 nodes": first_run,
    "matmul 2048x2048": matmul,
    "6 elementwise ops, 4M floats": elementwise,
    "6 elementwise ops, 4M floats, fed": elementwise_fed,
    "training step of an MLP, Adam": train_mlp,
    "new feed shape, 40 layers": new_shapes(with_gradients=False),
    "new feed shape, 40 layers with gradients": new_shapes(with_gradients=True),
    "checkpoint of 100 MB, saved and restored": save_and_restore,
    "tf.data: range, map, shuffle, batch of 32": read_batches,
}


# --- berth alone: simulated GPUs ----------------------------------------------------------


def two_matmuls(devices: Sequence[str]) -> Case:
    """Multiply on two devices. Only the operations are fetched: nothing leaves a device."""

    def case(tf: Any) -> float:
        with tf.Graph().as_default():
            values = random_floats(2, SIDE, SIDE)
            products = []
            for device in devices:
                with tf.device(device):
                    product = tf.matmul(tf.Variable(values[0]), tf.Variable(values[1]))
                    products.append(product.op)
            with running(tf) as sess:
                return seconds_per_call(lambda: sess.run(products))

    return case


SIMULATED: dict[str, Case] = {
    "on two GPUs": two_matmuls(["/gpu:0", "/gpu:1"]),
    "on one GPU": two_matmuls(["/gpu:0", "/gpu:0"]),
}


# --- running them -------------------------------------------------------------------------


def api(side: str, case: str) -> Any:
    """Import what a case needs: the module itself, or its API of TensorFlow 1."""
    if case in CALLS:
        return importlib.import_module(side)
    tf = importlib.import_module(f"{side}.compat.v1")
    if side == "tensorflow":
        tf.disable_v2_behavior()
    return tf


def main() -> None:
    side, *names = sys.argv[1:]
    cases = {**CALLS, **RUNS, **SIMULATED}
    print(json.dumps({name: cases[name](api(side, name)) for name in names}))


if __name__ == "__main__":
    main()
