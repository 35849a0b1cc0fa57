"""Random tensors of a stateful generator: TensorFlow's values, from TensorFlow's seeds.

Each operation has two seeds and, in each session, a generator of its own, which goes on
from run to run. The seeds come from the program's (`set_random_seed`, one for a graph) and
the operation's own:

    graph   own     the operation's pair
    none    none    drawn again in each session
    none    b       (87654321, b)
    a       none    (a, k) for the k-th such operation of the graph
    a       b       (a, b)
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

from berth.dtypes import FLOATING, DType, as_dtype, bfloat16, float32, int32, uint64
from berth.errors import InvalidArgumentError
from berth.finalizers import WeakKeyDict
from berth.ops.builder import apply, current
from berth.ops.compose import convert, convert_like, scope
from berth.ops.elementwise.arithmetic import add, multiply, subtract
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Parts,
    ScratchShapes,
    Typed,
    all_devices,
)
from berth.ops.random import philox
from berth.ops.random.narrowing import to_bfloat16
from berth.ops.rules import INDEX, check_rank, shape_of_value
from berth.ops.shape import Dims
from berth.ops.types import DTypeLike, ShapeLike, Tensor
from berth.public import public, public_v1, public_v2

# --- seeds ----------------------------------------------------------------------------------

_DEFAULT_SEED = 87654321
_LIMIT = 2**31 - 1
_n_unseeded: WeakKeyDict[int] = WeakKeyDict()
"""How many operations of each graph took their seed from their number."""


@public_v1("set_random_seed", "random.set_random_seed")
@public_v2("random.set_seed")
def set_random_seed(seed: int | None) -> None:
    """Set the random seed of the current graph, for operations made after it.

    >>> set_random_seed(7)
    """
    builder: Any = current()
    builder.seed = seed


def get_seed(op_seed: int | None) -> tuple[int, int]:
    """Return the two seeds of a new operation; a pair of zeros stands for a random seed."""
    builder: Any = current()
    seed = getattr(builder, "seed", None)
    if seed is None and op_seed is None:
        return 0, 0
    if op_seed is None and hasattr(builder, "draw_seed"):
        op_seed = builder.draw_seed()
    elif op_seed is None:
        op_seed = _n_unseeded.get(builder, 0)
        _n_unseeded[builder] = op_seed + 1
    pair = (_DEFAULT_SEED if seed is None else seed) % _LIMIT, op_seed % _LIMIT
    return (0, _LIMIT) if pair == (0, 0) else pair


# --- kernels --------------------------------------------------------------------------------


def _random_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["dtype"], shape_of_value(inputs[0])),)


def _random_integer_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    shape, low, high = inputs
    check_rank(low.dims, 0)
    check_rank(high.dims, 0)
    return ((low.dtype.base_dtype, shape_of_value(shape)),)


def _scratch(truncated: bool = False) -> ScratchShapes:
    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        dtype, dims = outputs[0]
        n_words = philox.scratch_size(_size(dims), dtype.np_dtype, truncated=truncated)
        return ((uint64, (n_words,)),)

    return scratch


def _size(dims: Dims) -> int:
    n_samples = 1
    for size in dims or ():
        n_samples *= size or 0
    return n_samples


def _bind_by(fill: Any) -> Bind:
    def bind(launch: Launch) -> Call:
        return _draw, (memory_of(launch), fill, launch.xp, launch.outputs[0], *launch.scratch)

    return bind


def _bind_integers(launch: Launch) -> Call | Parts | None:
    low, high = (int(bound) for bound in launch.inputs[1:])
    if low >= high and launch.outputs[0].size:
        message = f"Need minval < maxval, got {low} >= {high}"
        raise InvalidArgumentError(None, None, message)
    return _bind_by(partial(philox.fill_integers, low=low, high=high))(launch)


def memory_of(launch: Launch) -> dict[str, Any]:
    """Return the state that the operation keeps from run to run, with its generator."""
    memory: dict[str, Any] = {} if launch.state is None else launch.state
    if "generator" not in memory:
        pair = launch.attrs["seed"], launch.attrs["seed2"]
        is_seeded = pair != (0, 0)
        if not is_seeded:
            pair = secrets.randbits(64), secrets.randbits(64)
        memory["lock"] = threading.Lock()
        first = memory["generator"] = philox.Generator.seeded(*pair)
        if is_seeded:
            memory["restart"] = partial(memory.__setitem__, "generator", first)
    return memory


def _draw(memory: dict[str, Any], fill: Any, xp: Any, out: Any, scratch: Any) -> None:
    fill(xp, reserve(memory, out.size), out, scratch)


def reserve(memory: dict[str, Any], n_samples: int, n_counters: int = 0) -> philox.Generator:
    """Return the position of an operation's generator, and advance it by so much."""
    with memory["lock"]:  # every run of every thread draws numbers of its own
        generator: philox.Generator = memory["generator"]
        memory["generator"] = generator.after(n_samples).skip(n_counters)
    return generator


