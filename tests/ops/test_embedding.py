"""Embedding lookups in one table or several, with gradients."""

from __future__ import annotations

import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.ops.nn import embedding
from tests.ops.gradient_checks import CPU, GPU, check_gradient, evaluate

RNG = np.random.default_rng(3)
TABLE = np.arange(12, dtype=np.float64).reshape(6, 2)


@pytest.mark.parametrize("device", [CPU, GPU])
@pytest.mark.parametrize("ids", [3, [1, 3, 1], [[0, 5], [2, 2]], []])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_rows_are_looked_up(ids, dtype, device):
    ids = np.array(ids, dtype)
    for function in (embedding.embedding_lookup, embedding.embedding_lookup_v1):
        [actual] = evaluate(function, [TABLE, ids], device)
        np.testing.assert_array_equal(actual, TABLE[ids])


@pytest.mark.parametrize("n_tables", [2, 3, 4])
@pytest.mark.parametrize("ids", [[0, 9, 4, 4, 7], [[1, 2], [8, 3]], 5])
@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_rows_are_spread_over_tables(strategy, ids, n_tables):
    rows = RNG.standard_normal((10, 3))
    tables = np.array_split(rows, n_tables)
    if strategy == "mod":
        tables = [rows[k::n_tables] for k in range(n_tables)]

    def look_up(*arrays):
        *tables, ids = arrays
        return embedding.embedding_lookup_v1(tables, ids, strategy)

    [actual] = evaluate(look_up, [*tables, np.array(ids)])
    np.testing.assert_array_equal(actual, rows[ids])
    if strategy == "div":
        [actual] = evaluate(
            lambda *a: embedding.embedding_lookup(a[:-1], a[-1]), [*tables, np.array(ids)]
        )
        np.testing.assert_array_equal(actual, rows[ids])
    if n_tables == 3:
        check_gradient(look_up, *tables, np.array(ids), devices=[CPU])


@pytest.mark.parametrize("n_tables", [1, 2])
def test_long_rows_are_shortened(n_tables):
    def look_up(table, ids):
        return embedding.embedding_lookup_v1([table] * n_tables, ids, max_norm=2.0)

    ids = np.array([[0, 1], [2, 3]])
    rows = TABLE[ids // n_tables]
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    [actual] = evaluate(look_up, [TABLE, ids])
    np.testing.assert_allclose(actual, rows * 2 / np.maximum(lengths, 2))
    check_gradient(look_up, TABLE + 1, ids, devices=[CPU], rtol=1e-5)


def test_variables_can_be_looked_up():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(TABLE)
        rows = embedding.embedding_lookup(table, [4, 0])
        [grad] = gradients(rows, [table])
        session.run(table.initializer)
        np.testing.assert_array_equal(session.run(rows), TABLE[[4, 0]])
        assert type(grad).__name__ == "IndexedSlices"


EMBEDDING_MISTAKES = {
    "embedding.embedding_lookup([], [1])": "Length of params is currently 0. Need at least one param.",
    "embedding.embedding_lookup(None, [1])": "params must be specified",
    "embedding.embedding_lookup_v1([TABLE, TABLE], [1], 'xx')": "Unrecognized partition strategy: xx.Must be one of either `mod` or `div`.",
}


@pytest.mark.parametrize(
    ("call", "message"), EMBEDDING_MISTAKES.items(), ids=EMBEDDING_MISTAKES
)
def test_nothing_is_looked_up_in_nothing(call, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        eval(call)
