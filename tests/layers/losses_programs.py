"""Programs of `tf.losses`, for `tests.layers.compared`."""

from __future__ import annotations

import numpy as np

from tests.layers.compared import numbers

LABELS = (numbers([3, 4], 3, 5) > 0).astype(np.float32)
LOGITS = numbers([3, 4], 5, 7)
PROBABILITIES = np.abs(numbers([3, 4], 5, 7)) / 1.2
ONE_HOT = np.eye(4, dtype=np.float32)[[1, 3, 0]]
BY_ELEMENT = [[0.0, 1.0, 2.0, 0.5], [0.0] * 4, [1.0, 0.0, 0.0, 3.0]]
WEIGHTS = {
    "number": 0.7,
    "zero": 0.0,
    "rows": [[0.5], [0.0], [2.0]],
    "columns": [[1.0, 0.0, 2.0, 3.0]],
    "elements": BY_ELEMENT,
}


def loss(function, labels, values, **options):
    """Return a program of a loss, and its gradient by the second argument."""

    def build(tf):
        tensor = tf.constant(values)
        result = getattr(tf.losses, function)(labels, tensor, **options)
        return [result, *tf.gradients(result, tensor)]

    return build


def collected(tf):
    x = tf.constant(LOGITS)
    tf.losses.mean_squared_error(LABELS, x)
    tf.losses.mean_squared_error(LABELS, x, loss_collection=None)
    tf.losses.mean_squared_error(LABELS, x, scope="mine", loss_collection="wanted")
    with tf.name_scope("tower"):
        first = tf.losses.absolute_difference(LABELS, x)
    tf.get_variable(
        "w", initializer=[1.0, 2.0], regularizer=lambda w: 0.5 * tf.reduce_sum(w * w)
    )
    return [
        first,
        tf.losses.get_total_loss(),
        tf.losses.get_total_loss(add_regularization_losses=False, name="plain"),
        tf.losses.get_regularization_loss(),
        *tf.losses.get_losses("tower"),
    ]


def of_unknown_shape(weights, known=None):
    def build(tf):
        labels = tf.placeholder_with_default(LABELS, None)
        values = tf.placeholder_with_default(LOGITS, known)
        given = tf.placeholder_with_default(np.float32(weights), None)
        return [tf.losses.mean_squared_error(labels, values, given)]

    return build


def sparse(labels, weights=1.0):
    return loss("sparse_softmax_cross_entropy", labels, LOGITS, weights=weights)


def reduced(reduction):
    return loss("mean_squared_error", LABELS, LOGITS, weights=BY_ELEMENT, reduction=reduction)


OF_ELEMENTS = (
    "absolute_difference",
    "hinge_loss",
    "huber_loss",
    "mean_squared_error",
    "sigmoid_cross_entropy",
)
CASES = {
    f"{function} weighted by {name}": loss(function, LABELS, LOGITS, weights=weights)
    for function in OF_ELEMENTS
    for name, weights in WEIGHTS.items()
}
CASES |= {
    f"reduction {name}": reduced(name)
    for name in (
        "none",
        "weighted_sum",
        "weighted_sum_over_batch_size",
        "weighted_mean",
        "weighted_sum_by_nonzero_weights",
        "sum",
    )
}
CASES |= {
    f"pairwise weighted by {name}": loss(
        "mean_pairwise_squared_error", LABELS, LOGITS, weights=WEIGHTS[name]
    )
    for name in ("number", "zero", "rows")
}
CASES |= {
    "log loss": loss("log_loss", LABELS, PROBABILITIES, epsilon=1e-3),
    "cosine": loss("cosine_distance", LABELS, LOGITS, axis=1),
    "cosine by dim": loss("cosine_distance", LABELS, LOGITS, dim=0, weights=2.0),
    "huber delta": loss("huber_loss", LABELS, LOGITS, delta=0.25),
    "sigmoid smoothed": loss("sigmoid_cross_entropy", LABELS, LOGITS, label_smoothing=0.2),
    "softmax": loss("softmax_cross_entropy", ONE_HOT, LOGITS),
    "softmax smoothed": loss(
        "softmax_cross_entropy", ONE_HOT, LOGITS, label_smoothing=0.1, weights=[1.0, 0.0, 2.0]
    ),
    "sparse": sparse([1, 3, 0]),
    "sparse column": sparse([[1], [3], [0]], [[1.0], [0.0], [0.5]]),
    "collections": collected,
    "unknown shapes": of_unknown_shape(BY_ELEMENT),
    "unknown number": of_unknown_shape(0.5, [3, 4]),
    "no labels": loss("hinge_loss", None, LOGITS),
    "no axis": loss("cosine_distance", LABELS, LOGITS),
    "two axes": loss("cosine_distance", LABELS, LOGITS, axis=1, dim=1),
    "shapes differ": loss("mean_squared_error", LABELS[:2], LOGITS),
    "softmax shapes differ": loss("softmax_cross_entropy", ONE_HOT[:2], LOGITS),
}


def wrongly_weighted(weights):
    return loss("mean_squared_error", LABELS, LOGITS, weights=weights)


BAD_WEIGHTS = ([1.0, 2.0, 3.0], [[1.0, 2.0]])
CASES |= {f"bad weights {number}": wrongly_weighted(w) for number, w in enumerate(BAD_WEIGHTS)}
