"""The cases for PyTorch: eager as it is, and compiled as well where that is possible.

Images stay channels last in memory: PyTorch's convolutions are faster so on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from models import given
from models.given import Array, Cases, Prepared

TO_IMAGES, FROM_IMAGES = (0, 3, 1, 2), (0, 2, 3, 1)
TO_FILTERS, FROM_FILTERS = (3, 2, 0, 1), (2, 3, 1, 0)


def cases(torch: Any, n_threads: int) -> Cases:
    """Return the cases."""
    torch.set_num_threads(n_threads)
    return {
        given.CONVOLUTION: partial(_convolution, torch),
        given.CIFAR: partial(_cifar, torch),
        given.ELEMENTWISE: partial(_elementwise, torch),
        given.ADDITION: partial(_addition, torch),
        given.SCALING: partial(_scaling, torch),
        given.MATMUL: partial(_matmul, torch),
        given.PERCEPTRON: partial(_perceptron, torch),
    }


def _turned(torch: Any, array: Array, order: tuple[int, ...]) -> Any:
    """Return images or filters as PyTorch orders their axes, channels last in memory."""
    tensor = torch.from_numpy(array).permute(order)
    return tensor.contiguous(memory_format=torch.channels_last)


def _with_compiled(torch: Any, function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return a function as it is, and compiled if there is a compiler."""
    compiled = torch.compile(function)
    try:
        compiled()
    except Exception:  # of many kinds: no compiler, no headers, a platform without
        return [function]
    return [function, compiled]


def _descend(torch: Any, loss: Any, trained: Sequence[Any], rate: float) -> None:
    gradients = torch.autograd.grad(loss, trained)
    with torch.no_grad():
        for parameter, gradient in zip(trained, gradients, strict=True):
            parameter.sub_(gradient, alpha=rate)


def _convolution(torch: Any) -> Prepared:
    images, filters, gradient = given.convolution()
    x = _turned(torch, images, TO_IMAGES).requires_grad_()
    w = _turned(torch, filters, TO_FILTERS).requires_grad_()
    dy = _turned(torch, gradient, TO_IMAGES)

    def both_ways() -> Any:
        result = torch.nn.functional.conv2d(x, w, padding="same")
        return result, *torch.autograd.grad(result, (x, w), dy)

    y, dx, dw = (each.detach() for each in both_ways())
    back = y.permute(FROM_IMAGES), dx.permute(FROM_IMAGES), dw.permute(FROM_FILTERS)
    return Prepared([both_ways], given.sample(*back))


def _cifar_loss(torch: Any, at: dict[str, Any], images: Any, labels: Any) -> Any:
    functional = torch.nn.functional
    width = 2 * given.NORM_RADIUS + 1

    def convolve(x: Any, layer: str) -> Any:
        return functional.conv2d(x, at[layer + "_w"], at[layer + "_b"], padding="same").relu()

    def connect(x: Any, layer: str) -> Any:
        return torch.addmm(at[layer + "_b"], x, at[layer + "_w"])

    def normalize(x: Any) -> Any:
        # PyTorch divides alpha by the width of the window, TensorFlow does not.
        norm = width * given.NORM_ALPHA, given.NORM_BETA, given.NORM_BIAS
        return functional.local_response_norm(x, width, *norm)

    def pool(x: Any) -> Any:
        return functional.max_pool2d(x, 3, 2, ceil_mode=True)

    x = pool(normalize(convolve(normalize(pool(convolve(images, "conv1"))), "conv2")))
    x = x.permute(FROM_IMAGES).reshape(given.BATCH, 2304)
    logits = connect(connect(connect(x, "local3").relu(), "local4").relu(), "softmax")
    decay = sum(given.DECAY / 2 * at[name].square().sum() for name in given.DECAYED)
    return functional.cross_entropy(logits, labels) + decay


def _cifar(torch: Any) -> Prepared:
    parameters = {
        name: _turned(torch, start, TO_FILTERS) if start.ndim == 4 else torch.from_numpy(start)
        for name, start in given.cifar_parameters().items()
    }
    trained = [parameter.requires_grad_() for parameter in parameters.values()]
    images, labels = given.cifar_batch()
    batch = _turned(torch, images, TO_IMAGES), torch.from_numpy(labels).long()

    def step(loss_of: Callable[[], Any]) -> Any:
        loss = loss_of()
        _descend(torch, loss, trained, given.CIFAR_RATE)
        return loss.detach()

    eager = partial(_cifar_loss, torch, parameters, *batch)
    found = [float(step(eager)) for _ in range(given.N_STEPS)]
    return Prepared([partial(step, each) for each in _with_compiled(torch, eager)], found)


def _elementwise(torch: Any) -> Prepared:
    x = torch.from_numpy(given.floats())

    def six_ops() -> Any:
        return torch.sqrt(torch.abs((x * 2.0 + 1.0) - 0.5)) * 3.0

    return Prepared(_with_compiled(torch, six_ops), given.sample(six_ops()))


def _addition(torch: Any) -> Prepared:
    a, b = map(torch.tensor, given.PAIRS)
    return Prepared([lambda: a + b], given.sample(a + b))


def _scaling(torch: Any) -> Prepared:
    a = torch.tensor(given.PAIRS[0])
    return Prepared([lambda: a * 2.0], given.sample(a * 2.0))


def _matmul(torch: Any) -> Prepared:
    a, b = map(torch.from_numpy, given.matrices())
    return Prepared([partial(torch.matmul, a, b)], given.sample(a @ b))


def _perceptron(torch: Any) -> Prepared:
    trained = [torch.from_numpy(start).requires_grad_() for start in given.mlp_parameters()]
    inputs, targets = map(torch.from_numpy, given.mlp_batch())

    def step() -> Any:
        w1, b1, w2, b2 = trained
        hidden = (inputs @ w1 + b1).relu()
        loss = (hidden @ w2 + b2 - targets).square().mean()
        _descend(torch, loss, trained, given.MLP_RATE)
        return loss.detach()

    return Prepared([step], [float(step()) for _ in range(given.N_STEPS)])
