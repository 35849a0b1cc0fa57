"""Printing: what `tf.print` and `tf.Print` write, as TensorFlow writes it, and when."""

from __future__ import annotations

import logging
import sys
from collections import namedtuple

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.control_flow.cond import cond
from berth.ops.flow.printing import Print, array_text
from berth.ops.flow.printing import print as tf_print

Pair = namedtuple("Pair", "a b")

ARRAYS = [
    (np.arange(20), {}, "[0 1 2 ... 17 18 19]"),
    (np.arange(7), {"summarize": -1}, "[0 1 2 3 4 5 6]"),
    (np.arange(6), {}, "[0 1 2 3 4 5]"),
    (np.arange(60).reshape(10, 6), {"summarize": 1}, "[[0 ... 5]\n ...\n [54 ... 59]]"),
    (
        np.arange(8).reshape(2, 2, 2),
        {},
        "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]",
    ),
    (
        np.float32([1.5, 0.1, 1e10, 1e-10, np.nan, np.inf]),
        {"summarize": -1},
        "[1.5 0.1 1e+10 1e-10 nan inf]",
    ),
    (np.array([0.1, 1 / 3]), {}, "[0.1 0.33333333333333331]"),
    (np.array(0.1, np.float16), {}, "0.0999755859"),
    (np.array([True, False]), {}, "[1 0]"),
    (np.array([b"a", b"b"], object), {}, '["a" "b"]'),
    (np.array(b"str", object), {}, '"str"'),
    (np.zeros(0), {}, "[]"),
    (np.float32(123456789.0), {}, "123456792"),
]


@pytest.mark.parametrize(("array", "options", "text"), ARRAYS)
def test_arrays_are_written_as_in_tensorflow(array, options, text):
    assert array_text(np.asarray(array), **options) == text


LINES = {
    "'a', 1, t, 2.5": "a 1 [1 2 3] 2.5\n",
    "{'a': s, 'b': [s, 3]}, (s,), [1, 'x'], None": "{'a': 7, 'b': [7, 3]} (7,) [1, 'x'] None\n",
    "'x', 'y', sep='|', end='!'": "x|y!",
    "[t, 'q']": "[[1 2 3], 'q']\n",
    "Pair(s, 2)": "Pair(a=7, b=2)\n",
    "'%d {}', s": "%d {} 7\n",
    "": "\n",
    "np.array([1, 2])": "array([1, 2])\n",
    "tf2.Variable([1.0, 2.0])": "[1 2]\n",
}


@pytest.mark.parametrize("mode", ["eager", "function"])
@pytest.mark.parametrize("arguments", LINES)
def test_lines_are_tensorflows(eager, capsys, arguments, mode):
    names = {"Pair": Pair, "np": np, "tf2": tf2, "out": sys.stdout, "tf_print": tf_print}
    names["v"] = tf2.Variable([1.0, 2.0])
    call = f"tf_print({arguments}{', ' if arguments else ''}output_stream=out)"
    call = call.replace("tf2.Variable([1.0, 2.0])", "v")

    def write(t, s):
        eval(call, {**names, "t": t, "s": s})

    write = tf2.function(write) if mode == "function" else write
    write(tf2.constant([1, 2, 3]), tf2.constant(7))
    assert capsys.readouterr().out == LINES[arguments]


def test_functions_print_in_every_call(eager, capsys):
    f = tf2.function(lambda x: tf_print("now", x))
    for number in range(3):
        f(tf2.constant(number))
    assert capsys.readouterr().err == "now 0\nnow 1\nnow 2\n"


def test_only_the_chosen_branch_prints(eager, capsys):
    f = tf2.function(lambda p: cond(p, lambda: tf_print("yes"), lambda: tf_print("no")))
    f(tf2.constant(False))
    assert capsys.readouterr().err == "no\n"


def test_streams_can_be_chosen(eager, capsys, caplog, tmp_path):
    path = tmp_path / "log.txt"
    for _ in range(2):
        tf_print("line", output_stream=f"file://{path}")
    assert path.read_text() == "line\nline\n"
    with caplog.at_level(logging.WARNING, logger="berth"):
        tf_print("careful", output_stream=logging.warning)
    assert caplog.messages == ["careful"]
    assert capsys.readouterr().err == ""


def test_wrong_options_are_refused(eager):
    with pytest.raises(ValueError, match="Unrecognized keyword arguments"):
        tf_print(1, foo=2)
    with pytest.raises(ValueError, match="Unsupported output stream, logging level"):
        tf_print(1, output_stream="x")


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_old_print_passes_and_prints(sim, capsys, device):
    sim("T4")
    with tf.Graph().as_default():
        with tf.device(device):
            x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        data = [x, tf.constant(5), "s", tf.constant([1, 2, 3, 4])]
        passed = Print(x, data, message="M: ")
        [slope] = gradients(passed * passed, x)
        with tf.Session() as session:
            assert session.run(slope).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert capsys.readouterr().err == "M: [[1 2][3...]...][5][s][1 2 3...]\n"


def test_old_print_counts(capsys):
    with tf.Graph().as_default(), tf.Session() as session:
        printed = Print(tf.constant(1), [tf.constant(2)], first_n=2, message="F")
        for _ in range(4):
            session.run(printed)
    assert capsys.readouterr().err == "F[2]\nF[2]\n"


def test_graphs_print_when_asked(capsys):
    with tf.Graph().as_default(), tf.Session() as session:
        op = tf_print("hi", tf.constant([1, 2]))
        assert capsys.readouterr().err == ""
        session.run(op)
    assert capsys.readouterr().err == "hi [1 2]\n"
