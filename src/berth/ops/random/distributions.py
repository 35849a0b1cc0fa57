"""Gamma, Poisson and binomial distributions: operations of a seed, and of a generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import FLOATING, DType, as_dtype, float32, float64, int32
from berth.errors import InvalidArgumentError
from berth.ops.arrays.broadcast_shapes import broadcast_dynamic_shape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.attributes import check_type
from berth.ops.builder import apply
from berth.ops.compose import convert, convert_like, scope, type_of
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.random.rejection import binomial, gamma, poisson
from berth.ops.random.seeded import get_seed, memory_of, reserve
from berth.ops.random.stateless import check_seed, generator_of
from berth.ops.rules import INDEX, shape_of_value
from berth.ops.types import DTypeLike, ShapeLike, Tensor, TensorLike
from berth.public import public, public_v1

_COUNTED = (*FLOATING, *INDEX)
Sampler = Callable[..., np.ndarray[Any, Any]]

# --- kernels ------------------------------------------------------------------------------


def _seeded_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Shape of the samples, and after it that of the parameters."""
    sizes, parameter = shape_of_value(inputs[0]), inputs[1].dims
    dims = None if sizes is None or parameter is None else (*sizes, *parameter)
    return ((attrs.get("dtype") or inputs[1].dtype.base_dtype, dims),)


def _stateless_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    check_seed(inputs[1])
    return ((attrs["dtype"], shape_of_value(inputs[0])),)


def _fill(sample: Sampler, generator: Any, parameters: Sequence[Any], out: Any) -> None:
    """Write samples: their first axes are draws, the last ones those of the parameters."""
    wide = np.broadcast_arrays(*parameters)
    n_each = out.size // max(wide[0].size, 1)
    if not out.size:
        return
    found = sample(generator, *(each.reshape(-1) for each in wide), n_each)
    rows = found.reshape(wide[0].size, n_each).T.reshape(out.shape)
    out[...] = rows if out.dtype.kind == "f" else np.nan_to_num(rows)


def _bind_stateless(sample: Sampler) -> Bind:
    def bind(launch: Launch) -> Call:
        _, seed, *parameters = launch.inputs
        out = launch.outputs[0]
        dims = np.broadcast_shapes(*(each.shape for each in parameters))
        if dims and out.shape[out.ndim - len(dims) :] != dims:
            message = "Shape passed in must end with broadcasted shape."
            raise InvalidArgumentError(None, None, message)
        return _draw, (sample, seed, parameters, out)

    return bind


def _draw(sample: Sampler, seed: Any, parameters: Sequence[Any], out: Any) -> None:
    _fill(sample, generator_of(seed), parameters, out)


def _bind_seeded(sample: Sampler) -> Bind:
    def bind(launch: Launch) -> Call:
        return _draw_next, (sample, memory_of(launch), launch.inputs[1:], launch.outputs[0])

    return bind


def _draw_next(sample: Sampler, memory: Any, parameters: Sequence[Any], out: Any) -> None:
    _fill(sample, reserve(memory, out.size), parameters, out)


# --- operations ---------------------------------------------------------------------------


def _stateless_op(name: str, parameters: str, sample: Sampler, samples: str) -> OpDef:
    return OpDef(
        name,
        f"shape:T seed:Tseed {parameters}",
        _stateless_type,
        types={"T": INDEX, "Tseed": INDEX, "Rtype": (*FLOATING, *INDEX)},
        kernels=host_only(_bind_stateless(sample), _COUNTED),
        host_inputs=(0,),
        gradient=NOT_DIFFERENTIABLE,
        samples=(samples,),
    )


STATELESS_GAMMA = _stateless_op(
    "StatelessRandomGammaV2", "alpha:Rtype", gamma, "i(3, 2), i(1, 2), f(2) + 1, dtype=float32"
)
STATELESS_POISSON = _stateless_op(
    "StatelessRandomPoisson", "lam:Rtype", poisson, "i(3, 2), i(1, 2), f(2) + 3, dtype=int32"
)
STATELESS_BINOMIAL = _stateless_op(
    "StatelessRandomBinomial",
    "counts:Rtype probs:Rtype",
    binomial,
    "i(4, 2), i(1, 2), f(2) + 9, f(2) * 0 + np.float32(0.25), dtype=int32",
)


def _seeded_op(name: str, parameter: str, sample: Sampler, attrs: str) -> OpDef:
    return OpDef(
        name,
        f"shape:S {parameter}:T",
        _seeded_type,
        types={"S": INDEX, "T": (*FLOATING, *INDEX)},
        kernels=host_only(_bind_seeded(sample), _COUNTED),
        host_inputs=(0,),
        is_stateful=True,
        gradient=NOT_DIFFERENTIABLE,
        samples=(f"i(3), f(2) + 1, {attrs}seed=1, seed2=2",),
    )


