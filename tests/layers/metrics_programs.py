"""Programs of `tf.metrics`, for `tests.layers.compared`: two batches, and the values between."""

from __future__ import annotations

import numpy as np

from tests.layers.compared import numbers

LABELS = (numbers([2, 4], 3, 5) > 0).astype(np.int64)
PREDICTIONS = np.float32([[0.1, 0.7, 0.4, 0.95], [0.3, 0.2, 0.85, 0.55]])
WEIGHTS = np.float32([[0.5, 1.0, 0.0, 2.0], [1.0, 0.25, 3.0, 1.0]])
CLASSES = np.int64([[0, 2, 1, 2], [1, 1, 0, 2]])
GUESSES = np.int64([[0, 1, 1, 2], [2, 1, 0, 0]])
SCORES = numbers([2, 3, 5], 7, 31)
SETS = np.int64([[[0, 2], [1, 1], [3, 9]], [[4, -1], [2, 3], [0, 1]]])
LIMITS = [0.25, 0.5, 0.9]
COLLECTED = {"metrics_collections": ["wanted"], "updates_collections": "update_ops"}


def metric(function, *arrays, weights=None, **options):
    """Return a program that updates a metric twice, with rows 0 and 1 of the arrays."""

    def build(tf):
        row = tf.Variable(-1, trainable=False, name="row")
        step = tf.assign_add(row, 1)
        given = [tf.constant(array)[row] for array in arrays]
        if weights is not None:
            options["weights"] = tf.constant(weights)[row] if np.ndim(weights) else weights
        value, update = getattr(tf.metrics, function)(*given, **options, **COLLECTED)
        return [value, step, update, value, step, update, value]

    return build


OF_ERRORS = ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error")
OF_COUNTS = (
    "true_positives",
    "true_negatives",
    "false_positives",
    "false_negatives",
    "precision",
    "recall",
)
FLOATS = LABELS.astype(np.float32)
CASES = {
    f"{function}{' weighted' if weighted else ''}": metric(
        function, FLOATS, PREDICTIONS, weights=WEIGHTS if weighted else None
    )
    for function in OF_ERRORS
    for weighted in (False, True)
}
CASES |= {
    f"{function}{' weighted' if weighted else ''}": metric(
        function, LABELS, PREDICTIONS > 0.4, weights=WEIGHTS if weighted else None
    )
    for function in OF_COUNTS
    for weighted in (False, True)
}
CASES |= {
    f"{function}_at_thresholds": metric(
        f"{function}_at_thresholds", LABELS, PREDICTIONS, thresholds=LIMITS, weights=WEIGHTS
    )
    for function in OF_COUNTS
}
CASES |= {
    f"auc {curve} {method}": metric(
        "auc", LABELS, PREDICTIONS, curve=curve, summation_method=method, num_thresholds=20
    )
    for curve in ("ROC", "PR")
    for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring", "other")
}
CASES |= {
    "mean": metric("mean", PREDICTIONS),
    "mean weighted": metric("mean", PREDICTIONS, weights=WEIGHTS, name="mine"),
    "mean by number": metric("mean", PREDICTIONS, weights=0.5),
    "mean_tensor": metric("mean_tensor", PREDICTIONS),
    "mean_tensor weighted": metric("mean_tensor", PREDICTIONS, weights=WEIGHTS),
    "accuracy": metric("accuracy", CLASSES, GUESSES),
    "accuracy weighted": metric("accuracy", CLASSES, GUESSES, weights=WEIGHTS),
    "accuracy of columns": metric("accuracy", CLASSES[..., None], GUESSES, weights=WEIGHTS),
    "accuracy of other types": metric("accuracy", CLASSES, GUESSES.astype(np.float32)),
    "mean_relative_error": metric(
        "mean_relative_error", FLOATS, PREDICTIONS, FLOATS, weights=WEIGHTS
    ),
    "mean_cosine_distance": metric("mean_cosine_distance", FLOATS, PREDICTIONS, dim=0),
    "percentage_below": metric("percentage_below", PREDICTIONS, threshold=0.5),
    "mean_iou": metric("mean_iou", CLASSES, GUESSES, num_classes=4),
    "mean_iou weighted": metric("mean_iou", CLASSES, GUESSES, num_classes=3, weights=WEIGHTS),
    "mean_per_class": metric("mean_per_class_accuracy", CLASSES, GUESSES, num_classes=4),
    "mean_per_class weighted": metric(
        "mean_per_class_accuracy", CLASSES, GUESSES, num_classes=3, weights=WEIGHTS
    ),
    "auc weighted": metric(
        "auc", LABELS, PREDICTIONS, weights=WEIGHTS, thresholds=LIMITS, name="area"
    ),
    "sensitivity": metric(
        "sensitivity_at_specificity", LABELS, PREDICTIONS, specificity=0.6, num_thresholds=30
    ),
    "specificity": metric(
        "specificity_at_sensitivity", LABELS, PREDICTIONS, sensitivity=0.6, num_thresholds=30
    ),
    "precision_at_k": metric("precision_at_k", SETS, SCORES, k=2),
    "precision_at_k of a class": metric(
        "precision_at_k", SETS, SCORES, k=3, class_id=2, weights=WEIGHTS[:, :3]
    ),
    "precision_at_top_k": metric("precision_at_top_k", SETS, SETS[::-1]),
    "recall_at_k": metric("recall_at_k", SETS, SCORES, k=2, weights=WEIGHTS[:, :3]),
    "recall_at_k of a class": metric("recall_at_k", SETS, SCORES, k=3, class_id=1),
    "recall_at_k of one label": metric("recall_at_k", SETS[..., 0], SCORES, k=3),
    "average_precision_at_k": metric("average_precision_at_k", SETS, SCORES, k=3),
    "average_precision_at_k weighted": metric(
        "average_precision_at_k", SETS, SCORES, k=4, weights=WEIGHTS[:, :3]
    ),
    "curve unknown": metric("auc", LABELS, PREDICTIONS, curve="other"),
    "specificity out of range": metric(
        "sensitivity_at_specificity", LABELS, PREDICTIONS, specificity=1.5
    ),
    "shapes differ": metric("accuracy", CLASSES[:, :3], GUESSES),
    "k of 0": metric("average_precision_at_k", SETS, SCORES, k=0),
    "labels of another rank": metric("recall_at_k", SETS[:, 0, 0], SCORES, k=2),
}
