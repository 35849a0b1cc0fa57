"""TensorFlow 2's initializers.

An initializer is called with a shape and makes a tensor with the operations that users
call, so it serves graphs and eager programs. Those of TensorFlow 1 (`initializers_v1`) draw
the same numbers, and differ in their arguments: they take the type when they are made.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from berth.dtypes import NUMBERS, DType, as_dtype, bool_, float32
from berth.ops.arrays.array import constant
from berth.ops.arrays.filling import ones, zeros
from berth.ops.random.seeded import random_normal, random_uniform, truncated_normal
from berth.ops.random.stateless import (
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)
from berth.ops.shape import Known, read_dims
from berth.public import public_v2

_PARTITION = ("partition_shape", "partition_offset")
_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("uniform", "truncated_normal", "untruncated_normal")
_TRUNCATED_STDDEV = 0.87962566103423978
"""The standard deviation of a normal distribution that is cut off at two of its own."""


@public_v2("initializers.Initializer")
class Initializer:
    """Base class of initializers: a call returns the initial value of a variable."""

    parameters: ClassVar[tuple[str, ...]] = ()
    """The arguments that it is made with."""

    def __call__(self, shape: Any, dtype: Any = float32, **kwargs: Any) -> Any:
        """Tensor of a shape and type."""
        return self.values(self._dims(shape, kwargs), _numeric(dtype))

    def values(self, shape: Known, dtype: Any) -> Any:
        """Tensor of a known shape and type."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in self.parameters}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Create an initializer from the arguments that `get_config` returned."""
        known = {name: value for name, value in config.items() if name != "dtype"}
        return cls(**known)

    def _dims(self, shape: Any, kwargs: dict[str, Any]) -> Known:
        for word in kwargs:
            if word not in _PARTITION:
                raise TypeError(
                    f"Keyword argument should be one of {list(_PARTITION)}. Received: {word}"
                )
        return known_dims(kwargs.get("partition_shape", shape))


def known_dims(shape: Any) -> Known:
    """Read a shape; ValueError if it is not known in full."""
    dims = read_dims(shape)
    if dims is None or None in dims:
        raise ValueError(f"An initializer needs a shape that is known in full, not {shape}.")
    return tuple(size or 0 for size in dims)


def _numeric(dtype: Any) -> DType:
    wanted = as_dtype(dtype).base_dtype
    if wanted not in (*NUMBERS, bool_):
        raise ValueError(
            f"Argument `dtype` expected to be numeric or boolean. Received {wanted}."
        )
    return wanted


def check_floating(dtype: DType) -> DType:
    """Return a floating-point type; ValueError if it is another."""
    if not dtype.is_floating:
        raise ValueError(
            f"Argument `dtype` is expected to be floating point. Received: {dtype}."
        )
    return dtype


# --- constants ----------------------------------------------------------------------------


@public_v2("zeros_initializer", "initializers.Zeros")
class Zeros(Initializer):
    """Initializer of zeros.

    >>> Zeros()([2]).numpy().tolist()
    [0.0, 0.0]
    """

    def values(self, shape: Known, dtype: DType) -> Any:
        """Zeros; of strings, empty ones."""
        return zeros(shape, dtype)


@public_v2("ones_initializer", "initializers.Ones")
class Ones(Initializer):
    """Initializer of ones.

    >>> Ones()([2], dtype="int32").numpy().tolist()
    [1, 1]
    """

    def values(self, shape: Known, dtype: DType) -> Any:
        """Ones."""
        return ones(shape, dtype)


@public_v2("constant_initializer", "initializers.Constant")
class Constant(Initializer):
    """Initializer of constant values: one for all elements, or as many as there are.

    >>> Constant([1, 2, 3, 4])([2, 2]).numpy().tolist()
    [[1, 2], [3, 4]]
    """

    parameters = ("value",)

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        check_plain(value)
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """Tensor of a shape and type, by default that of the values."""
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        return self.values(self._dims(shape, kwargs), wanted)

    def values(self, shape: Known, dtype: DType | None) -> Any:
        """Tensor of the values, of which there must be one or enough."""
        n_given, n_wanted = np.size(self.value), math.prod(shape)
        if n_given not in (1, n_wanted):
            raise TypeError(
                f"Cannot fill the {n_wanted} elements of a tensor of shape {shape} with "
                f"{n_given} values."
            )
        return constant(self.value, dtype, shape)


def check_plain(value: Any) -> None:
    """Raise TypeError unless a value is a number or text, or many of them."""
    is_plain = np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)
    if not is_plain:
        raise TypeError(
            f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected "
            "Python scalar, list or tuple of values, or numpy.ndarray."
        )


# --- random -------------------------------------------------------------------------------


