"""Training programs, run by both TensorFlow and berth: what they find is compared.

Each takes `tf`, the module of TensorFlow 1's API. `record` runs them all; what it returns for
TensorFlow is in tensorflow.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

N_STEPS = 10

Make = Callable[[Any, Any], Any]
"""Makes an optimizer of the module and the global step."""

OPTIMIZERS: dict[str, Make] = {
    "GradientDescent": lambda tf, _: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda tf, _: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda tf, _: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda tf, _: tf.train.AdamOptimizer(0.01),
    "RMSProp": lambda tf, _: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "CenteredRMSProp": lambda tf, _: tf.train.RMSPropOptimizer(
        0.01, momentum=0.5, centered=True
    ),
    "Adagrad": lambda tf, _: tf.train.AdagradOptimizer(0.1),
    "Adadelta": lambda tf, _: tf.train.AdadeltaOptimizer(0.5),
    "Ftrl": lambda tf, _: tf.train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02
    ),
    "FtrlV2": lambda tf, _: tf.train.FtrlOptimizer(
        0.1, -0.6, 0.2, 0.01, l2_shrinkage_regularization_strength=0.02, beta=0.1
    ),
    "ProximalGradientDescent": lambda tf, _: tf.train.ProximalGradientDescentOptimizer(
        0.1, 0.01, 0.02
    ),
    "ProximalAdagrad": lambda tf, _: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.02),
    "AdagradDA": lambda tf, step: tf.train.AdagradDAOptimizer(
        0.1, step, l1_regularization_strength=0.001, l2_regularization_strength=0.02
    ),
}


# --- optimizers ---------------------------------------------------------------------------


class Model:
    """A linear model: of rows of `w` (sparse gradients) or of products with it (dense)."""

    def __init__(self, tf: Any, dtype: str, *, is_sparse: bool, use_resource: bool) -> None:
        first = np.linspace(-1, 1, 8).reshape(4, 2).astype(dtype)
        with tf.device("/cpu:0"):
            self.w = tf.get_variable("w", initializer=first, use_resource=use_resource)
            self.b = tf.get_variable(
                "b", initializer=np.array([-0.5, 0.5], dtype), use_resource=use_resource
            )
        self.step = tf.train.get_or_create_global_step()
        self._dtype, self._is_sparse = dtype, is_sparse
        if is_sparse:
            self.x = tf.placeholder(tf.int32, [None], name="x")
            found = tf.gather(self.w, self.x)
        else:
            self.x = tf.placeholder(dtype, [None, 4], name="x")
            found = tf.matmul(self.x, self.w)
        self.loss = tf.reduce_mean(tf.square(found + self.b - np.array(1, dtype)))

    def batch(self, k: int) -> dict[Any, Any]:
        """Return what to feed in a step: of the sparse model, some rows twice."""
        if self._is_sparse:
            return {self.x: np.array([k % 4, 1, k * k % 4, 1], np.int32)}
        return {self.x: np.sin(np.arange(20).reshape(5, 4) + k).astype(self._dtype)}


def cases() -> Iterator[tuple[str, str, bool]]:
    """Yield optimizers, types and whether gradients are sparse."""
    for name in OPTIMIZERS:
        for dtype in ("float32", "float64"):
            # TensorFlow's proximal optimizers have float32 numbers, whatever they train.
            if dtype == "float32" or not name.startswith("Proximal"):
                yield name, dtype, False
                yield name, dtype, True


def train(tf: Any, name: str, dtype: str, is_sparse: bool, use_resource: bool) -> Any:
    """Train some steps; return the losses, and what all variables are then."""
    with tf.Graph().as_default():
        model = Model(tf, dtype, is_sparse=is_sparse, use_resource=use_resource)
        optimizer = OPTIMIZERS[name](tf, model.step)
        train_op = optimizer.minimize(model.loss, global_step=model.step)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            losses = [
                float(sess.run([model.loss, train_op], model.batch(k))[0])
                for k in range(N_STEPS)
            ]
            variables = {v.name: sess.run(v) for v in tf.global_variables()}
    return {
        "losses": [rounded(loss) for loss in losses],
        **{k: [rounded(x) for x in np.ravel(v)] for k, v in variables.items()},
    }


def rounded(number: Any) -> float:
    """Keep nine digits."""
    return float(f"{float(number):.9g}")


def structure(tf: Any, name: str, dtype: str, use_resource: bool) -> Any:
    """Return the names of an optimizer's variables, and the nodes that it adds."""
    with tf.Graph().as_default() as graph:
        model = Model(tf, dtype, is_sparse=True, use_resource=use_resource)
        optimizer = OPTIMIZERS[name](tf, model.step)
        pairs = optimizer.compute_gradients(model.loss)
        n_before = len(graph.get_operations())
        train_op = optimizer.apply_gradients(pairs, global_step=model.step)
        return {
            "train_op": [train_op.name, *(op.name for op in tf.get_collection("train_op"))],
            "slots": optimizer.get_slot_names(),
            "variables": [variable.name for variable in optimizer.variables()],
            "global": [variable.name for variable in tf.global_variables()],
            "trainable": [variable.name for variable in tf.trainable_variables()],
            "nodes": sorted(described(op) for op in graph.get_operations()[n_before:]),
        }


