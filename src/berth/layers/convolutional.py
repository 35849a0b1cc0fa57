"""Convolution layers: plain, separable and transposed."""

from __future__ import annotations

from typing import Any

from berth.autodiff.backprop import gradients
from berth.layers.base import InputSpec, Layer, check_choice, functional, sizes_of
from berth.layers.pooling import ops_data_format
from berth.ops.arrays.array import expand_dims, squeeze
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.pad import pad
from berth.ops.nn.bias import bias_add
from berth.ops.nn.conv2d import conv2d_transpose_v1, conv2d_v1
from berth.ops.nn.conv3d import conv3d_v1
from berth.ops.nn.convolution import conv1d_v1
from berth.ops.nn.depthwise import separable_conv2d_v1
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros

_PADDINGS = 'a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D).'


class _Convolution(Layer):
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
class Conv1D(_Convolution):
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
class Conv2D(_Convolution):
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
class Conv3D(_Convolution):
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


class _Transposed(_Convolution):
    """A transposed convolution: the gradient of a convolution, as a layer."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
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
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.input_spec = InputSpec(ndim=self.n_dims + 2)

    def _kernel_shape(self, n_channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, n_channels)

    def _output_shape(self, inputs: Any) -> tuple[list[Any], list[int | None]]:
        """Return the output's shape for the operation, and as far as it is known."""
        known = inputs.shape.as_list()
        sizes = shape_of(inputs)
        first = 1 if self.data_format == "channels_last" else 2
        lengths: list[Any] = []
        for axis, (window, stride) in enumerate(
            zip(self.kernel_size, self.strides, strict=True), first
        ):
            length = sizes[axis] if known[axis] is None else known[axis]
            longer = max(window - stride, 0) if self.padding == "valid" else 0
            lengths.append(length * stride + longer)
        batch = sizes[0] if known[0] is None else known[0]
        last = self.data_format == "channels_last"
        whole = [batch, *lengths, self.filters] if last else [batch, self.filters, *lengths]
        return whole, [size if isinstance(size, int) else None for size in whole]

    def _convolved(self, inputs: Any) -> Any:
        shape, known = self._output_shape(inputs)
        outputs = self._transposed(inputs, stack(shape) if None in known else shape)
        outputs.set_shape(known)
        return outputs

    def _transposed(self, inputs: Any, shape: Any) -> Any:
        raise NotImplementedError


@public_v1("layers.Conv2DTranspose")
class Conv2DTranspose(_Transposed):
    """Transposed 2-D convolution layer, sometimes called deconvolution."""

    n_dims = 2

    def _transposed(self, inputs: Any, shape: Any) -> Any:
        return conv2d_transpose_v1(
            inputs,
            self.kernel,
            shape,
            self._with_channels(self.strides),
            self.padding.upper(),
            self._ops_format,
        )


@public_v1("layers.Conv3DTranspose")
class Conv3DTranspose(_Transposed):
    """Transposed 3-D convolution layer, sometimes called deconvolution."""

    n_dims = 3

    def _transposed(self, inputs: Any, shape: Any) -> Any:
        # A convolution is linear: its gradient does not depend on where it is taken.
        anywhere = zeros(shape, self.dtype)
        convolved = conv3d_v1(
            anywhere,
            self.kernel,
            self._with_channels(self.strides),
            self.padding.upper(),
            data_format=self._ops_format,
        )
        return gradients(convolved, anywhere, grad_ys=inputs)[0]


class _Separable(_Convolution):
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
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._depthwise = {
            "initializer": depthwise_initializer,
            "regularizer": depthwise_regularizer,
            "constraint": depthwise_constraint,
        }
        self._pointwise = {
            "initializer": pointwise_initializer,
            "regularizer": pointwise_regularizer,
            "constraint": pointwise_constraint,
        }

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


conv1d = public_v1("layers.conv1d")(functional(Conv1D, "conv1d"))
conv2d = public_v1("layers.conv2d")(functional(Conv2D, "conv2d"))
conv3d = public_v1("layers.conv3d")(functional(Conv3D, "conv3d"))
separable_conv1d = public_v1("layers.separable_conv1d")(
    functional(SeparableConv1D, "separable_conv1d")
)
separable_conv2d = public_v1("layers.separable_conv2d")(
    functional(SeparableConv2D, "separable_conv2d")
)
conv2d_transpose = public_v1("layers.conv2d_transpose")(
    functional(Conv2DTranspose, "conv2d_transpose")
)
conv3d_transpose = public_v1("layers.conv3d_transpose")(
    functional(Conv3DTranspose, "conv3d_transpose")
)
