"""`tf.train.Optimizer`: errors as TensorFlow words them, subclasses, constraints, scopes."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf


def descent():
    return tf.train.GradientDescentOptimizer(0.1)


def weights(**options):
    return tf.get_variable("w", initializer=[1.0, 2.0], **options)


def run(*fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [sess.run(fetch) for fetch in fetches]


# --- bad input ----------------------------------------------------------------------------


def _nothing_trained():
    descent().minimize(tf.constant(1.0))


def _no_gradients():
    weights()
    descent().minimize(tf.constant(1.0, name="loss"))


def _only_none():
    descent().apply_gradients([(None, weights())])


def _none_given():
    descent().apply_gradients([])


def _unknown_gate():
    descent().compute_gradients(weights() * 2, gate_gradients=7)


def _integer_loss():
    descent().minimize(tf.constant(1, name="loss"))


def _integer_initial_gradient():
    descent().minimize(weights() * 2, grad_loss=tf.constant(1, name="g"))


def _number_as_variable():
    descent().minimize(weights() * 2, var_list=[3])


def _class_as_gradient():
    descent().apply_gradients([(object, weights())])


def _tensor_updated():
    descent().apply_gradients([(tf.constant(1.0), tf.constant(1.0, name="c"))])


def _constrained_rows():
    w = tf.get_variable("w", [3, 2], constraint=lambda x: x)
    descent().minimize(tf.gather(w, [0]))


def _no_name():
    tf.train.GradientDescentOptimizer(0.1, name="")


def _other_shape():
    tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients([(tf.ones([3]), weights())])


def _rate_for_each():
    tf.train.MomentumOptimizer([0.1, 0.2], 0.9).minimize(weights() * 2)


def _other_type():
    descent().apply_gradients([(tf.ones([2], tf.float64), weights())])


def _unknown_aggregation():
    descent().minimize(weights() * 2, aggregation_method=17)


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        (_nothing_trained, ValueError, "No variables to optimize."),
        (
            _no_gradients,
            ValueError,
            "No gradients provided for any variable, check your graph for ops that do not "
            "support gradients, between variables [\"<tf.Variable 'w:0' shape=(2,) "
            'dtype=float32_ref>"] and loss Tensor("loss:0", shape=(), dtype=float32).',
        ),
        (
            _only_none,
            ValueError,
            "No gradients provided for any variable: [\"<tf.Variable 'w:0' shape=(2,) "
            'dtype=float32_ref>"].',
        ),
        (_none_given, ValueError, "No variables provided."),
        (
            _unknown_gate,
            ValueError,
            "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
            "Optimizer.GATE_GRAPH.  Not 7",
        ),
        (
            _integer_loss,
            ValueError,
            "Invalid type tf.int32 for loss:0, expected: [tf.float32, tf.float64, tf.float16].",
        ),
        (
            _integer_initial_gradient,
            ValueError,
            "Invalid type tf.int32 for g:0, expected: [tf.float32, tf.float64, tf.float16].",
        ),
        (_number_as_variable, AttributeError, "'int' object has no attribute 'op'"),
        (
            _class_as_gradient,
            TypeError,
            "Gradient must be convertible to a Tensor or IndexedSlices, or None: <class "
            "'object'>",
        ),
        (
            _tensor_updated,
            NotImplementedError,
            "('Trying to update a Tensor ', <tf.Tensor 'c:0' shape=() dtype=float32>)",
        ),
        (
            _constrained_rows,
            RuntimeError,
            "Cannot use a constraint function on a sparse variable.",
        ),
        (_no_name, ValueError, "Must specify the optimizer name"),
        (
            _other_shape,
            ValueError,
            "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and "
            "[3]. for 'Momentum/update_w/ApplyMomentum' (op: 'ApplyMomentum') with input "
            "shapes: [2], [2], [], [3], [].",
        ),
        (
            _rate_for_each,
            ValueError,
            "Shape must be rank 0 but is rank 1 for 'Momentum/update_w/ApplyMomentum' (op: "
            "'ApplyMomentum') with input shapes: [2], [2], [2], [2], [].",
        ),
        (
            _other_type,
            TypeError,
            "Input 'delta' of 'ApplyGradientDescent' Op has type float64 that does not match "
            "type float32 of argument 'var'.",
        ),
        (
            _unknown_aggregation,
            ValueError,
            "Invalid `aggregation_method` specified 17. Accepted values are [0, 1, 2].",
        ),
    ],
)
def test_mistakes_are_explained_as_in_tensorflow(program, kind, message):
    with pytest.raises(kind) as caught:
        program()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tf.train.AdagradOptimizer(0.1, 0.0),
            "initial_accumulator_value must be positive: 0.0",
        ),
        (
            lambda: tf.train.ProximalAdagradOptimizer(0.1, -1.0),
            "initial_accumulator_value must be positive: -1.0",
        ),
        (
            lambda: tf.train.AdagradDAOptimizer(0.1, None, -1.0),
            "initial_gradient_squared_accumulator_value must be positive: -1.0",
        ),
        (
            lambda: tf.train.FtrlOptimizer(0.1, 0.5),
            "learning_rate_power 0.500000 needs to be negative or zero",
        ),
        (
            lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-0.5),
            "l1_regularization_strength -0.500000 needs to be positive or zero",
        ),
        (
            lambda: tf.train.FtrlOptimizer(0.1, initial_accumulator_value=-1),
            "initial_accumulator_value -1.000000 needs to be positive or zero",
        ),
        (
            lambda: tf.train.piecewise_constant(tf.constant(1), [1, 2], [0.1, 0.2]),
            "The length of boundaries should be 1 less than the length of values",
        ),
        (
            lambda: tf.train.piecewise_constant(tf.constant(1), [1.5], [0.1, 0.2]),
            "Boundaries (<dtype: 'float32'>) must have the same dtype as x (<dtype: 'int32'>).",
        ),
        (
            lambda: tf.train.piecewise_constant(tf.constant(1), [1], [0.1, 2]),
            "Values must have elements all with the same dtype (<dtype: 'float32'> vs <dtype: "
            "'int32'>).",
        ),
    ],
)
def test_arguments_are_checked(make, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize("resource", [False, True])
def test_rows_out_of_range_change_nothing(resource):
    w = tf.get_variable("w", initializer=np.ones((3, 2), "f"), use_resource=resource)
    rows = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 7]), tf.constant([3, 2]))
    update = tf.train.AdagradOptimizer(0.1).apply_gradients([(rows, w)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(update)
        assert caught.value.message.startswith("Index 7 at offset 1 in indices is out of range")
        np.testing.assert_array_equal(sess.run(w), np.ones((3, 2)))


def test_slots_must_be_initialized():
    w = weights()
    update = tf.train.AdagradOptimizer(0.1).minimize(w * w)
    with tf.Session() as sess:
        sess.run(w.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="value w/Adagrad"):
            sess.run(update)


def test_averages_are_of_numbers_with_fractions():
    with pytest.raises(TypeError) as caught:
        tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1, name="n")])
    assert str(caught.value) == "The variables must be half, float, or double: n:0"


# --- how it is used -----------------------------------------------------------------------


class Sum(tf.train.Optimizer):
    """An optimizer as users write them: steps by the sum of all gradients."""

    def __init__(self):
        super().__init__(use_locking=False, name="Sum")

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "total", self._name)
            self._get_or_make_slot(v, tf.constant(0.5), "rate", "Rate")

    def _apply_dense(self, grad, var):
        total = self.get_slot(var, "total")
        return var.assign_sub(total.assign(total + grad) * self.get_slot(var, "rate"))

    def _resource_apply_dense(self, grad, var):
        return self._apply_dense(grad, var)


@pytest.mark.parametrize("resource", [False, True])
def test_users_write_optimizers(resource):
    w = tf.get_variable("w", initializer=1.0, use_resource=resource)
    mine = Sum()
    step = mine.minimize(w * w)
    assert step.name == "Sum"
    assert mine.get_slot_names() == ["rate", "total"]
    assert [v.name for v in mine.variables()] == ["w/Rate:0", "w/Sum:0"]
    assert run(step, step, w)[2] == 1.0 - 1.0 - 0.5 * 2.0
    with pytest.raises(NotImplementedError):
        tf.train.Optimizer(False, "abstract").minimize(w * w)


@pytest.mark.parametrize("resource", [False, True])
def test_constraints_see_the_new_value(resource):
    w = weights(constraint=lambda x: tf.minimum(x, 1.5), use_resource=resource)
    _, value = run(descent().minimize(w), w)
    np.testing.assert_allclose(value, [0.9, 1.5], rtol=1e-6)


def test_slots_of_several_optimizers_have_numbers():
    w = tf.Variable(1.0, name="w")
    first = tf.train.AdamOptimizer()
    first.minimize(w * 2)
    with tf.name_scope("again"):
        first.minimize(w * 3)
    tf.train.AdamOptimizer().minimize(w * 4)
    names = "w beta1_power beta2_power w/Adam w/Adam_1 beta1_power_1 beta2_power_1 w/Adam_2"
    assert [v.op.name for v in tf.global_variables()] == [*names.split(), "w/Adam_3"]
    train_ops = tf.get_collection(tf.GraphKeys.TRAIN_OP)
    assert [op.name for op in train_ops] == ["Adam", "again/Adam", "Adam_1"]


def test_slots_are_named_by_scopes_as_in_tensorflow():
    with tf.variable_scope("net"):
        w = tf.get_variable("w", [2])
        with tf.name_scope("train"):
            step = tf.train.AdamOptimizer().minimize(w * 2)
    names = "net/w net/train/beta1_power net/train/beta2_power net/net/w/Adam net/net/w/Adam_1"
    assert [v.op.name for v in tf.global_variables()] == names.split()
    assert step.name == "net/train/Adam"


def test_powers_of_adam_can_have_a_scope():
    w = tf.Variable(1.0, name="w")
    tf.train.AdamOptimizer(use_own_namescope_for_non_slot_vars=True).minimize(w * 2)
    names = "w Adam/beta1_power Adam/beta2_power w/Adam w/Adam_1"
    assert [v.op.name for v in tf.global_variables()] == names.split()


def test_all_gradients_can_be_awaited():
    w = tf.get_variable("w", initializer=np.ones((3, 2), "f"))
    b = tf.get_variable("b", initializer=1.0)
    pairs = descent().compute_gradients(
        tf.reduce_sum(tf.gather(w, [0])) * b, gate_gradients=tf.train.Optimizer.GATE_GRAPH
    )
    rows, number = (grad for grad, _ in pairs)
    assert isinstance(rows, tf.IndexedSlices)
    assert number.name.startswith("tuple/control_dependency")
    _, value = run(descent().apply_gradients(pairs), w)
    np.testing.assert_allclose(value, [[0.9, 0.9], [1, 1], [1, 1]], rtol=1e-6)


def test_gradients_can_be_clipped_before():
    w = weights()
    optimizer = descent()
    grads, variables = zip(*optimizer.compute_gradients(w * [3.0, 4.0]), strict=True)
    clipped, norm = tf.clip_by_global_norm(grads, 1.0)
    step = optimizer.apply_gradients(zip(clipped, variables, strict=True))
    before, _, value = run(norm, step, w)
    assert before == 5.0
    np.testing.assert_allclose(value, [1 - 0.06, 2 - 0.08], rtol=1e-6)


def test_rates_can_be_fed_and_follow_the_step():
    w, step = weights(), tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [1], [0.5, 0.25])
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(w, global_step=step)
    values = run(train_op, train_op, train_op, w, step)
    np.testing.assert_allclose(values[3], [1 - 1.25, 2 - 1.25])
    assert values[4] == 3


@pytest.mark.parametrize("name", ["Adam", "Momentum", "Adagrad"])
def test_large_variables_are_updated_in_slices(name):
    n_elements = 2**17 + 5
    first = np.linspace(-1, 1, n_elements).astype("f")
    make = {
        "Adam": lambda: tf.train.AdamOptimizer(0.1),
        "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    }[name]
    large = tf.get_variable("large", initializer=first)
    ends = np.concatenate([first[:3], first[2**15 - 1 : 2**15 + 2], first[-3:]])
    small = tf.get_variable("small", initializer=ends)
    step = make().minimize(tf.reduce_sum(large**2) + tf.reduce_sum(small**2))
    *_, whole, few = run(step, step, large, small)
    got = np.concatenate([whole[:3], whole[2**15 - 1 : 2**15 + 2], whole[-3:]])
    np.testing.assert_array_equal(got, few)
