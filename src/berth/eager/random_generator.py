"""``tf.random.Generator``: random numbers of a state that is a variable of the program.

The state is three numbers: a counter of 128 bits, the lower half first, and a key. A draw takes
256 counters for each number, as TensorFlow does.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from berth.dtypes import as_dtype, float32, int32, int64, uint64
from berth.eager.scope import convert_to_tensor
from berth.eager.variable import Variable
from berth.ops.arrays.array import reshape
from berth.ops.arrays.bitcast import bitcast
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.stacking import pack
from berth.ops.builder import apply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import less
from berth.ops.opdef import OpDef
from berth.ops.random import keyed
from berth.ops.random.distributions import stateless_binomial
from berth.ops.reductions.reduction import reduce_prod
from berth.ops.types import Tensor
from berth.public import public

_LOW64 = 2**64 - 1
_SIGN = -(2**63)
_PER_NUMBER = 256


@public("random.Algorithm", "random.experimental.Algorithm")
class Algorithm(Enum):
    """Algorithms of random number generators. berth has Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm(alg: Any) -> int:
    """Return the number of an algorithm."""
    names = {"philox": 1, "threefry": 2, "auto_select": 3}
    if isinstance(alg, Algorithm):
        number = alg.value
    elif isinstance(alg, str):
        if alg not in names:
            raise ValueError(
                f"Argument `alg` got unsupported string value {alg}. Supported string values "
                "are 'philox' for the Philox algorithm, 'threefry' for the ThreeFry algorithm, "
                "and 'auto_select' for auto-selection."
            )
        number = names[alg]
    elif alg is None:
        number = 1
    else:
        number = int(alg)
    return 1 if number == Algorithm.AUTO_SELECT.value else number


def _signed(number: int) -> int:
    """Return 64 bits as a signed number."""
    number &= _LOW64
    return number - 2**64 if number >> 63 else number


@public("random.create_rng_state", "random.experimental.create_rng_state")
def create_rng_state(seed: Any, alg: Any) -> Any:
    """Make the state of a generator: of a number of any size, or of up to three of them.

    >>> create_rng_state(1, "philox").tolist(), create_rng_state([1, 2], "philox").tolist()
    ([1, 0, 0], [0, 1, 2])
    """
    _algorithm(alg)
    if isinstance(seed, int):
        parts = [_signed(seed >> shift) for shift in (0, 64, 128)]
        return np.array(parts, np.int64)
    given = [_signed(int(part)) for part in np.asarray(getattr(seed, "value", seed)).ravel()]
    if len(given) > 3:
        raise ValueError(f"The size of `seed` must be at most 3; got {len(given)}.")
    return np.array([0] * (3 - len(given)) + given, np.int64)


