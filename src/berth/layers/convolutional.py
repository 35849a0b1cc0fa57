"""Convolution layers, and what separable and transposed ones share with them."""

from __future__ import annotations

from typing import Any

from berth.layers.base import InputSpec, Layer, check_choice, functional, sizes_of
from berth.layers.pooling import ops_data_format
from berth.ops.arrays.pad import pad
from berth.ops.nn.bias import bias_add
from berth.ops.nn.conv1d import conv1d_v1
from berth.ops.nn.conv2d import conv2d_v1
from berth.ops.nn.conv3d import conv3d_v1
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros

_PADDINGS = 'a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D).'


class Convolution(Layer):
    """What all convolutions share: arguments, the kernel, bias and activation."""

    n_dims: int

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 (it has no state)
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.filters = int(filters)
        self.kernel_size = sizes_of("kernel_size", kernel_size, self.n_dims)
        self.strides = sizes_of("strides", strides, self.n_dims)
        self.dilation_rate = sizes_of("dilation_rate", dilation_rate, self.n_dims)
        self.padding = self._check_padding(padding)
        self.data_format = check_choice(
            "data_format", data_format, ("channels_first", "channels_last")
        )
        self.activation = activation
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=self.n_dims + 2)
        self.kernel: Any = None
        self.bias: Any = None

    def _check_padding(self, padding: Any) -> str:
        choices = ("valid", "same", "causal") if self.n_dims == 1 else ("valid", "same")
        if str(padding).lower() not in choices:
            message = f"The `padding` argument must be {_PADDINGS}"
            raise ValueError(f"{message} Received: {padding}")
        return str(padding).lower()

    @property
    def _channel_axis(self) -> int:
        return -1 if self.data_format == "channels_last" else 1

    @property
    def _ops_format(self) -> str:
        return ops_data_format(self.data_format, self.n_dims)

    def _n_channels(self, input_shape: Any) -> int:
        shape = TensorShape(input_shape)
        size = shape.as_list()[self._channel_axis] if shape.rank else None
        if size is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. The input_shape "
                f"received is {shape}, where axis {self._channel_axis} (0-based) is the "
                "channel dimension, which found to be `None`."
            )
        self.input_spec = InputSpec(min_ndim=self.n_dims + 2, axes={self._channel_axis: size})
        return size

    def _kernel_shape(self, n_channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, n_channels, self.filters)

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(
            "kernel",
            shape=self._kernel_shape(self._n_channels(input_shape)),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self._add_bias()
        self.built = True

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def _with_channels(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return sizes for all axes, from those of the spatial ones."""
        return (1, *sizes, 1) if self.data_format == "channels_last" else (1, 1, *sizes)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return self._finished(self._convolved(inputs))

    def _convolved(self, inputs: Any) -> Any:
        raise NotImplementedError

    def _finished(self, outputs: Any) -> Any:
        """Add the bias and apply the activation."""
        if self.bias is not None:
            # In three dimensions and in one, operations call the channels' axis as in two.
            last = self.data_format == "channels_last"
            outputs = bias_add(outputs, self.bias, "NHWC" if last else "NCHW")
        return outputs if self.activation is None else self.activation(outputs)


@public_v1("layers.Conv1D")
class Conv1D(Convolution):
    """1-D convolution layer: input of shape [batch, length, channels]."""

    n_dims = 1

    def _convolved(self, inputs: Any) -> Any:
        padding = self.padding.upper()
        if self.padding == "causal":
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            sides = [[0, 0], [before, 0], [0, 0]]
            if self.data_format == "channels_first":
                sides = [sides[0], sides[2], sides[1]]
            inputs, padding = pad(inputs, sides), "VALID"
        (stride,), (dilation,) = self.strides, self.dilation_rate
        return conv1d_v1(
            inputs,
            self.kernel,
            stride,
            padding,
            data_format=self._ops_format,
            dilations=dilation,
        )


@public_v1("layers.Conv2D")
class Conv2D(Convolution):
    """2-D convolution layer: input of shape [batch, height, width, channels]."""

    n_dims = 2

    def _convolved(self, inputs: Any) -> Any:
        return conv2d_v1(
            inputs,
            self.kernel,
            self._with_channels(self.strides),
            self.padding.upper(),
            data_format=self._ops_format,
            dilations=self._with_channels(self.dilation_rate),
        )


@public_v1("layers.Conv3D")
class Conv3D(Convolution):
    """3-D convolution layer: input of shape [batch, depth, height, width, channels]."""

    n_dims = 3

    def _convolved(self, inputs: Any) -> Any:
        return conv3d_v1(
            inputs,
            self.kernel,
            self._with_channels(self.strides),
            self.padding.upper(),
            data_format=self._ops_format,
            dilations=self._with_channels(self.dilation_rate),
        )


conv1d = public_v1("layers.conv1d")(functional(Conv1D, "conv1d"))
conv2d = public_v1("layers.conv2d")(functional(Conv2D, "conv2d"))
conv3d = public_v1("layers.conv3d")(functional(Conv3D, "conv3d"))
