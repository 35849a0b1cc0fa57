"""Settings without effect are kept, and returned in TensorFlow's form."""

from __future__ import annotations

import pytest

import berth as tf
from berth.front.context import Switches, context

NOTHING = {"disable_model_pruning": False, "disable_meta_optimizer": False}


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(context(), "switches", Switches())


def test_jit_is_returned_by_its_name():
    found = []
    for asked in (True, "autoclustering", False, ""):
        tf.config.optimizer.set_jit(asked)
        found.append(tf.config.optimizer.get_jit())
    assert found == ["autoclustering", "autoclustering", "", ""]


def test_synchronous_execution_is_kept():
    assert tf.config.experimental.get_synchronous_execution()
    tf.config.experimental.set_synchronous_execution(False)
    assert not tf.config.experimental.get_synchronous_execution()


def test_options_add_up_and_unknown_ones_are_ignored():
    assert tf.config.optimizer.get_experimental_options() == NOTHING
    tf.config.optimizer.set_experimental_options({"layout_optimizer": True, "nonsense": 3})
    tf.config.optimizer.set_experimental_options(
        {"min_graph_nodes": -1, "disable_meta_optimizer": True}
    )
    assert tf.config.optimizer.get_experimental_options() == {
        **NOTHING,
        "layout_optimizer": True,
        "min_graph_nodes": -1,
        "disable_meta_optimizer": True,
    }


class Assertions(tf.test.TestCase):
    def test_of_absl(self):
        self.assertEndsWith("/device:GPU:0", "GPU:0")
        self.assertLen([1, 2], 2)
        self.assertEmpty([])
        self.assertNotEmpty("x")
        for wrong, message in (
            (lambda: self.assertEndsWith("a", "b"), "'a' does not end with 'b'"),
            (lambda: self.assertLen([1], 2), r"\[1\] has length of 1, expected 2"),
            (lambda: self.assertEmpty([1]), r"\[1\] has length of 1"),
            (lambda: self.assertNotEmpty([]), r"\[\] has length of 0"),
        ):
            with pytest.raises(AssertionError, match=message):
                wrong()
