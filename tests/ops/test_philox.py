"""Philox: tables recorded from TensorFlow 2.21's CPU kernels, and laws of our own.

Each table holds two runs, one after the other, of one operation in one Session. Its seeds
are 7 and -3 unless stated otherwise.
"""

from __future__ import annotations

import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest

from berth.ops.random.philox import (
    Generator,
    fill_integers,
    fill_normal,
    fill_truncated_normal,
    fill_uniform,
    scratch_size,
)

SEEDED = Generator.seeded(7, -3)
MIN32, MAX32, MIN64, MAX64 = -(2**31), 2**31 - 1, -(2**63), 2**63 - 1
FILLS = {"uniform": fill_uniform, "normal": fill_normal, "truncated": fill_truncated_normal}

UNIFORM = {
    "float32": (
        [
            0.4967533349990845,
            0.25606584548950195,
            0.4637199640274048,
            0.687981128692627,
            0.7690023183822632,
        ],
        [
            0.9558051824569702,
            0.05881071090698242,
            0.958812952041626,
            0.14561796188354492,
            0.3065847158432007,
        ],
    ),
    "float64": (
        [
            0.974026848107699,
            0.7097604604214078,
            0.1520189912523784,
            0.02522040912255652,
            0.6321733861008698,
        ],
        [
            0.6464420874767205,
            0.6705039425671435,
            0.4526780743247918,
            0.2237992934366062,
            0.3914456535803965,
        ],
    ),
    "float16": (
        [0.4033203125, 0.69140625, 0.7939453125, 0.94140625, 0.6669921875],
        [0.9560546875, 0.77734375, 0.595703125, 0.90234375, 0.5419921875],
    ),
}
NORMAL = {
    "float32": (
        [
            1.1820709705352783,
            -0.04507386311888695,
            -1.1467969417572021,
            -0.4709623456001282,
            0.1134524866938591,
        ],
        [
            0.10859188437461853,
            0.28037500381469727,
            0.22985869646072388,
            0.17687147855758667,
            -0.9436483979225159,
        ],
    ),
    "float64": (
        [
            -0.2221247183879717,
            -0.05738842510014029,
            0.3062947037529629,
            1.9166854727456475,
            -0.9494654162201338,
        ],
        [
            -0.8199790902089069,
            -0.44741213467748064,
            1.2420046922793926,
            0.20633095267105522,
            1.136263033712566,
        ],
    ),
    "float16": (
        [1.181640625, -0.045074462890625, -1.146484375, -0.470947265625, 0.11346435546875],
        [0.10858154296875, 0.2802734375, 0.2298583984375, 0.1768798828125, -0.94384765625],
    ),
}
TRUNCATED = {
    "float32": (
        [
            1.1820709705352783,
            -0.04507386311888695,
            -1.1467969417572021,
            -0.4709623456001282,
            0.37157467007637024,
        ],
        [
            0.10859188437461853,
            0.28037500381469727,
            0.22985869646072388,
            0.17687147855758667,
            -1.9179855585098267,
        ],
    ),
    "float64": (
        [
            -0.2221247183879717,
            -0.05738842510014029,
            0.4168338828315258,
            -0.24223904319711814,
            -1.1605085994275213,
        ],
        [
            -0.8199790902089069,
            -0.44741213467748064,
            -0.254722694350989,
            -1.3854978289371545,
            0.7831111991577184,
        ],
    ),
    "float16": (
        [1.181640625, -0.045074462890625, -1.146484375, -0.470947265625, 0.37158203125],
        [0.10858154296875, 0.2802734375, 0.2298583984375, 0.1768798828125, -1.91796875],
    ),
}
INTEGERS = [
    ("int32", -5, 95, ([32, 51, 72, 7, 54], [90, 31, 17, 27, 34])),
    (
        "int32",
        MIN32,
        MAX32,
        (
            [-708864611, -1390360892, 490429229, 1222119364, 1633840811],
            [1761236947, 679970588, 813349474, -678255716, -970506709],
        ),
    ),
    (
        "int64",
        -(10**15),
        10**6,
        (
            [
                -182525734993187,
                -665274790991571,
                -33197493965589,
                -717208434341107,
                -435882725254815,
            ],
            [
                -176533677613549,
                -714085039455006,
                -840762267506837,
                -825045291892306,
                -66588718475172,
            ],
        ),
    ),
    (
        "int64",
        MIN64,
        MAX64,
        (
            [
                -5971554559338768995,
                5248962702826232621,
                -631405225757741397,
                289910764223883085,
                6281192095923969377,
            ],
            [
                2920451441610610643,
                -2913086115584230814,
                -2500212792399282645,
                1252802928329331886,
                325561383974749020,
            ],
        ),
    ),
]


