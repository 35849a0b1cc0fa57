"""Random tensors of a key and a counter, and seeds made of seeds.

``RngReadAndSkip`` of TensorFlow is done by `berth.eager.random_generator`, which keeps both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from berth.dtypes import ALL, FLOATING, DType, int32, int64, uint32, uint64
from berth.errors import InvalidArgumentError
from berth.ops.arrays.stacking import pack
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.casting import cast
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
    host_only,
)
from berth.ops.random import philox
from berth.ops.random.sampling import random_order
from berth.ops.random.stateless import (
    check_algorithm,
    check_seed,
    generator_of,
    scratch_shapes,
    stateless_uniform,
)
from berth.ops.rules import INDEX, check_rank, like_first, shape_of_value
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v2

# --- of a key and a counter ---------------------------------------------------------------


def _keyed_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    shape, key, counter, *bounds = inputs
    check_rank(key.dims, 1)
    check_rank(counter.dims, 1)
    for bound in bounds[1:]:
        check_rank(bound.dims, 0)
    return ((attrs["dtype"], shape_of_value(shape)),)


def _generator(key: Any, counter: Any) -> philox.Generator:
    low, high = (int(part) for part in counter)
    return philox.Generator(int(key[0]), high << 64 | low)


def _bind_keyed(fill: Any) -> Bind:
    def bind(launch: Launch) -> Call:
        _, key, counter, _ = launch.inputs
        return _draw, (fill, launch.xp, key, counter, launch.outputs[0], launch.scratch[0])

    return bind


def _draw(fill: Any, xp: Any, key: Any, counter: Any, out: Any, scratch: Any) -> None:
    fill(xp, _generator(key, counter), out, scratch)


def _bind_integers(launch: Launch) -> Call:
    _, key, counter, _, low, high = launch.inputs
    where = (launch.xp, key, counter, launch.outputs[0], launch.scratch[0])
    return _draw_integers, (low, high, where)


def _draw_integers(low: Any, high: Any, where: tuple[Any, ...]) -> None:
    least, end = int(low), int(high)
    if least >= end:
        message = f"Need minval < maxval, got {least} >= {end}"
        raise InvalidArgumentError(None, None, message)
    _draw(partial(philox.fill_integers, low=least, high=end), *where)


def _keyed_op(
    name: str, bind: Bind, dtypes: Sequence[DType], truncated: bool = False, bounds: str = ""
) -> OpDef:
    sample = "i(3), sample('u8', (1,)), sample('u8', (2,)), at(1)"
    limits = ", at(1), at(9), dtype=int32" if bounds else f", dtype={dtypes[0].name}"
    return OpDef(
        name,
        f"shape:Tshape key:uint64 counter:uint64 alg:int32 {bounds}",
        _keyed_type,
        types={"Tshape": INDEX, "Tout": dtypes},
        kernels=all_devices(bind, dtypes, scratch_shapes(truncated)),
        host_inputs=(0,),
        gradient=NOT_DIFFERENTIABLE,
        samples=(sample + limits,),
    )


KEYED_UNIFORM = _keyed_op(
    "StatelessRandomUniformV2", _bind_keyed(philox.fill_uniform), FLOATING
)
KEYED_NORMAL = _keyed_op("StatelessRandomNormalV2", _bind_keyed(philox.fill_normal), FLOATING)
KEYED_TRUNCATED_NORMAL = _keyed_op(
    "StatelessTruncatedNormalV2", _bind_keyed(philox.fill_truncated_normal), FLOATING, True
)
KEYED_BITS = _keyed_op(
    "StatelessRandomUniformFullIntV2",
    _bind_keyed(philox.fill_bits),
    (int32, int64, uint32, uint64),
)
KEYED_INTEGERS = _keyed_op(
    "StatelessRandomUniformIntV2",
    _bind_integers,
    INDEX,
    bounds="minval:Tout maxval:Tout",
)

# --- shuffling ----------------------------------------------------------------------------


def _shuffled_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    check_seed(inputs[1])
    return like_first(inputs[:1], attrs)


def _bind_shuffle(launch: Launch) -> Call:
    value, seed = launch.inputs
    return _shuffle, (value, seed, launch.outputs[0])


def _shuffle(value: Any, seed: Any, out: Any) -> None:
    if value.ndim and value.shape[0]:
        out[...] = value[random_order(generator_of(seed), value.shape[0])]
    else:
        out[...] = value


STATELESS_SHUFFLE = OpDef(
    "StatelessShuffle",
    "value:T seed:Tseed",
    _shuffled_type,
    types={"T": ALL, "Tseed": INDEX},
    kernels=host_only(_bind_shuffle),
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(4, 2), i(1, 2)",),
)


@public("random.experimental.stateless_shuffle")
def stateless_shuffle(
    value: TensorLike, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """Shuffle the rows of a tensor, determined by the seed.

    >>> stateless_shuffle([0, 1, 2, 3, 4, 5], [1, 2]).numpy().tolist()
    [4, 5, 0, 3, 1, 2]
    """
    check_algorithm(alg)
    return apply(STATELESS_SHUFFLE, (value, seed), {}, name or "stateless_shuffle")


# --- seeds of seeds -----------------------------------------------------------------------


@public("random.experimental.stateless_split")
@public_v2("random.split")
def stateless_split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Tensor:
    """Make several seeds of one: a row for each.

    >>> stateless_split([1, 2], 2).numpy().tolist()
    [[1105988140, 1738052849], [-335576002, 370444179]]
    """
    with scope("stateless_split"):
        given = convert(seed, None if type_of(seed) else int32, "seed")
        dtype = given.dtype.base_dtype
        return stateless_uniform([num, 2], given, None, None, dtype, alg=alg)


@public("random.experimental.stateless_fold_in")
@public_v2("random.fold_in")
def stateless_fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """Make a seed of another and a number, such as that of a step or replica.

    >>> stateless_fold_in([1, 2], 3).numpy().tolist()
    [1105988140, 3]
    """
    with scope("stateless_fold_in"):
        given = convert(seed, None if type_of(seed) else int32, "seed")
        dtype = given.dtype.base_dtype
        first = stateless_uniform([], given, None, None, dtype, alg=alg)
        return pack([first, cast(data, dtype)])
