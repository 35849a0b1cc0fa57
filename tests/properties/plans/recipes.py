"""Random graphs as hypothesis draws them: numbers that choose operations, shapes and devices."""

from __future__ import annotations

import os
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import berth.compat.v1 as tf

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
N_GPUS = 4


def some(n_examples: int) -> settings:
    """Bound a test: plans cost more than names do. What fails is made smaller in deep runs."""
    return settings(
        max_examples=n_examples * 90 if IS_DEEP else n_examples,
        deadline=None,
        phases=[
            phase for phase in Phase if IS_DEEP or phase not in (Phase.shrink, Phase.explain)
        ],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# --- recipes ----------------------------------------------------------------------------------


UNARY = ("negative", "abs", "square", "tanh", "relu", "sigmoid")
WILD = ("sin", "exp", "sqrt", "log", "reciprocal", "floor", "round", "sign")
"""Functions that make much of a little: for exact values only."""
OF_INTEGERS = ("negative", "abs", "square", "sign")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "squared_difference")
COMPARISONS = ("less", "greater_equal", "equal", "not_equal")
DTYPES = (tf.float32, tf.float32, tf.float64, tf.int32)
KINDS = {
    "constant": 2,
    "placeholder": 2,
    "variable": 1,
    "unary": 5,
    "binary": 6,
    "compare": 1,
    "choose": 1,
    "cast": 1,
    "matmul": 1,
    "reduce": 2,
    "pass_on": 2,
    "transpose": 1,
    "join": 1,
    "cut": 1,
    "reshape": 2,
    "shape": 1,
    "read": 2,
    "assign": 1,
    "assign_add": 2,
    "wait": 1,
}
"""How often each kind of node is made."""
FLAT_KINDS = {"placeholder": 1, "constant": 1, "unary": 5, "binary": 6, "cast": 4, "read": 1}
FLAT_KINDS |= {"compare": 1, "assign_add": 1, "shape": 1}


class Sizes(NamedTuple):
    """The shapes that sources have. None is the batch, which differs from feed to feed."""

    batches: tuple[int, int]
    batched: tuple[tuple[int | None, ...], ...]
    fixed: tuple[tuple[int, ...], ...]
    most: int
    """The largest number of elements."""
    kinds: dict[str, int] = KINDS


SMALL = Sizes(
    (101, 37),
    ((None, 48), (None, 1), (None,), (None, 2, 3)),
    ((), (48,), (1, 48), (48, 48), (3,), (1,), (0, 48)),
    20_000,
)
LARGE = Sizes(
    (307, 521), ((None, 256), (None, 1)), ((), (256,), (277, 256), (70_003,)), 310_000
)
FLAT = Sizes((70_001, 150_001), ((None,),), ((), (66_000,)), 300_000, FLAT_KINDS)
"""One large shape: chains that are done in slices."""
DYNAMIC = SMALL._replace(kinds={**KINDS, "dynamic": 6})
"""Shapes that depend on values."""


class Recipe(NamedTuple):
    """A graph as numbers: what each node is, and where its inputs and device come from."""

    sizes: Sizes
    n_gpus: int
    steps: list[tuple[str, int, int, int]]
    fetches: list[int]
    override: int | None
    """An inner tensor that is fed."""


numbers = st.integers(0, 2**16)


def recipes(sizes: Sizes, most: int = 60) -> st.SearchStrategy[Recipe]:
    kinds = [kind for kind, weight in sizes.kinds.items() for _ in range(weight)]
    step = st.tuples(st.sampled_from(kinds), numbers, numbers, numbers)
    return st.builds(
        Recipe,
        st.just(sizes),
        st.integers(1, N_GPUS),
        st.integers(10, most).flatmap(lambda n: st.lists(step, min_size=n, max_size=n)),
        st.lists(numbers, min_size=1, max_size=6),
        st.none() | numbers,
    )