def draw(
    kind: str,
    generator: Generator,
    shape: Any,
    dtype: str = "float32",
    *,
    block_counters: int = 2**14,
    xp: Any = np,
    **limits: int,
) -> np.ndarray:
    out = np.empty(shape, dtype)
    n_words = scratch_size(
        out.size, dtype, truncated=kind == "truncated", block_counters=block_counters
    )
    scratch = np.full(n_words, 0xDEADBEEF, np.uint64)
    if kind == "integers":
        fill_integers(xp, generator, out, scratch, **limits)
    else:
        FILLS[kind](xp, generator, out, scratch)
    return out


def n_ulps(found: np.ndarray, expected: Any) -> float:
    wanted = np.asarray(expected, found.dtype)
    error = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return float((error / np.spacing(np.abs(wanted)).astype(np.float64)).max())


@pytest.mark.parametrize("dtype", UNIFORM)
def test_uniforms_equal_tensorflow(dtype):
    first, second = UNIFORM[dtype]
    assert draw("uniform", SEEDED, 5, dtype).tolist() == first
    assert draw("uniform", SEEDED.after(5), 5, dtype).tolist() == second


@pytest.mark.parametrize(("dtype", "low", "high", "runs"), INTEGERS)
def test_integers_equal_tensorflow(dtype, low, high, runs):
    first, second = runs
    assert draw("integers", SEEDED, 5, dtype, low=low, high=high).tolist() == first
    assert draw("integers", SEEDED.after(5), 5, dtype, low=low, high=high).tolist() == second


@pytest.mark.parametrize("dtype", NORMAL)
@pytest.mark.parametrize(("kind", "table"), [("normal", NORMAL), ("truncated", TRUNCATED)])
def test_normals_equal_tensorflow_nearly(kind, table, dtype):
    first, second = table[dtype]
    assert n_ulps(draw(kind, SEEDED, 5, dtype), first) <= 3
    assert n_ulps(draw(kind, SEEDED.after(5), 5, dtype), second) <= 3


@pytest.mark.parametrize(
    ("dtype", "first", "second"),
    [
        ("float32", 3785782232, 1320306501),
        ("float64", 522507658, 2029172021),
        ("float16", 3890511918, 132939679),
        ("int32", 3794994222, 1197671264),
        ("int64", 2440359094, 1022504183),
    ],
)
def test_million_samples_equal_tensorflow(dtype, first, second):
    kind = "integers" if dtype.startswith("int") else "uniform"
    limits = {"low": -1000, "high": 1000} if kind == "integers" else {}
    n = 1_000_003
    assert zlib.crc32(draw(kind, SEEDED, n, dtype, **limits).tobytes()) == first
    assert zlib.crc32(draw(kind, SEEDED.after(n), n, dtype, **limits).tobytes()) == second


def test_runs_may_differ_in_shape():
    """TensorFlow, with seeds 3 and 4 and the shape fed: a run of nothing skips nothing."""
    generator, found = Generator.seeded(3, 4), []
    for shape in ((3,), (0,), (2, 1), (), (1,)):
        values = draw("uniform", generator, shape)
        assert values.shape == shape
        found.append(values.reshape(-1).tolist())
        generator = generator.after(values.size)
    assert found == [
        [0.9237366914749146, 0.37043046951293945, 0.9481984376907349],
        [],
        [0.9067507982254028, 0.29265379905700684],
        [0.8628836870193481],
        [0.2738046646118164],
    ]


def test_extreme_seeds_equal_tensorflow():
    first = [0.6334836483001709, 0.02757096290588379, 0.1238478422164917, 0.3737826347351074]
    assert draw("uniform", Generator.seeded(MIN64, MAX64), 4).tolist() == first


def test_carry_reaches_upper_half():
    """TensorFlow's StatelessRandomUniformV2, given the key and the counter as such."""
    across = Generator(99, (5 << 64) + 2**64 - 2)
    assert draw("uniform", across, 14)[-2:].tolist() == [
        0.023340344429016113,
        0.8853466510772705,
    ]
    around = Generator(99, 2**128 - 2)
    assert draw("uniform", around, 14)[-2:].tolist() == [0.8784518241882324, 0.8700926303863525]
    expected = [-1.76596200466156, -0.601600170135498, 0.3669077455997467, 0.9847615957260132]
    expected += [1.3145240545272827, -0.5958360433578491]
    assert n_ulps(draw("truncated", across, 6), expected) <= 3