RANDOM_GAMMA = _seeded_op("RandomGamma", "alpha", gamma, "")
RANDOM_POISSON = _seeded_op("RandomPoissonV2", "rate", poisson, "dtype=float32, ")

# --- what users call ----------------------------------------------------------------------


def _divided(samples: Any, beta: Any, dtype: DType) -> Tensor:
    """Scale gamma samples; they are never 0."""
    least = np.finfo(dtype.np_dtype).tiny
    return maximum(convert(least, dtype), samples / beta)


@public("random.gamma")
@public_v1("random_gamma")
def random_gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample gamma distributions: tensors of `shape` for each alpha and beta.

    >>> random_gamma([2], alpha=[1.0, 3.0, 5.0]).shape.as_list()
    [2, 3]
    """
    wanted = as_dtype(dtype)
    with scope("random_gamma", name):
        sizes = convert_like(shape, int32, "shape")
        rate: Any = convert(1 if beta is None else beta, wanted, "beta")
        concentration: Any = convert(alpha, wanted, "alpha")
        common = broadcast_dynamic_shape(shape_of(concentration), shape_of(rate))
        concentration = broadcast_to(concentration, common)
        attrs = _seeds(seed)
        return _divided(apply(RANDOM_GAMMA, (sizes, concentration), attrs), rate, wanted)


def _seeds(seed: int | None) -> dict[str, int]:
    first, second = get_seed(seed)
    return {"seed": first, "seed2": second}


@public("random.poisson")
def random_poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample Poisson distributions: tensors of `shape` for each rate.

    >>> random_poisson([2], [1.0, 3.0, 5.0]).shape.as_list()
    [2, 3]
    """
    with scope("random_poisson", name):
        sizes = convert_like(shape, int32, "shape")
        attrs = {"dtype": as_dtype(dtype), **_seeds(seed)}
        return apply(RANDOM_POISSON, (sizes, convert(lam)), attrs)


@public_v1("random_poisson")
def random_poisson_v1(
    lam: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sample Poisson distributions, with TensorFlow 1's order of arguments.

    >>> random_poisson_v1([1.0, 3.0, 5.0], [2]).shape.as_list()
    [2, 3]
    """
    return random_poisson(shape, lam, dtype, seed, name)


@public("random.stateless_gamma")
def stateless_gamma(
    shape: ShapeLike,
    seed: Any,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Sample gamma distributions, determined by the seed.

    >>> [round(float(x), 4) for x in stateless_gamma([3], [1, 2], 2.5).numpy()]
    [3.4499, 2.4585, 4.0148]
    """
    wanted = as_dtype(dtype)
    with scope("stateless_random_gamma", name):
        sizes = convert_like(shape, int32, "shape")
        concentration: Any = convert(alpha, wanted, "alpha")
        rate: Any = convert(1 if beta is None else beta, wanted, "beta")
        common = broadcast_dynamic_shape(shape_of(concentration), shape_of(rate))
        inputs = sizes, seed, broadcast_to(concentration, common)
        return _divided(apply(STATELESS_GAMMA, inputs, {"dtype": wanted}), rate, wanted)


@public("random.stateless_poisson")
def stateless_poisson(
    shape: ShapeLike,
    seed: Any,
    lam: TensorLike,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Sample Poisson distributions, determined by the seed.

    >>> stateless_poisson([6], [1, 2], 3.0).numpy().tolist()
    [5, 5, 4, 6, 3, 6]
    """
    with scope("stateless_random_poisson", name):
        sizes = convert_like(shape, int32, "shape")
        inputs = sizes, seed, convert(lam)
        return apply(STATELESS_POISSON, inputs, {"dtype": as_dtype(dtype)})


@public("random.stateless_binomial")
def stateless_binomial(
    shape: ShapeLike,
    seed: Any,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Sample binomial distributions, determined by the seed.

    >>> stateless_binomial([6], [1, 2], 10.0, 0.3).numpy().tolist()
    [5, 5, 5, 4, 4, 3]
    """
    wanted = as_dtype(output_dtype)
    with scope("stateless_random_binomial", name):
        check_type("StatelessRandomBinomial", "dtype", wanted, _COUNTED)
        chances: Any = convert(probs, None, "probs")
        if type_of(chances) not in (float32, float64):
            chances = convert(chances, float32)
        trials = convert(counts, chances.dtype.base_dtype, "counts")
        inputs = convert_like(shape, int32, "shape"), seed, trials, chances
        return apply(STATELESS_BINOMIAL, inputs, {"dtype": wanted})
