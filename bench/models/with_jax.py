"""The cases for JAX: compiled where the others use a function, else operation by operation.

JAX returns before it has computed: a call that is timed waits for its result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from models import given
from models.given import Cases, Prepared


def cases(jax: Any, n_threads: int) -> Cases:
    """Return the cases. JAX has as many threads as the process may use cores."""
    return {
        given.CONVOLUTION: partial(_convolution, jax),
        given.CIFAR: partial(_cifar, jax),
        given.ELEMENTWISE: partial(_elementwise, jax),
        given.ADDITION: partial(_addition, jax),
        given.SCALING: partial(_scaling, jax),
        given.MATMUL: partial(_matmul, jax),
        given.PERCEPTRON: partial(_perceptron, jax),
    }


def _waiting(jax: Any, work: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: jax.block_until_ready(work(*arguments))


def _convolve(jax: Any, images: Any, filters: Any) -> Any:
    axes = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(images, filters, (1, 1), "SAME", dimension_numbers=axes)


def _convolution(jax: Any) -> Prepared:
    given_arrays = map(jax.numpy.asarray, given.convolution())

    @jax.jit  # type: ignore[untyped-decorator]
    def both_ways(images: Any, filters: Any, gradient: Any) -> Any:
        result, back = jax.vjp(partial(_convolve, jax), images, filters)
        return result, *back(gradient)

    call = _waiting(jax, both_ways, *given_arrays)
    return Prepared([call], given.sample(*call()))


def _cifar_loss(jax: Any, at: dict[str, Any], images: Any, labels: Any) -> Any:
    def convolve(x: Any, layer: str) -> Any:
        return jax.nn.relu(_convolve(jax, x, at[layer + "_w"]) + at[layer + "_b"])

    def connect(x: Any, layer: str) -> Any:
        return x @ at[layer + "_w"] + at[layer + "_b"]

    def normalize(x: Any) -> Any:
        window = (1, 1, 1, 2 * given.NORM_RADIUS + 1)
        sums = jax.lax.reduce_window(x * x, 0.0, jax.lax.add, window, (1, 1, 1, 1), "SAME")
        return x * (given.NORM_BIAS + given.NORM_ALPHA * sums) ** -given.NORM_BETA

    def pool(x: Any) -> Any:
        window, strides = (1, 3, 3, 1), (1, 2, 2, 1)
        least = -jax.numpy.inf
        return jax.lax.reduce_window(x, least, jax.lax.max, window, strides, "SAME")

    x = pool(normalize(convolve(normalize(pool(convolve(images, "conv1"))), "conv2")))
    x = x.reshape(given.BATCH, 2304)
    x = jax.nn.relu(connect(jax.nn.relu(connect(x, "local3")), "local4"))
    chances = jax.nn.log_softmax(connect(x, "softmax"))
    losses = -jax.numpy.take_along_axis(chances, labels[:, None], axis=1)
    decay = sum(given.DECAY / 2 * (at[name] ** 2).sum() for name in given.DECAYED)
    return losses.mean() + decay


def _cifar(jax: Any) -> Prepared:
    parameters = jax.tree.map(jax.numpy.asarray, given.cifar_parameters())
    batch = list(map(jax.numpy.asarray, given.cifar_batch()))

    @partial(jax.jit, donate_argnums=0)
    def update(at: Any, images: Any, labels: Any) -> Any:
        loss_of = partial(_cifar_loss, jax)
        loss, gradients = jax.value_and_grad(loss_of)(at, images, labels)
        return loss, jax.tree.map(lambda p, g: p - given.CIFAR_RATE * g, at, gradients)

    def step() -> Any:
        nonlocal parameters
        loss, parameters = jax.block_until_ready(update(parameters, *batch))
        return loss

    return Prepared([step], [float(step()) for _ in range(given.N_STEPS)])


def _elementwise(jax: Any) -> Prepared:
    @jax.jit  # type: ignore[untyped-decorator]
    def six_ops(x: Any) -> Any:
        return jax.numpy.sqrt(jax.numpy.abs((x * 2.0 + 1.0) - 0.5)) * 3.0

    call = _waiting(jax, six_ops, jax.numpy.asarray(given.floats()))
    return Prepared([call], given.sample(call()))


def _addition(jax: Any) -> Prepared:
    a, b = map(jax.numpy.array, given.PAIRS)
    return Prepared([_waiting(jax, lambda: a + b)], given.sample(a + b))


def _scaling(jax: Any) -> Prepared:
    a = jax.numpy.array(given.PAIRS[0])
    return Prepared([_waiting(jax, lambda: a * 2.0)], given.sample(a * 2.0))


def _matmul(jax: Any) -> Prepared:
    call = _waiting(jax, jax.jit(jax.numpy.matmul), *map(jax.numpy.asarray, given.matrices()))
    return Prepared([call], given.sample(call()))


def _perceptron(jax: Any) -> Prepared:
    parameters = list(map(jax.numpy.asarray, given.mlp_parameters()))
    inputs, targets = map(jax.numpy.asarray, given.mlp_batch())

    def loss_of(at: Any) -> Any:
        w1, b1, w2, b2 = at
        hidden = jax.nn.relu(inputs @ w1 + b1)
        return ((hidden @ w2 + b2 - targets) ** 2).mean()

    def step() -> Any:
        nonlocal parameters
        loss, gradients = jax.value_and_grad(loss_of)(parameters)
        pairs = zip(parameters, gradients, strict=True)
        parameters = jax.block_until_ready([p - given.MLP_RATE * g for p, g in pairs])
        return loss

    return Prepared([step], [float(step()) for _ in range(given.N_STEPS)])
