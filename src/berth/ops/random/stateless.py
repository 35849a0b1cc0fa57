"""Stateless random tensors: TensorFlow's values, determined by the seed alone.

A seed is two integers, and a tensor like any other. What the generator starts with is the
seed, encrypted: seeds that differ in one bit give sequences that have nothing in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from berth.dtypes import (
    FLOATING,
    DType,
    as_dtype,
    bfloat16,
    float32,
    int32,
    int64,
    uint32,
    uint64,
)
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.compose import convert, convert_like, scope
from berth.ops.elementwise.arithmetic import add, multiply
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    ScratchShapes,
    Typed,
    all_devices,
)
from berth.ops.random import philox
from berth.ops.random.narrowing import to_bfloat16
from berth.ops.random.sampling import (
    check_classes,
    choices_scratch,
    choices_type,
    choose,
    class_type,
)
from berth.ops.rules import INDEX, ShapeMismatch, check_rank, shape_of_value
from berth.ops.types import DTypeLike, ShapeLike, Tensor, TensorLike
from berth.public import public

# --- seeds --------------------------------------------------------------------------------

_KEY = 0x02461E29_3EC8F720
"""What seeds are encrypted with."""
_LOW64 = 2**64 - 1


def generator_of(seed: Any) -> philox.Generator:
    """Start position of an operation with this seed."""
    first, second = (int(part) & _LOW64 for part in seed.tolist())
    words = np.empty(2, np.uint64)
    scratch = np.empty(philox.scratch_size(2, words.dtype), np.uint64)
    philox.fill_bits(np, philox.Generator(_KEY, second << 64 | first), words, scratch)
    key, high = words.tolist()
    return philox.Generator(key, high << 64)


def check_seed(seed: Typed) -> None:
    """Raise ValueError for a seed that is not two numbers."""
    check_rank(seed.dims, 1)
    n_parts = seed.dims[0] if seed.dims else None
    if n_parts not in (2, None):
        message = f"Dimension must be 2 but is {n_parts}"
        raise ShapeMismatch(message, f"seed must have shape [2], not [{n_parts}]")


# --- kernels ------------------------------------------------------------------------------


def _random_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    shape, seed, *bounds = inputs
    check_seed(seed)
    for bound in bounds:
        check_rank(bound.dims, 0)
    return ((attrs["dtype"], shape_of_value(shape)),)


def scratch_shapes(truncated: bool = False) -> ScratchShapes:
    """Make the rule for the scratch memory of random tensors."""

    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        dtype, dims = outputs[0]
        n_samples = int(np.prod([size or 0 for size in dims or ()], dtype=np.int64))
        n_words = philox.scratch_size(n_samples, dtype.np_dtype, truncated=truncated)
        return ((uint64, (n_words,)),)

    return scratch


def _bind_by(fill: Any) -> Bind:
    def bind(launch: Launch) -> Call:
        seed, out = launch.inputs[1], launch.outputs[0]
        return _draw, (fill, launch.xp, seed, out, launch.scratch[0])

    return bind


def _draw(fill: Any, xp: Any, seed: Any, out: Any, scratch: Any) -> None:
    fill(xp, generator_of(seed), out, scratch)


def _bind_integers(launch: Launch) -> Call:
    _, seed, low, high = launch.inputs
    return _draw_integers, (launch.xp, seed, low, high, launch.outputs[0], launch.scratch[0])


def _draw_integers(xp: Any, seed: Any, low: Any, high: Any, out: Any, scratch: Any) -> None:
    low, high = int(low), int(high)
    if low >= high:
        message = f"Need minval < maxval, got {low} >= {high}"
        raise InvalidArgumentError(None, None, message)
    _draw(partial(philox.fill_integers, low=low, high=high), xp, seed, out, scratch)


def _op(
    name: str,
    bind: Bind,
    dtypes: Sequence[DType],
    bounds: str = "",
    truncated: bool = False,
    sample: str = "i(2, 3), i(3, 4), dtype=float32",
) -> OpDef:
    return OpDef(
        name,
        f"shape:T seed:Tseed {bounds}",
        _random_type,
        types={"T": INDEX, "Tseed": INDEX, "Tout": dtypes},
        kernels=all_devices(bind, dtypes, scratch_shapes(truncated)),
        host_inputs=(0,),
        gradient=NOT_DIFFERENTIABLE,
        samples=(sample,),
    )


STATELESS_UNIFORM = _op("StatelessRandomUniform", _bind_by(philox.fill_uniform), FLOATING)
STATELESS_NORMAL = _op("StatelessRandomNormal", _bind_by(philox.fill_normal), FLOATING)
STATELESS_TRUNCATED_NORMAL = _op(
    "StatelessTruncatedNormal",
    _bind_by(philox.fill_truncated_normal),
    FLOATING,
    truncated=True,
)
STATELESS_INTEGERS = _op(
    "StatelessRandomUniformInt",
    _bind_integers,
    INDEX,
    "minval:Tout maxval:Tout",
    sample="i(2, 3), i(3, 4), at(1), at(9), dtype=int32",
)
_ALL_BITS = (*INDEX, uint32, uint64)
STATELESS_BITS = _op(
    "StatelessRandomUniformFullInt",
    _bind_by(philox.fill_bits),
    _ALL_BITS,
    sample="i(2, 3), i(3, 4), dtype=uint64",
)


def _choices_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    check_seed(inputs[2])
    return choices_type(inputs, attrs)


def _bind_choices(launch: Launch) -> Call:
    logits, _, seed = launch.inputs
    check_classes(logits)
    return _choose, (seed, (launch.xp, logits, *launch.scratch, launch.outputs[0]))


def _choose(seed: Any, where: tuple[Any, ...]) -> None:
    choose(generator_of(seed), *where)


STATELESS_MULTINOMIAL = OpDef(
    "StatelessMultinomial",
    "logits:T num_samples:int32 seed:Tseed",
    _choices_type,
    types={"T": FLOATING, "Tseed": INDEX},
    kernels=all_devices(_bind_choices, FLOATING, choices_scratch),
    host_inputs=(1,),
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3), at(4), i(3, 4), output_dtype=int32",),
)

# --- public functions ---------------------------------------------------------------------


def check_algorithm(alg: Any) -> None:
    """Raise ValueError for an algorithm other than Philox."""
    name = str(getattr(alg, "value", alg)).lower()
    if name not in ("auto_select", "philox", "1", "3"):
        raise ValueError(
            f"Argument `alg` got unsupported value {alg!r}. Supported values are 'philox' and "
            "'auto_select'."
        )


@public("random.stateless_uniform")
def stateless_uniform(
    shape: ShapeLike,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Random values from a uniform distribution, determined by the seed.

    Integers without bounds (both None) are any that the type can hold.

    >>> stateless_uniform([2], [1, 2], 0, 100, dtype="int32").numpy().tolist()
    [40, 49]
    """
    check_algorithm(alg)
    wanted = as_dtype(dtype).base_dtype
    _check_bounds(minval, maxval, wanted)
    with scope("stateless_random_uniform", name) as inner:
        shape, attrs = convert_like(shape, int32, "shape"), {"dtype": wanted}
        if wanted.is_integer and minval is None:
            return apply(STATELESS_BITS, (shape, seed), attrs, inner)
        low = convert(minval, wanted, "min")
        high = convert(1 if maxval is None else maxval, wanted, "max")
        if wanted.is_integer:
            return apply(STATELESS_INTEGERS, (shape, seed, low, high), attrs, inner)
        if wanted is bfloat16:
            sample = to_bfloat16(apply(STATELESS_UNIFORM, (shape, seed), {"dtype": float32}))
        else:
            sample = apply(STATELESS_UNIFORM, (shape, seed), attrs)
        return add(multiply(sample, high - low), low, name=inner)


