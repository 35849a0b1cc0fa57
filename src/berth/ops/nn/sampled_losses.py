"""`tf.nn.nce_loss` and `tf.nn.sampled_softmax_loss`: losses over a sample of the classes."""

from __future__ import annotations

from typing import Any

from berth.dtypes import int32, int64
from berth.ops.arrays.array import expand_dims, reshape, stop_gradient
from berth.ops.arrays.filling import ones_like, zeros, zeros_like
from berth.ops.arrays.joining import concat, stack
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.scattering import tensor_scatter_nd_update
from berth.ops.arrays.slicing import slice as slice_of
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.unary import log
from berth.ops.linalg.matmul import matmul
from berth.ops.nn.accidental_hits import compute_accidental_hits
from berth.ops.nn.candidate_sampling import log_uniform_candidate_sampler
from berth.ops.nn.embedding import TableInParts, embedding_lookup_v1
from berth.ops.nn.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy
from berth.ops.nn.losses import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.types import Tensor
from berth.public import public_v1, public_v2


@public_v2("nn.nce_loss")
def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: tell the true classes of a batch from sampled ones.

    >>> table = convert([[1.0], [0.0]]), convert([0.0, 0.0])
    >>> sampled = [0, 1], [[1.0]], [1.0, 1.0]
    >>> loss = nce_loss(*table, [[1]], [[0.0]], 2, 2, 1, sampled)
    >>> round(float(loss[0]), 4)
    2.0794
    """
    return nce_loss_v1(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
    )


@public_v1("nn.nce_loss")
def nce_loss_v1(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: tell the true classes of a batch from sampled ones.

    >>> table = convert([[1.0], [0.0]]), convert([0.0, 0.0])
    >>> sampled = [0, 1], [[1.0]], [1.0, 1.0]
    >>> loss = nce_loss_v1(*table, [[1]], [[0.0]], 2, 2, 1, sampled)
    >>> round(float(loss[0]), 4)
    2.0794
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    losses = sigmoid_cross_entropy(labels=targets, logits=logits, name="sampled_losses")
    return reduce_sum(losses, 1)


@public_v2("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """Softmax cross entropy over the true classes of a batch and sampled ones.

    >>> table = convert([[1.0], [0.0]]), convert([0.0, 0.0])
    >>> sampled = [0, 1], [[1.0]], [1.0, 1.0]
    >>> loss = sampled_softmax_loss(*table, [[1]], [[0.0]], 2, 2, 1, sampled)
    >>> round(float(loss[0]), 4)
    0.6931
    """
    return sampled_softmax_loss_v1(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
        seed,
    )


@public_v1("nn.sampled_softmax_loss")
def sampled_softmax_loss_v1(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Softmax cross entropy over the true classes of a batch and sampled ones.

    >>> table = convert([[1.0], [0.0]]), convert([0.0, 0.0])
    >>> sampled = [0, 1], [[1.0]], [1.0, 1.0]
    >>> loss = sampled_softmax_loss_v1(*table, [[1]], [[0.0]], 2, 2, 1, sampled)
    >>> round(float(loss[0]), 4)
    0.6931
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    targets = stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy(labels=targets, logits=logits)


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Return logits of the true classes and then of the sampled ones, and their targets.

    From each logit the logarithm of how often its class is expected in a sample is subtracted.
    """
    with scope(name or "compute_sampled_logits", None):
        labels, inputs = convert(labels), convert(inputs)
        if labels.dtype is not int64:
            labels = cast(labels, int64)
        flat = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed
            )
        sampled, of_true, of_sampled = (stop_gradient(value) for value in sampled_values)
        sampled = cast(sampled, int64)
        ids = concat([flat, sampled], 0)
        strategy, dtype = partition_strategy, inputs.dtype
        true_w, sampled_w = _split(_rows(weights, ids, strategy, dtype), flat, 2)
        true_b, sampled_b = _split(_rows(biases, ids, strategy, dtype), flat, 1)
        sampled_logits = matmul(inputs, sampled_w, transpose_b=True)
        dots = multiply(
            expand_dims(inputs, 1),
            reshape(true_w, concat([[-1, num_true], shape(true_w)[1:2]], 0)),
        )
        true_logits = reduce_sum(dots, 2) + reshape(true_b, [-1, num_true])
        sampled_logits = sampled_logits + sampled_b
        if remove_accidental_hits:
            sampled_logits += _removal(labels, sampled, num_true, num_sampled, dtype)
        logits = concat([true_logits - log(of_true), sampled_logits - log(of_sampled)], 1)
        targets = concat([ones_like(true_logits) / num_true, zeros_like(sampled_logits)], 1)
        return logits, targets


def _rows(tables: Any, ids: Any, strategy: str, dtype: Any) -> Any:
    if not isinstance(tables, list | tuple | TableInParts):
        tables = [tables]
    rows = embedding_lookup_v1(list(tables), ids, partition_strategy=strategy)
    return rows if rows.dtype is dtype else cast(rows, dtype)


def _split(rows: Any, flat: Any, rank: int) -> tuple[Any, Any]:
    """Divide rows into those of the true classes and those of the sampled ones."""
    n_true = shape(flat)[0]
    rest = [0] * (rank - 1)
    true = slice_of(rows, [0, *rest], stack([n_true, *(-1 for _ in rest)]))
    return true, slice_of(rows, stack([n_true, *rest]), [-1] * rank)


def _removal(labels: Any, sampled: Any, num_true: int, num_sampled: int, dtype: Any) -> Any:
    """Return what removes the sampled classes that are true: a very negative logit."""
    rows, ids, weights = compute_accidental_hits(labels, sampled, num_true)
    indices = stack([rows, cast(ids, int32)], 1)
    nothing = zeros(concat([shape(labels)[:1], [num_sampled]], 0), dtype)
    return tensor_scatter_nd_update(nothing, indices, cast(weights, dtype))
