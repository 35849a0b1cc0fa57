"""The cases for berth and TensorFlow: one program, whichever of the two ``tf`` is."""

from __future__ import annotations

from functools import partial
from typing import Any

from models import given
from models.given import Cases, Prepared

POOL: dict[str, Any] = {"ksize": 3, "strides": 2, "padding": "SAME"}


def cases(tf: Any, n_threads: int) -> Cases:
    """Return the cases, of berth or of TensorFlow."""
    tf.config.threading.set_intra_op_parallelism_threads(n_threads)
    return {
        given.CONVOLUTION: partial(_convolution, tf),
        given.CIFAR: partial(_cifar, tf),
        given.ELEMENTWISE: partial(_elementwise, tf),
        given.ADDITION: partial(_addition, tf),
        given.SCALING: partial(_scaling, tf),
        given.MATMUL: partial(_matmul, tf),
        given.PERCEPTRON: partial(_perceptron, tf),
    }


def _convolution(tf: Any) -> Prepared:
    images, filters, gradient = map(tf.constant, given.convolution())

    @tf.function  # type: ignore[untyped-decorator]
    def both_ways(images: Any, filters: Any, gradient: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([images, filters])
            result = tf.nn.conv2d(images, filters, 1, "SAME")
        return [result, *tape.gradient(result, [images, filters], gradient)]

    call = partial(both_ways, images, filters, gradient)
    return Prepared([call], given.sample(*(each.numpy() for each in call())))


def _cifar_logits(tf: Any, at: dict[str, Any], images: Any) -> Any:
    def convolve(x: Any, layer: str) -> Any:
        x = tf.nn.conv2d(x, at[layer + "_w"], 1, "SAME")
        return tf.nn.relu(tf.nn.bias_add(x, at[layer + "_b"]))

    def connect(x: Any, layer: str) -> Any:
        return tf.nn.bias_add(tf.matmul(x, at[layer + "_w"]), at[layer + "_b"])

    def normalize(x: Any) -> Any:
        norm = given.NORM_RADIUS, given.NORM_BIAS, given.NORM_ALPHA, given.NORM_BETA
        return tf.nn.lrn(x, *norm)

    x = normalize(tf.nn.max_pool(convolve(images, "conv1"), **POOL))
    x = tf.nn.max_pool(normalize(convolve(x, "conv2")), **POOL)
    x = tf.reshape(x, [given.BATCH, 2304])
    x = tf.nn.relu(connect(tf.nn.relu(connect(x, "local3")), "local4"))
    return connect(x, "softmax")


def _cifar(tf: Any) -> Prepared:
    variables = {name: tf.Variable(start) for name, start in given.cifar_parameters().items()}
    images, labels = map(tf.constant, given.cifar_batch())

    @tf.function  # type: ignore[untyped-decorator]
    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=_cifar_logits(tf, variables, images)
            )
            decays = [given.DECAY * tf.nn.l2_loss(variables[name]) for name in given.DECAYED]
            loss = tf.add_n([tf.reduce_mean(losses), *decays])
        gradients = tape.gradient(loss, list(variables.values()))
        for variable, gradient in zip(variables.values(), gradients, strict=True):
            variable.assign_sub(given.CIFAR_RATE * gradient)
        return loss

    call = partial(step, images, labels)
    return Prepared([call], [float(call()) for _ in range(given.N_STEPS)])


def _elementwise(tf: Any) -> Prepared:
    @tf.function  # type: ignore[untyped-decorator]
    def six_ops(x: Any) -> Any:
        return tf.sqrt(tf.abs((x * 2.0 + 1.0) - 0.5)) * 3.0

    call = partial(six_ops, tf.constant(given.floats()))
    return Prepared([call], given.sample(call().numpy()))


def _addition(tf: Any) -> Prepared:
    a, b = map(tf.constant, given.PAIRS)
    return Prepared([lambda: a + b], given.sample((a + b).numpy()))


def _scaling(tf: Any) -> Prepared:
    a = tf.constant(given.PAIRS[0])
    return Prepared([lambda: a * 2.0], given.sample((a * 2.0).numpy()))


def _matmul(tf: Any) -> Prepared:
    a, b = map(tf.constant, given.matrices())

    @tf.function  # type: ignore[untyped-decorator]
    def product(a: Any, b: Any) -> Any:
        return tf.matmul(a, b)

    return Prepared([partial(product, a, b)], given.sample(product(a, b).numpy()))


def _perceptron(tf: Any) -> Prepared:
    variables = [tf.Variable(start) for start in given.mlp_parameters()]
    inputs, targets = map(tf.constant, given.mlp_batch())

    def step() -> Any:
        w1, b1, w2, b2 = variables
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(inputs, w1) + b1)
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, w2) + b2 - targets))
        gradients = tape.gradient(loss, variables)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(given.MLP_RATE * gradient)
        return loss

    return Prepared([step], [float(step()) for _ in range(given.N_STEPS)])
