"""A name that berth does not have is an error that says so, and what there is instead."""

from __future__ import annotations

import pytest

from berth.compat import v1

MISSING = {
    "optimizer": (
        lambda: v1.train.GradientDescendOptimizer,
        "module 'berth.compat.v1.train' has no attribute 'GradientDescendOptimizer'. Did you mean "
        "'GradientDescentOptimizer'?",
    ),
    "saved model": (
        lambda: v1.saved_model,
        "module 'berth.compat.v1' has no attribute 'saved_model'\n"
        "  berth does not have tf.saved_model. Instead: tf.train.Saver.",
    ),
    "module": (
        lambda: v1.keras,
        "module 'berth.compat.v1' has no attribute 'keras'\n"
        "  berth does not have tf.keras. "
        "Instead: tf.compat.v1.layers.",
    ),
    "misspelled": (
        lambda: v1.nn.rellu,
        "module 'berth.compat.v1.nn' has no attribute 'rellu'. Did you mean 'relu' or 'crelu' or 'relu6'?",
    ),
}


@pytest.mark.parametrize(("use", "message"), MISSING.values(), ids=MISSING)
def test_missing_name_is_explained(use, message):
    with pytest.raises(AttributeError) as caught:
        use()
    assert str(caught.value) == message


def test_missing_dunder_is_a_plain_error():
    with pytest.raises(AttributeError) as caught:
        v1.nn.__wrapped__  # noqa: B018
    assert str(caught.value) == "module 'berth.compat.v1.nn' has no attribute '__wrapped__'"
