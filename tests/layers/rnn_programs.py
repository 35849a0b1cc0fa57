"""Programs of recurrent networks, for `tests.layers.compared`."""

from __future__ import annotations

import numpy as np

from tests.layers.compared import numbers

INPUTS = numbers([3, 4, 2], 5, 13)
LENGTHS = [2, 4, 0]


def weights(tf):
    """Return an initializer that gives the same values on both sides."""
    return lambda shape, dtype=None, partition_info=None: tf.constant(
        numbers([int(size) for size in shape], 5, 17)
    )


CELLS = {
    "basic": lambda tf, units=3: tf.nn.rnn_cell.BasicRNNCell(units),
    "relu": lambda tf, units=3: tf.nn.rnn_cell.BasicRNNCell(units, activation=tf.nn.relu),
    "gru": lambda tf, units=3: tf.nn.rnn_cell.GRUCell(units),
    "gru_named": lambda tf, units=3: tf.nn.rnn_cell.GRUCell(
        units, bias_initializer=tf.constant_initializer(0.25), name="mine"
    ),
    "basic_lstm": lambda tf, units=3: tf.nn.rnn_cell.BasicLSTMCell(units, forget_bias=0.5),
    "one_state": lambda tf, units=3: tf.nn.rnn_cell.BasicLSTMCell(units, state_is_tuple=False),
    "lstm": lambda tf, units=3: tf.nn.rnn_cell.LSTMCell(units),
    "peepholes": lambda tf, units=3: tf.nn.rnn_cell.LSTMCell(
        units, use_peepholes=True, cell_clip=0.3, num_proj=2, proj_clip=0.2
    ),
    "one_state_projected": lambda tf, units=3: tf.nn.rnn_cell.LSTMCell(
        units, num_proj=2, state_is_tuple=False
    ),
    "stack": lambda tf, units=3: tf.nn.rnn_cell.MultiRNNCell(
        [CELLS[name](tf, units) for name in ("basic", "basic_lstm", "gru")]
    ),
    "stack_of_one_state": lambda tf, units=3: tf.nn.rnn_cell.MultiRNNCell(
        [CELLS[name](tf, units) for name in ("basic", "gru")], state_is_tuple=False
    ),
    "residual": lambda tf, units=2: tf.nn.rnn_cell.ResidualWrapper(CELLS["gru"](tf, 2)),
    "device": lambda tf, units=3: tf.nn.rnn_cell.DeviceWrapper(CELLS["gru"](tf), "/cpu:0"),
    "not_dropped": lambda tf, units=3: tf.nn.rnn_cell.DropoutWrapper(CELLS["lstm"](tf)),
}


def called(make):
    """Return a program that calls a cell twice."""

    def build(tf):
        with tf.variable_scope("root", initializer=weights(tf)):
            cell = make(tf)
            x = tf.constant(INPUTS[:, 0])
            state = cell.zero_state(3, tf.float32)
            output, state = cell(x, state)
            output, state = cell(x, state)
        return tf.nest.flatten([output, state])

    return build


def dynamic(make, known=True, **options):
    """Return a program of a dynamic network, and its gradients."""

    def build(tf):
        with tf.variable_scope("root", initializer=weights(tf)):
            x = tf.constant(INPUTS) if known else batch_of_unknown_size(tf)
            outputs, state = tf.nn.dynamic_rnn(make(tf), x, dtype=tf.float32, **options)
        loss = sum(tf.reduce_sum(tf.square(t)) for t in tf.nest.flatten([outputs, state]))
        gradients = tf.gradients(loss, [x, *tf.trainable_variables()])
        return [*tf.nest.flatten([outputs, state]), *gradients]

    return build


def batch_of_unknown_size(tf):
    return tf.placeholder_with_default(INPUTS, [None, None, 2])


def static(make, **options):
    def build(tf):
        with tf.variable_scope("root", initializer=weights(tf)):
            steps = tf.unstack(tf.constant(INPUTS), axis=1)
            outputs, state = tf.nn.static_rnn(make(tf), steps, dtype=tf.float32, **options)
        loss = sum(tf.reduce_sum(tf.square(t)) for t in tf.nest.flatten([outputs, state]))
        return [*tf.nest.flatten([outputs, state]), *tf.gradients(loss, steps)]

    return build