def test_smallest_uniforms_are_raised():
    """Box-Muller takes 1e-7 for less. TensorFlow's 16776422nd and 3710928th samples."""
    single = draw("normal", Generator.seeded(1, 0).skip(16776420 // 4), 4)
    assert n_ulps(single[2:], [5.550652980804443, -1.1943389177322388]) <= 3
    double = draw("normal", Generator.seeded(2, 0).skip(3710928 // 2), 2, "float64")
    assert n_ulps(double, [3.1974029588114385, -4.69178064501107]) <= 3


def test_unlucky_group_draws_three_times():
    expected = [0.711972713470459, 0.5490007996559143, 0.727073609828949, 1.4505947828292847]
    assert n_ulps(draw("truncated", SEEDED, 3000)[2772:2776], expected) <= 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", FILLS)
@pytest.mark.parametrize("block_counters", [1, 7, 64])
def test_block_size_changes_nothing(kind, dtype, block_counters):
    whole = draw(kind, SEEDED, (3, 167), dtype)
    blocks = draw(kind, SEEDED, (3, 167), dtype, block_counters=block_counters)
    assert np.array_equal(whole, blocks)


@pytest.mark.parametrize("kind", FILLS)
@pytest.mark.parametrize("n", range(10))
def test_shorter_output_is_a_prefix(kind, n):
    assert np.array_equal(draw(kind, SEEDED, n), draw(kind, SEEDED, 12)[:n])


def test_fill_stays_within_its_output():
    memory = np.zeros(1003, np.float32)
    fill_uniform(np, SEEDED, memory[1:1000], np.empty(50, np.uint64))
    assert np.array_equal(memory[1:1000], draw("uniform", SEEDED, 999))
    assert not memory[[0, 1000, 1001, 1002]].any()


def test_position_advances_by_256_each():
    assert SEEDED.after(0) == SEEDED
    assert SEEDED.after(3).after(4) == SEEDED.after(7) == SEEDED.skip(7 * 256)
    assert Generator(1, 2**128 - 256).after(2) == Generator(1, 256)
    assert Generator.seeded(-1, -2) == Generator(2**64 - 1, (2**64 - 2) << 64)


def test_skipping_counters_skips_samples():
    assert np.array_equal(draw("uniform", SEEDED.skip(5), 40), draw("uniform", SEEDED, 60)[20:])


@pytest.mark.parametrize(
    ("kind", "mean", "deviation"),
    [("uniform", 0.5, 12**-0.5), ("normal", 0.0, 1.0), ("truncated", 0.0, 0.8796)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_are_as_expected(kind, mean, deviation, dtype):
    values = draw(kind, Generator.seeded(1, 2), 200_000, dtype)
    assert abs(values.mean() - mean) < 0.01
    assert abs(values.std() - deviation) < 0.01


def test_values_keep_to_their_range():
    uniform = draw("uniform", SEEDED, 100_000, "float16")
    assert (uniform.min(), uniform.max()) == (0, 1 - 2**-10)
    assert 1.99 < np.abs(draw("truncated", SEEDED, 100_000)).max() < 2
    assert set(draw("integers", SEEDED, 1000, "int32", low=-3, high=2).tolist()) == {
        -3,
        -2,
        -1,
        0,
        1,
    }
    assert set(draw("integers", SEEDED, 10, "int64", low=MAX64 - 1, high=MAX64)) == {MAX64 - 1}


class OutputsNamed:
    """NumPy, where every call must say where its result goes."""

    def __getattr__(self, name: str) -> Any:
        def call(*inputs: Any, out: np.ndarray, **options: Any) -> Any:
            return getattr(np, name)(*inputs, out=out, **options)

        return call


@pytest.mark.parametrize("kind", FILLS)
def test_memory_is_bounded_by_scratch(kind):
    out = np.empty(400_000, np.float32)
    scratch = np.empty(scratch_size(out.size, "float32", truncated=True), np.uint64)
    tracemalloc.start()
    FILLS[kind](OutputsNamed(), SEEDED, out, scratch[: scratch.size // 8])
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < scratch.nbytes // 8 < out.nbytes // 8


def test_scratch_is_small_and_enough():
    assert scratch_size(10**9, "float32") == 5 * 2**14
    assert scratch_size(9, "float32") == 5 * 3
    assert scratch_size(9, "float64", truncated=True) == 10 * 5
    assert scratch_size(0, "float64") == 5
    with pytest.raises(ValueError, match="in 4 words of scratch memory: they need 5 at least"):
        fill_uniform(np, SEEDED, np.empty(1), np.empty(4, np.uint64))


def test_output_must_be_contiguous():
    with pytest.raises(ValueError, match="not C-contiguous"):
        fill_uniform(np, SEEDED, np.empty((4, 4)).T, np.empty(50, np.uint64))
