"""Pooling layers, of one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.layers.base import InputSpec, Layer, check_choice, functional, sizes_of
from berth.ops.arrays.array import expand_dims, squeeze
from berth.ops.nn.conv3d import avg_pool3d, max_pool3d
from berth.ops.nn.pooling import avg_pool_v1, max_pool_v1
from berth.public import public_v1

_FORMATS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def ops_data_format(data_format: str, n_dims: int) -> str:
    """Return the name that operations have for a layer's data format."""
    first, last = _FORMATS[n_dims]
    return last if data_format == "channels_last" else first


class _Pooling(Layer):
    """Pooling over windows of the spatial axes."""

    n_dims: int
    pool: Callable[..., Any]

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = sizes_of("pool_size", pool_size, self.n_dims)
        self.strides = sizes_of("strides", strides, self.n_dims)
        self.padding = check_choice("padding", padding, ("valid", "same"))
        self.data_format = check_choice(
            "data_format", data_format, ("channels_first", "channels_last")
        )
        self.input_spec = InputSpec(ndim=self.n_dims + 2)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        is_last = self.data_format == "channels_last"
        # One dimension is a second one of size 1.
        one = (1,) if self.n_dims == 1 else ()
        axis = 2 if is_last else 3
        window, strides = (
            (1, *sizes, *one, 1) if is_last else (1, 1, *sizes, *one)
            for sizes in (self.pool_size, self.strides)
        )
        data_format = ops_data_format(self.data_format, max(self.n_dims, 2))
        if one:
            inputs = expand_dims(inputs, axis)
        pool = type(self).pool
        pooled = pool(inputs, window, strides, self.padding.upper(), data_format)
        return squeeze(pooled, [axis]) if one else pooled


@public_v1("layers.MaxPooling1D")
class MaxPooling1D(_Pooling):
    """Max pooling over one dimension: input of shape [batch, length, channels]."""

    n_dims = 1
    pool = staticmethod(max_pool_v1)


@public_v1("layers.MaxPooling2D")
class MaxPooling2D(_Pooling):
    """Max pooling over two dimensions: input of shape [batch, height, width, channels]."""

    n_dims = 2
    pool = staticmethod(max_pool_v1)


@public_v1("layers.MaxPooling3D")
class MaxPooling3D(_Pooling):
    """Max pooling over three dimensions: depth, height and width."""

    n_dims = 3
    pool = staticmethod(max_pool3d)


@public_v1("layers.AveragePooling1D")
class AveragePooling1D(_Pooling):
    """Average pooling over one dimension: input of shape [batch, length, channels]."""

    n_dims = 1
    pool = staticmethod(avg_pool_v1)


@public_v1("layers.AveragePooling2D")
class AveragePooling2D(_Pooling):
    """Average pooling over two dimensions: input of shape [batch, height, width, channels]."""

    n_dims = 2
    pool = staticmethod(avg_pool_v1)


@public_v1("layers.AveragePooling3D")
class AveragePooling3D(_Pooling):
    """Average pooling over three dimensions: depth, height and width."""

    n_dims = 3
    pool = staticmethod(avg_pool3d)


max_pooling1d = public_v1("layers.max_pooling1d")(functional(MaxPooling1D, "max_pooling1d"))
max_pooling2d = public_v1("layers.max_pooling2d")(functional(MaxPooling2D, "max_pooling2d"))
max_pooling3d = public_v1("layers.max_pooling3d")(functional(MaxPooling3D, "max_pooling3d"))
average_pooling1d = public_v1("layers.average_pooling1d")(
    functional(AveragePooling1D, "average_pooling1d")
)
average_pooling2d = public_v1("layers.average_pooling2d")(
    functional(AveragePooling2D, "average_pooling2d")
)
average_pooling3d = public_v1("layers.average_pooling3d")(
    functional(AveragePooling3D, "average_pooling3d")
)
