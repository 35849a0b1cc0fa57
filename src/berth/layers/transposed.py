"""Transposed convolution layers, sometimes called deconvolutions."""

from __future__ import annotations

from typing import Any

from berth.autodiff.backprop import gradients
from berth.layers.base import InputSpec, functional
from berth.layers.convolutional import Convolution
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.nn.conv2d import conv2d_transpose_v1
from berth.ops.nn.conv3d import conv3d_v1
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros


class _Transposed(Convolution):
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
        kernel = (kernel_initializer, kernel_regularizer, kernel_constraint)
        bias = (bias_initializer, bias_regularizer, bias_constraint)
        super().__init__(
            *(filters, kernel_size, strides, padding, data_format, 1, activation, use_bias),
            *(kernel[0], bias[0], kernel[1], bias[1], activity_regularizer, kernel[2], bias[2]),
            *(trainable, name),
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


conv2d_transpose = public_v1("layers.conv2d_transpose")(
    functional(Conv2DTranspose, "conv2d_transpose")
)
conv3d_transpose = public_v1("layers.conv3d_transpose")(
    functional(Conv3DTranspose, "conv3d_transpose")
)