def bidirectional(known=True, **options):
    def build(tf):
        cells = CELLS["gru"](tf), CELLS["basic_lstm"](tf)
        with tf.variable_scope("root", initializer=weights(tf)):
            x = tf.constant(INPUTS) if known else batch_of_unknown_size(tf)
            result = tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32, **options)
        return tf.nest.flatten(result)

    return build


def static_bidirectional(**options):
    def build(tf):
        cells = CELLS["gru"](tf), CELLS["gru"](tf)
        with tf.variable_scope("root", initializer=weights(tf)):
            steps = tf.unstack(tf.constant(INPUTS), axis=1)
            result = tf.nn.static_bidirectional_rnn(*cells, steps, dtype=tf.float32, **options)
        return tf.nest.flatten(result)

    return build


def from_state(tf):
    cell = CELLS["basic_lstm"](tf)
    with tf.variable_scope("root", initializer=weights(tf)):
        first = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([4, 3]), tf.zeros([4, 3]) + 0.5)
        result = tf.nn.dynamic_rnn(
            cell, tf.constant(INPUTS), initial_state=first, time_major=True
        )
    return tf.nest.flatten(result)


def written_by_hand(tf):
    class Cell(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 3

        def call(self, inputs, state):
            w = tf.get_variable("w", [2, 3], initializer=weights(tf))
            hidden = tf.layers.dense(state, 3, kernel_initializer=weights(tf), name="hidden")
            state = tf.tanh(tf.matmul(inputs, w) + hidden)
            return state * 2, state

    return tf.nest.flatten(tf.nn.dynamic_rnn(Cell(), tf.constant(INPUTS), dtype=tf.float32))


def failing(function, *arguments, **options):
    def build(tf):
        given = [value(tf) if callable(value) else value for value in arguments]
        return tf.nest.flatten(getattr(tf.nn, function)(*given, **options))

    return build


CASES = {f"cell {name}": called(make) for name, make in CELLS.items()}
CASES |= {f"dynamic {name}": dynamic(make) for name, make in CELLS.items()}
CASES |= {
    f"lengths {name}": dynamic(CELLS[name], sequence_length=LENGTHS, known=False)
    for name in ("basic", "basic_lstm", "peepholes", "stack")
}
CASES |= {
    "scope": dynamic(CELLS["gru"], scope="elsewhere"),
    "time major": dynamic(CELLS["gru"], time_major=True),
    "from a state": from_state,
    "written by hand": written_by_hand,
    "static": static(CELLS["basic_lstm"]),
    "static lengths": static(CELLS["stack"], sequence_length=LENGTHS),
    "bidirectional": bidirectional(),
    "bidirectional lengths": bidirectional(sequence_length=[2, 4, 1], known=False),
    "static bidirectional": static_bidirectional(),
    "static bidirectional lengths": static_bidirectional(sequence_length=[2, 4, 1]),
    "no type": failing("dynamic_rnn", CELLS["gru"], INPUTS),
    "lengths no vector": failing(
        "dynamic_rnn", CELLS["gru"], INPUTS, dtype=np.float32, sequence_length=[[1, 2, 3]]
    ),
    "no sequence": failing("static_rnn", CELLS["gru"], 3.0, dtype=np.float32),
    "empty sequence": failing("static_rnn", CELLS["gru"], [], dtype=np.float32),
    "depth unknown": failing(
        "dynamic_rnn",
        CELLS["gru"],
        lambda tf: tf.placeholder(tf.float32, [3, 4, None], name="x"),
        dtype=np.float32,
    ),
    "no cells": lambda tf: [tf.nn.rnn_cell.MultiRNNCell([])],
    "nested states": lambda tf: [
        tf.nn.rnn_cell.MultiRNNCell([CELLS["lstm"](tf)], state_is_tuple=False)
    ],
    "keep too much": lambda tf: [tf.nn.rnn_cell.DropoutWrapper(CELLS["gru"](tf), 1.5)],
}