class RandomInitializer(Initializer):
    """Base class of random initializers. With a seed, each call draws the same numbers."""

    seed: int | None
    repeats: ClassVar[bool] = True
    """Whether a seed is that of each call, or that of an operation which goes on."""

    def _draw(self, sample: Any, repeatable: Any, shape: Known, *arguments: Any) -> Any:
        if self.seed is None or not self.repeats:
            return sample(shape, *arguments, self.seed)
        return repeatable(shape, [self.seed, 0], *arguments)

    def _uniform(self, shape: Known, minval: Any, maxval: Any, dtype: DType) -> Any:
        return self._draw(random_uniform, stateless_uniform, shape, minval, maxval, dtype)

    def _normal(self, shape: Known, mean: Any, stddev: Any, dtype: DType) -> Any:
        return self._draw(random_normal, stateless_normal, shape, mean, stddev, dtype)

    def _truncated(self, shape: Known, mean: Any, stddev: Any, dtype: DType) -> Any:
        draws = truncated_normal, stateless_truncated_normal
        return self._draw(*draws, shape, mean, stddev, dtype)


@public_v2("random_uniform_initializer", "initializers.RandomUniform")
class RandomUniform(RandomInitializer):
    """Initializer of a uniform distribution."""

    parameters = ("minval", "maxval", "seed")

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed

    def values(self, shape: Known, dtype: DType) -> Any:
        """Draw them; integers too."""
        return self._uniform(shape, self.minval, self.maxval, dtype)


@public_v2("random_normal_initializer", "initializers.RandomNormal")
class RandomNormal(RandomInitializer):
    """Initializer of a normal distribution."""

    parameters = ("mean", "stddev", "seed")

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def values(self, shape: Known, dtype: DType) -> Any:
        """Draw them."""
        return self._normal(shape, self.mean, self.stddev, check_floating(dtype))


@public_v2("initializers.TruncatedNormal")
class TruncatedNormal(RandomNormal):
    """Initializer of a truncated normal distribution: within two standard deviations."""

    def values(self, shape: Known, dtype: DType) -> Any:
        """Draw them."""
        return self._truncated(shape, self.mean, self.stddev, check_floating(dtype))


@public_v2("initializers.VarianceScaling")
class VarianceScaling(RandomInitializer):
    """Initializer whose variance is scaled to the number of inputs or outputs of a layer."""

    parameters: ClassVar[tuple[str, ...]] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in _MODES:
            raise ValueError(f"Argument `mode` should be one of {_MODES}. Received: {mode}")
        if distribution not in ("normal", *_DISTRIBUTIONS):
            raise ValueError(
                "Argument `distribution` should be one of ('normal', uniform', "
                f"'truncated_normal', 'untruncated_normal'). Received: {distribution}"
            )
        self.scale = scale
        self.mode = mode
        self.distribution = "truncated_normal" if distribution == "normal" else distribution
        self.seed = seed

    def values(self, shape: Known, dtype: DType) -> Any:
        """Draw them."""
        return self.part(shape, shape, dtype)

    def part(self, shape: Known, whole: Known, dtype: DType) -> Any:
        """Draw a part of a layer's weights, scaled as the whole."""
        check_floating(dtype)
        variance = self.scale / max(1.0, self._n_connections(whole))
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self._uniform(shape, -limit, limit, dtype)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return self._normal(shape, 0.0, stddev, dtype)
        return self._truncated(shape, 0.0, stddev / _TRUNCATED_STDDEV, dtype)

    def _n_connections(self, shape: Known) -> float:
        n_inputs, n_outputs = _fans(shape)
        if self.mode == "fan_avg":
            return (n_inputs + n_outputs) / 2.0
        return n_inputs if self.mode == "fan_in" else n_outputs


def _fans(shape: Known) -> tuple[int, int]:
    """Count the inputs and outputs of a layer that has weights of this shape.

    >>> _fans((3, 4)), _fans((3, 3, 4, 8)), _fans((5,)), _fans(())
    ((3, 4), (36, 72), (5, 5), (1, 1))
    """
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    *window, n_inputs, n_outputs = shape
    size = math.prod(window)
    return n_inputs * size, n_outputs * size


class _Scaled(VarianceScaling):
    """Named special case of `VarianceScaling`."""

    parameters = ("seed",)
    case: ClassVar[tuple[float, str, str]]

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(*self.case, seed)


@public_v2("initializers.GlorotUniform")
class GlorotUniform(_Scaled):
    """Glorot (Xavier) initializer, uniform."""

    case = (1.0, "fan_avg", "uniform")


@public_v2("initializers.GlorotNormal")
class GlorotNormal(_Scaled):
    """Glorot (Xavier) initializer, truncated normal."""

    case = (1.0, "fan_avg", "truncated_normal")


@public_v2("initializers.HeUniform")
class HeUniform(_Scaled):
    """He initializer, uniform."""

    case = (2.0, "fan_in", "uniform")


@public_v2("initializers.HeNormal")
class HeNormal(_Scaled):
    """He initializer, truncated normal."""

    case = (2.0, "fan_in", "truncated_normal")


@public_v2("initializers.LecunUniform")
class LecunUniform(_Scaled):
    """LeCun initializer, uniform."""

    case = (1.0, "fan_in", "uniform")


@public_v2("initializers.LecunNormal")
class LecunNormal(_Scaled):
    """LeCun initializer, truncated normal."""

    case = (1.0, "fan_in", "truncated_normal")