@public("random.Generator", "random.experimental.Generator")
class Generator:
    """A random number generator with a state of its own.

    >>> generator = Generator.from_seed(1)
    >>> generator.uniform([2], 0, 10, dtype="int32").numpy().tolist()
    [4, 9]
    """

    def __init__(
        self, copy_from: Generator | None = None, state: Any = None, alg: Any = None
    ) -> None:
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("(state or alg) and copy_from cannot both be specified")
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        elif state is None:
            raise ValueError("If `copy_from` is None, `state` must be specified.")
        self._alg = _algorithm(alg)
        if isinstance(state, Variable):
            self._state: Any = state
        else:
            self._state = Variable(cast(convert_to_tensor(state), int64), trainable=False)
        self._lock = threading.Lock()

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """Make a generator of a state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """Make a generator of a seed: a number, or up to three."""
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Make a generator whose state is drawn from the operating system."""
        return cls(state=[_signed(secrets.randbits(64)) for _ in range(3)], alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """Make a generator of a key and a counter of two numbers."""
        return cls(state=[*(int(part) for part in counter), int(key)], alg=alg)

    # --- the state --------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The variable that holds the state."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The key."""
        key: Tensor = self._state[2]
        return key

    def reset(self, state: Any) -> None:
        """Set the state."""
        self._state.assign(cast(convert_to_tensor(state), int64))

    def reset_from_seed(self, seed: Any) -> None:
        """Set the state to that of a seed."""
        self.reset(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Set the state to a key and a counter of two numbers."""
        parts = [cast(convert_to_tensor(part), int64) for part in (counter, key)]
        self.reset(pack([parts[0][0], parts[0][1], reshape(parts[1], [])]))

    def skip(self, delta: Any) -> Tensor:
        """Advance the counter by so many numbers; return the state as it was."""
        with self._lock:
            before: Tensor = self._state.read_value()
            low: Any = before[0]
            moved: Any = low + cast(delta, int64) * _PER_NUMBER
            # Two numbers without a sign compare as these do with one.
            overflows = less(moved + _SIGN, low + _SIGN)
            self._state.assign(pack([moved, before[1] + cast(overflows, int64), before[2]]))
        return before

    def _draw(self, op: OpDef, shape: Any, dtype: Any, *bounds: Any) -> Any:
        sizes: Any = convert_to_tensor(shape, None if hasattr(shape, "dtype") else int32)
        before = bitcast(self.skip(reduce_prod(cast(sizes, int64))), uint64)
        inputs = (sizes, before[2:], before[:2], self._alg, *bounds)
        return apply(op, inputs, {"dtype": dtype})

    # --- distributions ----------------------------------------------------------------------

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Tensor:
        """Sample a normal distribution."""
        return self._scaled(keyed.KEYED_NORMAL, shape, (mean, stddev), dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Tensor:
        """Sample a normal distribution, without values two or more deviations away."""
        return self._scaled(keyed.KEYED_TRUNCATED_NORMAL, shape, (mean, stddev), dtype)

    def _scaled(self, op: OpDef, shape: Any, how: Sequence[Any], dtype: Any) -> Tensor:
        wanted = as_dtype(dtype)
        mean, stddev = (convert_to_tensor(each, wanted) for each in how)
        result: Tensor = self._draw(op, shape, wanted) * stddev + mean
        return result

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Tensor:
        """Sample uniformly from [minval, maxval)."""
        wanted = as_dtype(dtype)
        result: Tensor
        if wanted.is_integer:
            if (minval is None) != (maxval is None):
                raise ValueError(
                    f"For integer `dtype` argument {wanted}, argument `minval` and `maxval` "
                    f"must be both None or not None. Got `minval`={minval} and "
                    f"`maxval`={maxval}."
                )
            if minval is None:
                return self.uniform_full_int(shape, wanted)
            bounds = [convert_to_tensor(bound, wanted) for bound in (minval, maxval)]
            result = self._draw(keyed.KEYED_INTEGERS, shape, wanted, *bounds)
            return result
        low = convert_to_tensor(minval, wanted)
        high = convert_to_tensor(1 if maxval is None else maxval, wanted)
        result = self._draw(keyed.KEYED_UNIFORM, shape, wanted) * (high - low) + low
        return result

    def uniform_full_int(
        self, shape: Any, dtype: Any = uint64, name: str | None = None
    ) -> Tensor:
        """Sample uniformly from all integers of a type."""
        result: Tensor = self._draw(keyed.KEYED_BITS, shape, as_dtype(dtype))
        return result

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = int32, name: str | None = None
    ) -> Tensor:
        """Sample binomial distributions; TensorFlow's are others of the same distribution."""
        seed = self.make_seeds(1)[:, 0]
        return stateless_binomial(shape, seed, counts, probs, dtype)

    # --- other generators -------------------------------------------------------------------

    def make_seeds(self, count: int = 1) -> Any:
        """Make seeds for stateless random functions: a column for each."""
        first = self.uniform_full_int([count], int64)
        return pack([first, zeros_like(first)])

    def split(self, count: int = 1) -> list[Generator]:
        """Make generators that are independent of this one and of each other."""
        keys: Any = self.uniform_full_int([count], int64)
        zero = zeros_like(keys[0])
        return [
            Generator(state=pack([zero, zero, keys[k]]), alg=self._alg) for k in range(count)
        ]


class _Global:
    """The generator of the program, made when it is first asked for."""

    generator: Generator | None = None
    lock = threading.Lock()


@public("random.get_global_generator", "random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """Return the global generator, which starts in a random state.

    >>> get_global_generator() is get_global_generator()
    True
    """
    with _Global.lock:
        if _Global.generator is None:
            _Global.generator = Generator.from_non_deterministic_state()
        return _Global.generator


@public("random.set_global_generator", "random.experimental.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Replace the global generator.

    >>> set_global_generator(Generator.from_seed(1))
    """
    _Global.generator = generator
