"""Separable convolution layers."""

from __future__ import annotations

from typing import Any

from berth.layers.base import functional
from berth.layers.convolutional import Convolution
from berth.ops.arrays.array import expand_dims, squeeze
from berth.ops.arrays.pad import pad
from berth.ops.nn.bias import bias_add
from berth.ops.nn.depthwise import separable_conv2d_v1
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros


class _Separable(Convolution):
    """A convolution of each channel, and then one of all channels at each point."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        bias = (bias_initializer, bias_regularizer, bias_constraint)
        super().__init__(
            *(filters, kernel_size, strides, padding, data_format, dilation_rate),
            *(activation, use_bias, None, bias[0], None, bias[1]),
            *(activity_regularizer, None, bias[2], trainable, name),
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        depthwise = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        pointwise = (pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        names = ("initializer", "regularizer", "constraint")
        self._depthwise = dict(zip(names, depthwise, strict=True))
        self._pointwise = dict(zip(names, pointwise, strict=True))

    def build(self, input_shape: Any) -> None:
        n_channels = self._n_channels(input_shape)
        deep = self.depth_multiplier * n_channels
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            shape=(*self.kernel_size, n_channels, self.depth_multiplier),
            **self._depthwise,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            shape=(*((1,) * self.n_dims), deep, self.filters),
            **self._pointwise,
        )
        self._add_bias()
        self.built = True


@public_v1("layers.SeparableConv2D")
class SeparableConv2D(_Separable):
    """Depthwise separable 2-D convolution layer."""

    n_dims = 2

    def _convolved(self, inputs: Any) -> Any:
        return separable_conv2d_v1(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            self._with_channels(self.strides),
            self.padding.upper(),
            rate=self.dilation_rate,
            data_format=self._ops_format,
        )


@public_v1("layers.SeparableConv1D")
class SeparableConv1D(_Separable):
    """Depthwise separable 1-D convolution layer."""

    n_dims = 1

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        # One dimension is the second of two, of which the first has size 1.
        is_last = self.data_format == "channels_last"
        axis = 1 if is_last else 2
        (stride,), (dilation,) = self.strides, self.dilation_rate
        padding = self.padding.upper()
        if self.padding == "causal":
            before = dilation * (self.kernel_size[0] - 1)
            sides = [[0, 0], [before, 0], [0, 0]] if is_last else [[0, 0], [0, 0], [before, 0]]
            inputs, padding = pad(inputs, sides), "VALID"
        outputs = separable_conv2d_v1(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            self._with_channels((stride, stride)),
            padding,
            rate=(1, dilation),
            data_format="NHWC" if is_last else "NCHW",
        )
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, "NHWC" if is_last else "NCHW")
        outputs = squeeze(outputs, [axis])
        return outputs if self.activation is None else self.activation(outputs)


separable_conv1d = public_v1("layers.separable_conv1d")(
    functional(SeparableConv1D, "separable_conv1d")
)
separable_conv2d = public_v1("layers.separable_conv2d")(
    functional(SeparableConv2D, "separable_conv2d")
)