def described(op: Any) -> str:
    """Write a node down: its type, name, device, colocation, and what it takes and awaits.

    Gradients have no names here; what is awaited by an input as well is left out.
    """
    named = ["grad" if _is_gradient(tensor) else tensor.name for tensor in op.inputs]
    done = {control for tensor in op.inputs for control in tensor.op.control_inputs}
    awaited = sorted(f"^{each.name}" for each in op.control_inputs if each not in done)
    beside = [group.decode()[5:] for group in op.colocation_groups()]
    place = [f"@{each}" for each in sorted(beside) if each != op.name]
    return " ".join([op.type, op.name, op.device or "-", *place, *named, *awaited])


def _is_gradient(tensor: Any) -> bool:
    return tensor.name.startswith("gradients/") or tensor.op.type == "Placeholder"


# --- schedules ----------------------------------------------------------------------------

SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "exponential": lambda t, s: t.exponential_decay(0.1, s, 3, 0.5),
    "staircase": lambda t, s: t.exponential_decay(0.1, s, 3, 0.5, staircase=True),
    "natural": lambda t, s: t.natural_exp_decay(0.1, s, 3, 0.5),
    "natural staircase": lambda t, s: t.natural_exp_decay(0.1, s, 3, 0.5, staircase=True),
    "inverse time": lambda t, s: t.inverse_time_decay(0.1, s, 3, 0.5),
    "inverse staircase": lambda t, s: t.inverse_time_decay(0.1, s, 3, 0.5, staircase=True),
    "polynomial": lambda t, s: t.polynomial_decay(0.1, s, 5, 0.01, power=2.0),
    "polynomial cycle": lambda t, s: t.polynomial_decay(0.1, s, 5, 0.01, 0.5, cycle=True),
    "cosine": lambda t, s: t.cosine_decay(0.1, s, 8, alpha=0.1),
    "restarts": lambda t, s: t.cosine_decay_restarts(0.1, s, 2, 2.0, 0.9, 0.1),
    "even restarts": lambda t, s: t.cosine_decay_restarts(0.1, s, 3, 1.0, 0.5),
    "linear cosine": lambda t, s: t.linear_cosine_decay(0.1, s, 8, 1.5, 0.1),
    "noisy": lambda t, s: t.noisy_linear_cosine_decay(0.1, s, 8, 1e-30, 0.55, 1.5, 0.1),
    "pieces": lambda t, s: t.piecewise_constant(s, [2, 5], [0.1, 0.01, 0.001]),
    "two pieces": lambda t, s: t.piecewise_constant_decay(s, [4], [0.1, 0.01], name="rate"),
}


def schedule(tf: Any, name: str) -> list[float]:
    """Return the rates of a schedule, step by step."""
    with tf.Graph().as_default():
        step = tf.placeholder(tf.int64, [])
        rate = SCHEDULES[name](tf.train, step)
        with tf.Session() as sess:
            return [rounded(sess.run(rate, {step: k})) for k in range(13)]


# --- moving averages ----------------------------------------------------------------------


def averages(tf: Any, *, of_tensor: bool, debias: bool, counted: bool, resource: bool) -> Any:
    """Return moving averages, step by step, and the variables that hold them."""
    with tf.Graph().as_default():
        w = tf.get_variable("w", initializer=[1.0, -2.0], use_resource=resource)
        step = tf.train.get_or_create_global_step()
        average = tf.train.ExponentialMovingAverage(
            0.9, num_updates=step if counted else None, zero_debias=debias
        )
        with tf.control_dependencies([tf.assign_add(w, [1.0, 0.5]), tf.assign_add(step, 1)]):
            value = tf.multiply(w.read_value(), 2.0, name="twice") if of_tensor else w
            update = average.apply([value])
        names = average.variables_to_restore()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            values = []
            for _ in range(5):
                sess.run(update)
                values.append([rounded(x) for x in sess.run(average.average(value))])
        return {
            "values": values,
            "update": [update.name, update.type],
            "name": average.average_name(value),
            "restored": {key: names[key].name for key in sorted(names)},
            "global": [variable.name for variable in tf.global_variables()],
            "moving": [variable.name for variable in tf.moving_average_variables()],
        }


AVERAGES: dict[str, dict[str, bool]] = {
    f"{'tensor' if of_tensor else 'variable'}{' debiased' * debias}{' counted' * counted}"
    f"{' resource' * resource}": {
        "of_tensor": of_tensor,
        "debias": debias,
        "counted": counted,
        "resource": resource,
    }
    for of_tensor in (False, True)
    for debias in (False, True)
    for counted in (False, True)
    for resource in (False, True)
}


# --- all of them --------------------------------------------------------------------------


def record(tf: Any) -> dict[str, Any]:
    """Run everything."""
    return {
        "trained": {
            key_of(name, dtype, is_sparse): train(tf, name, dtype, is_sparse, False)
            for name, dtype, is_sparse in cases()
        },
        "structure": {
            f"{name} {kind}": structure(tf, name, dtype, kind == "resource")
            for name in OPTIMIZERS
            for kind, dtype in kinds(name)
        },
        "schedules": {name: schedule(tf, name) for name in SCHEDULES},
        "averages": {name: averages(tf, **AVERAGES[name]) for name in AVERAGES},
    }


def key_of(name: str, dtype: str, is_sparse: bool) -> str:
    return f"{name} {dtype} {'sparse' if is_sparse else 'dense'}"


def kinds(name: str) -> Sequence[tuple[str, str]]:
    """List kinds of variables with a type of each: not all pairs, which differ little."""
    other = "float32" if name.startswith("Proximal") else "float64"
    return ("reference", other), ("resource", "float32")
