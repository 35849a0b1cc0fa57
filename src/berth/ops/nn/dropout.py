"""Dropout: elements set to 0 at random in training, the others scaled up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from berth.ops.arrays.array import either_name
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.stacking import pack
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.arithmetic import multiply, truediv
from berth.ops.elementwise.compare import greater_equal
from berth.ops.random.seeded import get_seed, random_uniform
from berth.ops.random.stateless import stateless_uniform
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

Sample: TypeAlias = Callable[[Any, Any], Any]
"""A function that samples uniformly from [0, 1), of a shape and a dtype."""


@public_v2("nn.dropout")
def dropout(
    x: TensorLike,
    rate: Any,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Dropout: set elements to 0 with probability `rate`, scale the others by 1 / (1 - rate).

    Where `noise_shape` has a size of 1, elements along the axis are dropped together.

    >>> dropout([1.0, 2.0], rate=0).numpy().tolist()
    [1.0, 2.0]
    """

    def sample(shape: Any, dtype: Any) -> Any:
        return random_uniform(shape, dtype=dtype, seed=seed)

    if _is_number(rate) and not rate:
        get_seed(seed)  # keeps the seeds of other random operations unchanged
    result: Tensor = _dropout(x, rate, noise_shape, sample, name or "dropout")
    return result


def _dropout(x: Any, rate: Any, noise_shape: Any, sample: Sample, name: str) -> Any:
    """Set elements to 0 where a uniform sample is less than `rate`."""
    with scope(name):
        x = convert(x, None, "x")
        _check(x, rate)
        if _is_number(rate) and not rate:
            return x
        dtype = x.dtype.base_dtype
        if _is_number(rate):
            scaled = multiply(x, 1 / (1 - float(rate)), name="Mul")
        else:
            rate = convert(rate, dtype, "rate")
            scaled = truediv(x, 1 - rate)
        noise = sample(_noise_shape(x, noise_shape), dtype)
        kept = greater_equal(noise, rate)
        output = where_v2(kept, scaled, convert(0, dtype))
        if output.dims != x.dims and x.dims is not None:
            output.set_shape(x.dims)
        return output


@public("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: TensorLike,
    rate: Any,
    seed: Any,
    rng_alg: Any = "auto_select",
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Dropout whose mask is determined by the seed, two integers.

    >>> stateless_dropout([1.0, 2.0, 3.0, 4.0], 0.5, seed=[1, 2]).numpy().tolist()
    [2.0, 0.0, 6.0, 0.0]
    """

    def sample(shape: Any, dtype: Any) -> Any:
        return stateless_uniform(shape, seed, dtype=dtype, alg=rng_alg)

    result: Tensor = _dropout(x, rate, noise_shape, sample, name or "stateless_dropout")
    return result


@public("nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike,
    rate: Any,
    uniform_sampler: Sample,
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Dropout whose mask is made of what a function of shape and dtype samples.

    >>> sampler = lambda shape, dtype: stateless_uniform(shape, [1, 2], dtype=dtype)
    >>> general_dropout([1.0, 2.0, 3.0, 4.0], 0.5, sampler).numpy().tolist()
    [2.0, 0.0, 6.0, 0.0]
    """
    result: Tensor = _dropout(x, rate, noise_shape, uniform_sampler, name or "general_dropout")
    return result


@public_v1("nn.dropout")
def dropout_v1(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Dropout, with TensorFlow 1's argument names; `keep_prob` is 1 - rate.

    >>> dropout_v1([1.0, 2.0], keep_prob=1.0).numpy().tolist()
    [1.0, 2.0]
    """
    rate = either_name("rate", rate, "keep_prob", None if keep_prob is None else 1 - keep_prob)
    if rate is None:
        raise ValueError("`rate` must be provided. Received: rate=None")
    return dropout(x, rate, noise_shape, seed, name)


def _is_number(rate: Any) -> bool:
    return isinstance(rate, int | float | np.floating | np.integer)


def _check(x: Any, rate: Any) -> None:
    if _is_number(rate) and not 0 <= rate < 1:
        raise ValueError(
            "`rate` must be a scalar tensor or a float in the range [0, 1). Received: "
            f"rate={rate}"
        )
    if not x.dtype.is_floating:
        raise ValueError(
            "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: "
            f"x_dtype={x.dtype.base_dtype}"
        )
    if _is_number(rate):
        return
    known = type_of(rate)
    if known is None:
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
    if known is not x.dtype.base_dtype:
        raise ValueError(
            "`x.dtype` must be compatible with `rate.dtype`. Received: "
            f"x.dtype={x.dtype.base_dtype} and rate.dtype={known}"
        )
    if rate.shape.rank not in (0, None):
        raise ValueError(f"Shape {rate.shape} must have rank 0")


def _noise_shape(x: Any, noise_shape: Any) -> Any:
    """Return the shape of the random mask; unknown sizes are those of x."""
    if noise_shape is None:
        return shape(x)
    if type_of(noise_shape) is not None:
        return noise_shape
    if isinstance(noise_shape, TensorShape):
        noise_shape = noise_shape.as_list()
    sizes = list(noise_shape)
    if None not in sizes:
        return sizes
    known = x.dims or (None,) * len(sizes)
    if len(known) != len(sizes):
        raise ValueError(f"noise_shape {sizes} leaves sizes open that x does not have.")
    filled = [given if size is None else size for given, size in zip(known, sizes, strict=True)]
    if None not in filled:
        return filled
    given = shape(x)
    return pack([given[k] if size is None else size for k, size in enumerate(filled)])
