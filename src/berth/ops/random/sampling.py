"""`random.shuffle` and `random.categorical`: TensorFlow's values, from TensorFlow's seeds.

Both are made as TensorFlow's kernels for CPUs make them (found by experiment with 2.21), on
every device. TensorFlow divides the rows of a large batch of choices among its threads, and
what it then draws depends on how many there are; here it is as with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, FLOATING, DType, as_dtype, float64, int64, uint64
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.random import philox
from berth.ops.random.seeded import get_seed, memory_of, reserve
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    check_rank,
    from_host,
    like_first,
)
from berth.ops.shape import Dims
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public, public_v1

# --- shuffle ------------------------------------------------------------------------------


def _order_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    dims = inputs[0].dims
    return ((int64, dims[:1]),) if dims else ()


def _bind_shuffle(launch: Launch) -> Call:
    value, out = launch.inputs[0], launch.outputs[0]
    if value.ndim == 0:
        return launch.xp.copyto, (out, value)
    mode = ("clip",) if launch.xp is np else ()
    order = launch.scratch[0]
    return _shuffle, (memory_of(launch), order, value.take, (order, 0, out, *mode))


def _shuffle(memory: dict[str, Any], order: Any, take: Any, arguments: Any) -> None:
    n_rows = order.size
    if not n_rows:
        return
    generator = reserve(memory, 0, -(-(n_rows - 1) // 4))  # of four words each
    copy = from_host(order, random_order(generator, n_rows))
    copy[0](*copy[1])
    take(*arguments)


def random_order(generator: philox.Generator, size: int) -> np.ndarray[Any, Any]:
    """Shuffle by swapping each number with a later one, or itself (Fisher-Yates)."""
    words = np.empty(size, np.uint32)
    scratch = np.empty(philox.scratch_size(size, words.dtype), np.uint64)
    philox.fill_bits(np, generator, words, scratch)
    places = np.arange(size, dtype=np.int64)
    others = (places + words % (size - places)).tolist()
    order = places.tolist()
    for place, other in enumerate(others[:-1]):  # each exchange depends on those before
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64)


RANDOM_SHUFFLE = OpDef(
    "RandomShuffle",
    "value:T",
    like_first,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_shuffle, _order_scratch),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(4, 2), seed=1, seed2=2",),
)


@public("random.shuffle")
@public_v1("random_shuffle")
def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffle the rows of a tensor at random.

    >>> sorted(shuffle([1, 2, 3]).numpy().tolist())
    [1, 2, 3]
    """
    return apply(RANDOM_SHUFFLE, (value,), _seeds(seed), name)


def _seeds(seed: int | None) -> dict[str, int]:
    first, second = get_seed(seed)
    return {"seed": first, "seed2": second}


# --- categorical --------------------------------------------------------------------------


def choices_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type and shape of samples: so many for each row of logits."""
    logits, n_samples = inputs[:2]
    try:
        check_rank(logits.dims, 2)
    except ValueError as error:
        raise ShapeMismatch(str(error), "logits should be a matrix") from None
    check_rank(n_samples.dims, 0)
    count = None if n_samples.value is None else int(n_samples.value)
    if count is not None and count < 0:
        message = (
            f"Dimension size, given by scalar input 1, must be non-negative but is {count}"
        )
        raise ShapeMismatch(message, f"num_samples should be non-negative, got {count}")
    n_rows = logits.dims[0] if logits.dims else None
    return ((attrs["output_dtype"], (n_rows, count)),)


def choices_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: random numbers, the generator's, and a row's cumulative probabilities."""
    dims: Dims = outputs[0][1]
    n_rows, n_samples = (size or 0 for size in dims or (0, 0))
    n_words = philox.scratch_size(n_rows * n_samples, np.float64)
    n_classes = (inputs[0].dims or (0, 0))[1]
    return ((float64, dims), (uint64, (n_words,)), (float64, (n_classes,)))


def _bind_choices(launch: Launch) -> Call:
    logits, out = launch.inputs[0], launch.outputs[0]
    n_rows, n_samples = out.shape
    check_classes(logits)
    # Four samples are drawn together, and each is made of two numbers.
    n_set_aside = n_rows * 2 * (n_samples + 3 & ~3)
    where = (launch.xp, logits, *launch.scratch, out)
    return _choose_next, (memory_of(launch), n_set_aside, where)


def check_classes(logits: Any) -> None:
    """Raise InvalidArgumentError if there are no classes."""
    if not logits.shape[1]:
        raise InvalidArgumentError(None, None, "num_classes should be positive, got 0")


def _choose_next(memory: dict[str, Any], n_drawn: int, where: tuple[Any, ...]) -> None:
    choose(reserve(memory, n_drawn), *where)


def choose(
    generator: philox.Generator,
    xp: Any,
    logits: Any,
    numbers: Any,
    words: Any,
    sums: Any,
    out: Any,
) -> None:
    """Sample classes for each row, by log-probabilities."""
    philox.fill_uniform(xp, generator, numbers, words)
    for row, points, chosen in zip(logits, numbers, out, strict=True):
        xp.copyto(sums, row)
        sums[~xp.isfinite(sums)] = -np.inf  # such classes have probability 0
        likeliest = float(sums.max())
        xp.subtract(sums, likeliest if likeliest > -np.inf else 0.0, sums)
        xp.exp(sums, sums)
        xp.cumsum(sums, out=sums)
        xp.multiply(points, sums[-1], points)
        chosen[...] = sums.searchsorted(points, "right")


MULTINOMIAL = OpDef(
    "Multinomial",
    "logits:T num_samples:int32",
    choices_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_choices, FLOATING, choices_scratch),
    host_inputs=(1,),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3), at(4), output_dtype=int64, seed=1, seed2=2",),
)


@public("random.categorical")
def categorical(
    logits: TensorLike,
    num_samples: Any,
    dtype: DTypeLike = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample from a categorical distribution, for each row of logits.

    >>> categorical([[0.0, -float("inf")]], 3).numpy().tolist()
    [[0, 0, 0]]
    """
    with scope("categorical", name):
        attrs = {"output_dtype": class_type(dtype), **_seeds(seed)}
        return apply(MULTINOMIAL, (convert(logits, None, "logits"), num_samples), attrs)


@public_v1("multinomial", "random.multinomial")
def multinomial(
    logits: TensorLike,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Sample from a categorical distribution, with TensorFlow 1's argument names.

    >>> multinomial([[0.0, -float("inf")]], 2).numpy().tolist()
    [[0, 0]]
    """
    with scope("multinomial", name):
        return categorical(logits, num_samples, output_dtype, seed)


def class_type(dtype: Any) -> DType:
    """Return the integer type of sampled classes."""
    wanted = int64 if dtype is None else as_dtype(dtype).base_dtype
    if wanted not in INDEX:
        raise ValueError(
            f"Argument `dtype` got invalid value {wanted}. Accepted dtypes are {INDEX}."
        )
    return wanted
