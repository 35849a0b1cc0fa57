"""TensorFlow 1's initializers: TensorFlow 2's with a default type."""

from __future__ import annotations

import math
from typing import Any

from berth.dtypes import DType, as_dtype, float32
from berth.ops.arrays.array import constant
from berth.ops.random.seeded import random_uniform
from berth.ops.shape import Known
from berth.public import public_v1
from berth.variables import initializers as v2
from berth.variables import matrix_initializers as matrix
from berth.variables.initializers import check_floating, check_plain, known_dims


class Initializer(v2.Initializer):
    """Base class of TensorFlow 1's initializers, which have a default type."""

    dtype: DType = float32
    repeats = False

    def __call__(  # type: ignore[override]
        self, shape: Any, dtype: Any = None, partition_info: Any = None
    ) -> Any:
        """Tensor of a shape, by default of the initializer's type."""
        wanted = self.dtype if dtype is None else as_dtype(dtype).base_dtype
        if partition_info is not None:
            return self.part(known_dims(shape), known_dims(partition_info.full_shape), wanted)
        return self.values(known_dims(shape), wanted)

    def part(self, shape: Known, whole: Known, dtype: DType) -> Any:
        """Tensor of a part's shape; some scale their values by the shape of the whole."""
        return self.values(shape, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Create an initializer from the arguments that `get_config` returned."""
        return cls(**config)


@public_v1("zeros_initializer", "initializers.zeros")
class Zeros(Initializer, v2.Zeros):
    """Initializer of zeros, with TensorFlow 1's argument names."""

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = as_dtype(dtype)


@public_v1("ones_initializer", "initializers.ones")
class Ones(Initializer, v2.Ones):
    """Initializer of ones, with TensorFlow 1's argument names."""

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = as_dtype(dtype)


@public_v1("constant_initializer", "initializers.constant")
class Constant(Initializer):
    """Initializer of constant values; if they are too few, the last one fills the rest."""

    parameters = ("value",)

    def __init__(
        self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False
    ) -> None:
        check_plain(value)
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(  # type: ignore[override]
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Any:
        """Tensor of a shape."""
        wanted = self.dtype if dtype is None else as_dtype(dtype).base_dtype
        exactly = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, wanted, known_dims(shape), verify_shape=exactly)


@public_v1("random_uniform_initializer", "initializers.random_uniform")
class RandomUniform(Initializer, v2.RandomUniform):
    """Initializer of a uniform distribution, with TensorFlow 1's argument names."""

    def __init__(
        self,
        minval: Any = 0.0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        v2.RandomUniform.__init__(self, minval, maxval, seed)
        self.dtype = as_dtype(dtype)


@public_v1("random_normal_initializer", "initializers.random_normal")
class RandomNormal(Initializer, v2.RandomNormal):
    """Initializer of a normal distribution, with TensorFlow 1's argument names."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        v2.RandomNormal.__init__(self, mean, stddev, seed)
        self.dtype = check_floating(as_dtype(dtype))


@public_v1("truncated_normal_initializer", "initializers.truncated_normal")
class TruncatedNormal(Initializer, v2.TruncatedNormal):
    """Initializer of a truncated normal distribution, with TensorFlow 1's argument names."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        v2.TruncatedNormal.__init__(self, mean, stddev, seed)
        self.dtype = check_floating(as_dtype(dtype))


@public_v1("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling")
class UniformUnitScaling(Initializer):
    """Initializer that keeps the scale of a layer's inputs: an old one."""

    parameters = ("factor", "seed")

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = check_floating(as_dtype(dtype))

    def values(self, shape: Known, dtype: DType) -> Any:
        """Draw them."""
        return self.part(shape, shape, dtype)

    def part(self, shape: Known, whole: Known, dtype: DType) -> Any:
        """Draw a part of a layer's weights, scaled as the whole."""
        n_inputs = max(math.prod(float(size) for size in whole[:-1]), 1.0)
        limit = math.sqrt(3.0 / n_inputs) * self.factor
        return random_uniform(shape, -limit, limit, dtype, self.seed)


class _Scaling:
    """Draws a part of a variable as `v2.VarianceScaling` does."""

    part = v2.VarianceScaling.part


@public_v1("variance_scaling_initializer", "initializers.variance_scaling")
class VarianceScaling(_Scaling, Initializer, v2.VarianceScaling):
    """Variance-scaling initializer, with TensorFlow 1's argument names."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        v2.VarianceScaling.__init__(self, scale, mode, distribution, seed)
        self.dtype = check_floating(as_dtype(dtype))


@public_v1("glorot_uniform_initializer", "initializers.glorot_uniform")
class GlorotUniform(_Scaling, Initializer, v2.GlorotUniform):
    """Glorot (Xavier) initializer, uniform, with TensorFlow 1's argument names."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        v2.GlorotUniform.__init__(self, seed)
        self.dtype = check_floating(as_dtype(dtype))


@public_v1("glorot_normal_initializer", "initializers.glorot_normal")
class GlorotNormal(_Scaling, Initializer, v2.GlorotNormal):
    """Glorot (Xavier) initializer, truncated normal, with TensorFlow 1's argument names."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        v2.GlorotNormal.__init__(self, seed)
        self.dtype = check_floating(as_dtype(dtype))


@public_v1("initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """He initializer, truncated normal."""
    return VarianceScaling(*v2.HeNormal.case, seed)


@public_v1("initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """He initializer, uniform."""
    return VarianceScaling(*v2.HeUniform.case, seed)


@public_v1("initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """LeCun initializer, truncated normal."""
    return VarianceScaling(*v2.LecunNormal.case, seed)


@public_v1("initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """LeCun initializer, uniform."""
    return VarianceScaling(*v2.LecunUniform.case, seed)


@public_v1("orthogonal_initializer", "initializers.orthogonal")
class Orthogonal(Initializer, matrix.Orthogonal):
    """Initializer of orthogonal matrices, times `gain`, with TensorFlow 1's argument names."""

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32
    ) -> None:
        matrix.Orthogonal.__init__(self, gain, seed)
        self.dtype = check_floating(as_dtype(dtype))


@public_v1("initializers.identity")
class Identity(Initializer, matrix.Identity):
    """Initializer of the identity matrix, times `gain`, with TensorFlow 1's argument names."""

    def __init__(self, gain: float = 1.0, dtype: Any = float32) -> None:
        matrix.Identity.__init__(self, gain)
        self.dtype = check_floating(as_dtype(dtype))
