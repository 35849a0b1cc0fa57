"""`tf.compat.v1.Variable` and `get_variable` in eager programs; values read off TensorFlow 2.21."""

from __future__ import annotations

import pytest

import berth as tf
from tests.parity.programs import first_line

v1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("eager")


def one(name="v", **options):
    return v1.get_variable(name, [1], initializer=tf.ones_initializer(), **options)


def error_of(call):
    """Return the first line of a ValueError."""
    with pytest.raises(ValueError, match=r".+") as caught:
        call()
    return first_line(caught.value)


MADE = {
    "v1.Variable(1.)": "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>",
    "v1.Variable(1., use_resource=False)": "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>",
    "v1.Variable(1., collections=['x'])": "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>",
    "v1.Variable(1., False, name='q').trainable": "False",
    "v1.Variable(lambda: tf.ones([2]), dtype=tf.float32)": "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([1., 1.], dtype=float32)>",
    "v1.Variable(1., validate_shape=False).shape": "TensorShape([])",
    "v1.Variable(1.).initializer": "None",
    "v1.Variable(1.).read_value()": "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>",
    "v1.assign(v1.Variable(1.), 3.).numpy().item()": "3.0",
    "v1.is_variable_initialized(v1.Variable(1.)).numpy().item()": "True",
    "[isinstance(v1.Variable(1.), c) for c in (tf.Variable, v1.Variable)]": "[True, False]",
    "v1.get_variable('b', initializer=tf.constant([1., 2.]))": "<tf.Variable 'b:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>",
    "v1.get_variable('d', [2], dtype=tf.int32)": "<tf.Variable 'd:0' shape=(2,) dtype=int32, numpy=array([0, 0], dtype=int32)>",
    "v1.get_variable('d', [2], trainable=False).trainable": "False",
    "v1.get_local_variable('l', [1]).trainable": "False",
    "(one().name, one().name, one() is one())": "('v:0', 'v:0', False)",
    "(one(), v1.Variable(1.)) and v1.global_variables()": "[]",
    "(one(), v1.Variable(1.)) and v1.trainable_variables()": "[]",
    "v1.global_variables_initializer()": "None",
}


@pytest.mark.parametrize("text", MADE)
def test_variables_have_a_value_at_once(text):
    assert repr(eval(text)) == MADE[text]


def test_scopes_prefix_names():
    with tf.name_scope("n"):
        names = [
            v1.Variable(1.0, name="k").name,
            one("k").name,
            tf.Variable(1.0, name="k").name,
        ]
    assert names == ["n/k:0", "k:0", "n/k:0"]
    with v1.variable_scope("o"), v1.variable_scope("i", dtype=tf.float64) as scope:
        assert [one().name, v1.Variable(2.0).name] == ["o/i/v:0", "o/i/Variable:0"]
        assert one().dtype == tf.float64
    for reuse in (True, v1.AUTO_REUSE):  # nothing to reuse: eager variables are their owners'
        with v1.variable_scope(scope, reuse=reuse):
            assert one().name == "o/i/v:0"
    assert v1.Variable(1.0).name == "Variable:0"


def test_getters_and_creators_are_called():
    calls = []

    def get(getter, name, *arguments, **options):
        calls.append(name)
        return getter(name, *arguments, **options)

    def create(next_creator, **options):
        return next_creator(**{**options, "initial_value": 5.0})

    with v1.variable_scope("o", custom_getter=get):
        assert one().numpy() == [1.0]
    with v1.variable_creator_scope(create):
        assert v1.Variable(1.0).numpy() == 5.0
    assert calls == ["o/v"]


def test_templates_share_variables():
    template = v1.make_template("t", lambda: (one("p"), one("q", trainable=False)))
    assert template()[0] is template()[0]
    assert [v.name for v in template.variables] == ["t/p:0", "t/q:0"]
    assert [v.name for v in template.trainable_variables] == ["t/p:0"]
    outer = v1.make_template("out", v1.make_template("in", one))
    assert outer() is outer()
    assert outer().name == "out/in/v:0"
    names = iter("ab")
    changing = v1.make_template("t", lambda: one(next(names)))
    changing()
    assert error_of(changing) == (
        "Trainable variable created when calling a template after the first time, perhaps you "
        "used tf.Variable when you meant tf.get_variable: [<tf.Variable 't_1/b:0' shape=(1,) "
        "dtype=float32, numpy=array([1.], dtype=float32)>]"
    )


def test_they_are_trained_on_their_device(sim):
    sim("2xT4")
    with tf.device("/gpu:1"):
        w = v1.get_variable("w", initializer=3.0)
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    optimizer.minimize(lambda: w * w, var_list=[w])
    assert (round(float(w), 6), w.device[-5:]) == (2.4, "GPU:1")
    doubled = tf.function(lambda: w * 2.0)
    assert float(doubled()) == pytest.approx(4.8)


def test_functions_make_them_once():
    f = tf.function(lambda: v1.Variable(1.0) + 1.0)
    with pytest.raises(
        ValueError, match=r"^tf\.function only supports singleton tf\.Variables"
    ):
        f()


@pytest.mark.parametrize("option", ["regularizer", "partitioner"])
def test_what_only_graphs_have_is_refused(option):
    message = f"Variable v is eager: a {option} is for the variables of graphs."
    assert error_of(lambda: one(**{option: lambda *_, **__: None})) == message


def test_graphs_have_their_own():
    with tf.Graph().as_default():
        made = [v1.Variable(1.0), one()]
        assert v1.global_variables() == made
        assert isinstance(made[0], v1.Variable)