def _random_op(name: str, fill: Any, truncated: bool = False) -> OpDef:
    return OpDef(
        name,
        "shape:T",
        _random_type,
        types={"T": INDEX},
        kernels=all_devices(_bind_by(fill), FLOATING, _scratch(truncated)),
        host_inputs=(0,),
        is_stateful=True,
        gradient=NOT_DIFFERENTIABLE,
        samples=(
            "i(2, 3), dtype=float32, seed=1, seed2=2",
            "i(5), dtype=float64, seed=1, seed2=2",
        ),
        large_samples=() if truncated else ("i(2**18), dtype=float32, seed=1, seed2=2",),
    )


RANDOM_UNIFORM = _random_op("RandomUniform", philox.fill_uniform)
RANDOM_NORMAL = _random_op("RandomStandardNormal", philox.fill_normal)
TRUNCATED_NORMAL = _random_op("TruncatedNormal", philox.fill_truncated_normal, truncated=True)
RANDOM_INTEGERS = OpDef(
    "RandomUniformInt",
    "shape:T minval:Tout maxval:Tout",
    _random_integer_type,
    types={"T": INDEX, "Tout": INDEX},
    kernels=all_devices(_bind_integers, INDEX, _scratch()),
    host_inputs=(0, 1, 2),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("i(2, 3), at(1), at(5), dtype=int32, seed=1, seed2=2",),
)

# --- public functions -----------------------------------------------------------------------


@public("random.uniform")
@public_v1("random_uniform")
def random_uniform(
    shape: ShapeLike,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random values from a uniform distribution on [minval, maxval).

    >>> bool(random_uniform([2, 3], maxval=5, dtype="int32").numpy().max() < 5)
    True
    """
    wanted = as_dtype(dtype)
    if wanted is bfloat16:
        sample = random_uniform(shape, 0, 1, float32, seed, name)
        width = convert(1 if maxval is None else maxval, bfloat16) - convert(minval, bfloat16)
        return add(multiply(to_bfloat16(sample), width), convert(minval, bfloat16))
    if wanted not in (*FLOATING, *INDEX):
        raise ValueError(
            f"Argument `dtype` got invalid value {wanted}. Accepted dtypes are "
            f"{(*FLOATING, *INDEX)}."
        )
    if maxval is None:
        if wanted.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
        maxval = 1
    is_from_zero = isinstance(minval, int) and minval == 0
    is_to_one = isinstance(maxval, int) and maxval == 1
    with scope("random_uniform", name) as inner:
        shape = convert_like(shape, int32, "shape")
        if wanted.is_floating and is_from_zero and is_to_one:
            return _sample(RANDOM_UNIFORM, shape, wanted, seed)
        low = convert(minval, wanted, "min")
        high = convert(maxval, wanted, "max")
        if wanted.is_integer:
            attrs = _seeds(seed)
            return apply(RANDOM_INTEGERS, (shape, low, high), attrs, inner)
        sample = _sample(RANDOM_UNIFORM, shape, wanted, seed)
        if is_from_zero:
            return multiply(sample, high)
        width = subtract(high, low, name="sub")
        return add(multiply(sample, width, name="mul"), low, name=inner)


@public("random.normal")
@public_v1("random_normal")
def random_normal(
    shape: ShapeLike,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random values from a normal distribution.

    >>> random_normal([2, 3]).numpy().shape
    (2, 3)
    """
    with scope("random_normal", name) as inner:
        return _scaled(RANDOM_NORMAL, (shape, mean, stddev), as_dtype(dtype), seed, inner)


@public("random.truncated_normal")
@public_v1("truncated_normal")
def truncated_normal(
    shape: ShapeLike,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Random values from a truncated normal distribution: within two standard deviations.

    >>> bool(abs(truncated_normal([100]).numpy()).max() < 2)
    True
    """
    with scope("truncated_normal", name) as inner:
        return _scaled(TRUNCATED_NORMAL, (shape, mean, stddev), as_dtype(dtype), seed, inner)


def _scaled(
    op: OpDef, arguments: tuple[Any, Any, Any], dtype: DType, seed: int | None, name: str
) -> Tensor:
    shape, mean, stddev = arguments
    shape = convert_like(shape, int32, "shape")
    mean = convert(mean, dtype, "mean")
    stddev = convert(stddev, dtype, "stddev")
    sample = _sample(op, shape, dtype, seed)
    return add(multiply(sample, stddev, name="mul"), mean, name=name)


def _sample(op: OpDef, shape: Any, dtype: DType, seed: int | None) -> Tensor:
    return apply(op, (shape,), {"dtype": dtype, **_seeds(seed)})


def _seeds(seed: int | None) -> dict[str, int]:
    first, second = get_seed(seed)
    return {"seed": first, "seed2": second}
