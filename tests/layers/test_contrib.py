"""tf.contrib.layers and slim: values, variables, collections and errors are tf_slim's."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.layers.compared import check, evaluate, kept
from tests.layers.contrib_programs import CASES, ROWS

TENSORFLOW = kept("contrib")
slim = tf.contrib.slim


@pytest.mark.parametrize("name", CASES)
def test_layers_are_those_of_slim(name):
    found, wanted = evaluate(tf, CASES[name]), TENSORFLOW[name]
    check(found, wanted, names=False, tolerance=2e-5)
    for key in ("trainable_variables", "model_variables", "losses"):
        names = found.get("collections", {}).get(key, [])
        assert sorted(names) == sorted(wanted.get("collections", {}).get(key, [])), key


def test_scopes_of_arguments_nest_and_are_used_again():
    @slim.add_arg_scope
    def function(a, b=1, c=2):
        return a, b, c

    with slim.arg_scope([function], b=10) as outer:
        with slim.arg_scope([function], c=20) as inner:
            assert function(0) == (0, 10, 20)
            assert function(0, b=5) == (0, 5, 20)
        assert function(0) == (0, 10, 2)
        assert outer != inner
    assert function(0) == (0, 1, 2)
    with slim.arg_scope(inner):
        assert function(0) == (0, 10, 20)
    assert slim.has_arg_scope(function)
    assert slim.arg_scoped_arguments(function) == ("b", "c")
    with pytest.raises(ValueError, match="not decorated"), slim.arg_scope([len], a=1):
        pass
    with pytest.raises(TypeError):
        slim.arg_scope(function, b=1)


def test_outputs_are_found_by_name():
    with tf.Graph().as_default():
        x = tf.constant(ROWS)
        collected = slim.arg_scope([slim.fully_connected], outputs_collections="ends")
        with collected, tf.variable_scope("net"):
            first = slim.fully_connected(x, 3, scope="fc1")
            second = slim.fully_connected(first, 3, scope="fc2")
        ends = slim.utils.convert_collection_to_dict("ends")
        assert list(ends.items()) == [("net/fc1", first), ("net/fc2", second)]
        names = [variable.op.name for variable in slim.get_model_variables("net/fc1")]
        assert names == ["net/fc1/weights", "net/fc1/biases"]
        assert slim.get_variables_by_name("biases", "net") == [
            variable for variable in tf.global_variables() if "biases" in variable.name
        ]
        assert len(slim.get_variables_to_restore(exclude=["net/fc1"])) == 2


def test_optimize_loss_trains():
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.contrib.framework.get_or_create_global_step()
        w = tf.get_variable("w", initializer=[4.0, -2.0])
        train = tf.contrib.layers.optimize_loss(
            tf.reduce_sum(w * w), step, 0.25, "SGD", clip_gradients=100.0
        )
        session.run(tf.global_variables_initializer())
        assert session.run(train) == 20.0
        np.testing.assert_allclose(session.run(w), [2.0, -1.0])
        assert session.run(step) == 1
        assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3
        with pytest.raises(ValueError, match="Optimizer name should be one of"):
            tf.contrib.layers.optimize_loss(tf.reduce_sum(w), step, 0.1, "Best")


def test_contrib_has_the_names_of_other_modules():
    assert tf.contrib.rnn.LSTMCell is tf.nn.rnn_cell.LSTMCell
    assert tf.contrib.eager.executing_eagerly() is tf.executing_eagerly()
    with pytest.raises(AttributeError, match="has no attribute"):
        tf.contrib.nothing  # noqa: B018