def _check_bounds(minval: Any, maxval: Any, dtype: DType) -> None:
    allowed = (*FLOATING, *_ALL_BITS)
    if dtype not in allowed and dtype is not bfloat16:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {allowed}."
        )
    if not dtype.is_integer:
        return
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be "
            f"both None or not None. Got `minval`={minval} and `maxval`={maxval}."
        )
    if minval is not None and dtype.is_unsigned:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype} when argument `minval` is not None. "
            "Please don't use unsigned integers in this case."
        )


@public("random.stateless_normal")
def stateless_normal(
    shape: ShapeLike,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Random values from a normal distribution, determined by the seed.

    >>> [round(float(x), 4) for x in stateless_normal([3], [1, 2]).numpy()]
    [0.5441, 0.2074, 0.0736]
    """
    check_algorithm(alg)
    with scope("stateless_random_normal", name) as inner:
        return _scaled(STATELESS_NORMAL, (shape, seed, mean, stddev), as_dtype(dtype), inner)


@public("random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: ShapeLike,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Random values from a truncated normal distribution, determined by the seed.

    >>> bool(abs(stateless_truncated_normal([100], [1, 2]).numpy()).max() < 2)
    True
    """
    check_algorithm(alg)
    with scope("stateless_truncated_normal", name) as inner:
        arguments = shape, seed, mean, stddev
        return _scaled(STATELESS_TRUNCATED_NORMAL, arguments, as_dtype(dtype), inner)


def _scaled(op: OpDef, arguments: tuple[Any, ...], dtype: DType, name: str) -> Tensor:
    shape, seed, mean, stddev = arguments
    shape = convert_like(shape, int32, "shape")
    mean, stddev = convert(mean, dtype, "mean"), convert(stddev, dtype, "stddev")
    sample = apply(op, (shape, seed), {"dtype": dtype})
    return add(multiply(sample, stddev), mean, name=name)


@public("random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike,
    num_samples: Any,
    seed: Any,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Sample from a categorical distribution, determined by the seed.

    >>> stateless_categorical([[0.0, -float("inf")]], 3, [1, 2]).numpy().tolist()
    [[0, 0, 0]]
    """
    with scope("stateless_categorical", name):
        attrs = {"output_dtype": class_type(dtype)}
        inputs = convert(logits, None, "logits"), num_samples, seed
        return apply(STATELESS_MULTINOMIAL, inputs, attrs)
