"""Random operations: their seeds, and TensorFlow's own values (recorded from 2.21)."""

from __future__ import annotations

import numpy as np
import pytest

from berth.dtypes import float16, float32, float64, int32
from berth.errors import InvalidArgumentError
from berth.graph.graph import Graph
from berth.ops.arrays.array import constant
from berth.ops.opdef import CATALOGUE
from berth.ops.random.seeded import (
    random_normal,
    random_uniform,
    set_random_seed,
    truncated_normal,
)
from tests.ops.calls import bind, compute, run

RANDOM = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")


def draw(name, shape, seed, seed2, *, dtype=float32, n_runs=1):
    """Run an operation several times in one session."""
    attrs = {"dtype": dtype, "seed": seed, "seed2": seed2}
    (function, arguments), [out] = bind(CATALOGUE[name], [np.array(shape, np.int32)], attrs)
    drawn = []
    for _ in range(n_runs):
        function(*arguments)
        drawn.append(out.copy())
    return drawn


@pytest.mark.parametrize(
    ("name", "seed2", "expected"),
    [
        (
            "RandomUniform",
            0,
            [[0.7537285, 0.0779376, 0.45880914], [0.79150355, 0.5101167, 0.5416639]],
        ),
        (
            "RandomStandardNormal",
            1,
            [[-0.5408054, 1.122033, 1.174174], [0.8731191, -1.0898885, 0.44136405]],
        ),
        (
            "TruncatedNormal",
            2,
            [[-1.4716817, -0.61645555, -0.3706751], [-0.85061574, 0.2080344, 0.1514065]],
        ),
    ],
)
def test_values_are_tensorflows_from_run_to_run(name, seed2, expected):
    np.testing.assert_allclose(draw(name, [3], 7, seed2, n_runs=2), expected, rtol=2e-7)


def test_integers_are_tensorflows_from_run_to_run():
    attrs = {"seed": 7, "seed2": 3}
    inputs = [np.array([3], np.int32), np.array(0, np.int32), np.array(100, np.int32)]
    (function, arguments), [out] = bind(CATALOGUE["RandomUniformInt"], inputs, attrs)
    function(*arguments)
    assert out.tolist() == [93, 58, 0]
    function(*arguments)
    assert out.tolist() == [93, 24, 25]


def test_a_range_is_scaled_as_in_tensorflow():
    expected = [-0.19782424, -0.24632215, -0.3814144]
    graph = Graph()
    graph.seed = 7
    with graph.as_default():
        tensor = random_uniform([3], -1, 1, seed=3)
    sample_op = next(op for op in graph.ops if op.type == "RandomUniform")
    [sample] = draw("RandomUniform", [3], sample_op.attrs["seed"], sample_op.attrs["seed2"])
    np.testing.assert_allclose(sample * np.float32(2) - np.float32(1), expected, rtol=1e-6)
    assert tensor.dims == (3,)


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("dtype", [float16, float32, float64])
@pytest.mark.parametrize("shape", [[], [0, 3], [1000], [7, 11]])
def test_any_shape_and_type_is_filled(name, dtype, shape):
    [values] = draw(name, shape, 1, 2, dtype=dtype)
    assert values.dtype == dtype.np_dtype
    assert values.shape == tuple(shape)
    low, high = {"RandomUniform": (0, 1), "TruncatedNormal": (-2, 2)}.get(name, (-9, 9))
    assert ((values >= low) & (values <= high)).all()


@pytest.mark.parametrize("name", RANDOM)
def test_without_seeds_sessions_differ(name):
    first, second = draw(name, [100], 0, 0), draw(name, [100], 0, 0)
    assert not np.array_equal(first, second)


def test_integers_need_a_range():
    with pytest.raises(InvalidArgumentError) as caught:
        run("RandomUniformInt", np.array([2]), np.int32(5), np.int32(3), seed=1, seed2=2)
    assert str(caught.value) == "Need minval < maxval, got 5 >= 3"


def seeds_of(build, graph_seed=None):
    graph = Graph()
    with graph.as_default():
        set_random_seed(graph_seed)
        build()
    return [(op.attrs["seed"], op.attrs["seed2"]) for op in graph.ops if "seed" in op.attrs]


@pytest.mark.parametrize(
    ("graph_seed", "op_seed", "expected"),
    [
        (None, None, (0, 0)),
        (None, 5, (87654321, 5)),
        (None, 0, (87654321, 0)),
        (7, None, (7, 0)),
        (7, 5, (7, 5)),
        (0, None, (0, 2**31 - 1)),
        (0, 0, (0, 2**31 - 1)),
        (2**35, 2**40, (16, 512)),
        (-2, -3, (2**31 - 3, 2**31 - 4)),
    ],
)
def test_seeds_are_paired_as_in_tensorflow(graph_seed, op_seed, expected):
    assert seeds_of(lambda: random_uniform([2], seed=op_seed), graph_seed) == [expected]


def test_unseeded_operations_are_counted():
    def build():
        constant(1)
        random_uniform([2])
        random_normal([2])
        random_uniform([2], seed=4)
        truncated_normal([2])
        random_uniform([2], maxval=9, dtype=int32)

    assert seeds_of(build, 7) == [(7, 0), (7, 1), (7, 4), (7, 2), (7, 3)]


def test_random_operations_are_never_folded():
    assert all(CATALOGUE[name].is_stateful for name in (*RANDOM, "RandomUniformInt"))


def test_normals_are_moved_and_stretched():
    values = compute("tf.truncated_normal([1000], 5.0, 0.5, seed=1)")
    assert 4 < values.min() < 4.5
    assert 5.5 < values.max() < 6
