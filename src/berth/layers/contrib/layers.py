"""Fully connected and convolutional layers of `tf.contrib.layers`."""

from __future__ import annotations

from functools import partial
from typing import Any

from berth.layers.contrib.arg_scope import add_arg_scope
from berth.layers.contrib.base import add_variables, channels, layer_scope, normalized
from berth.layers.contrib.initializers import xavier_initializer
from berth.layers.contrib.outputs import collect_named_outputs
from berth.layers.convolutional import Conv1D, Conv2D, Conv3D
from berth.layers.core import Dense
from berth.layers.separable import SeparableConv2D
from berth.layers.transposed import Conv2DTranspose
from berth.ops.compose import convert
from berth.ops.elementwise.sigmoid import relu as rectify
from berth.ops.nn.activations import relu6 as rectify6
from berth.public import public_v1, public_value
from berth.variables.initializers_v1 import Zeros

_XAVIER = xavier_initializer()
_ZEROS = Zeros()


def _options(
    inputs: Any, scope: Any, reuse: Any, trainable: bool, biases: tuple[Any, Any] | None
) -> dict[str, Any]:
    """Return the options that all layers have; biases are an initializer and a regularizer."""
    initializer, regularizer = biases or (None, None)
    return {
        "use_bias": initializer is not None,
        "bias_initializer": initializer,
        "bias_regularizer": regularizer,
        "trainable": trainable,
        "name": scope.name,
        "dtype": convert(inputs).dtype.base_dtype,
        "_scope": scope,
        "_reuse": reuse,
    }


def _applied(
    layer: Any,
    inputs: Any,
    scope: Any,
    activation_fn: Any,
    normalizer: tuple[Any, Any],
    collections: tuple[Any, Any],
) -> Any:
    """Call a layer of `tf.layers`, then the normalizer and the activation."""
    outputs = layer(inputs)
    if hasattr(layer, "depthwise_kernel"):
        add_variables(collections[0], weights=layer.depthwise_kernel)
        add_variables(collections[0], weights=layer.pointwise_kernel)
    else:
        add_variables(collections[0], weights=layer.kernel)
    add_variables(collections[0], biases=layer.bias)
    outputs = normalized(outputs, *normalizer)
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(collections[1], scope.name, outputs)


@public_v1("contrib.layers.fully_connected", "contrib.slim.fully_connected")
@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = rectify,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Fully connected layer; with a normalizer it has no biases."""
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of [{int}], got {type(num_outputs)}.")
    with layer_scope(scope, "fully_connected", inputs, reuse) as inner:
        biases = biases_initializer, biases_regularizer
        layer = Dense(
            num_outputs,
            kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer,
            **_options(
                inputs, inner, reuse, trainable, biases if normalizer_fn is None else None
            ),
        )
        normalizer = normalizer_fn, normalizer_params
        collections = variables_collections, outputs_collections
        return _applied(layer, inputs, inner, activation_fn, normalizer, collections)


linear = partial(fully_connected, activation_fn=None)
relu = partial(fully_connected, activation_fn=rectify)
relu6 = partial(fully_connected, activation_fn=rectify6)
for _alias in ("linear", "relu", "relu6"):
    public_value(
        __name__, _alias, f"contrib.layers.{_alias}", f"contrib.slim.{_alias}", apis=("v1",)
    )

_FORMATS = ("NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
_LAYERS: dict[int, Any] = {3: Conv1D, 4: Conv2D, 5: Conv3D}


def _layer_of(rank: int | None, conv_dims: int | None) -> Any:
    if conv_dims is not None and conv_dims + 2 != rank:
        raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
    if rank not in _LAYERS:
        raise ValueError("Convolution not supported for input with rank", rank)
    return _LAYERS[rank]


@public_v1("contrib.layers.convolution", "contrib.slim.convolution")
@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = rectify,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Any:
    """Convolution layer, in one, two or three dimensions; with a normalizer without biases."""
    if data_format not in (None, *_FORMATS):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with layer_scope(scope, "Conv", inputs, reuse) as inner:
        inputs = convert(inputs)
        biases = biases_initializer, biases_regularizer
        layer = _layer_of(inputs.shape.rank, conv_dims)(
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=channels(data_format, _FORMATS),
            dilation_rate=rate,
            kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer,
            **_options(
                inputs, inner, reuse, trainable, biases if normalizer_fn is None else None
            ),
        )
        normalizer = normalizer_fn, normalizer_params
        collections = variables_collections, outputs_collections
        return _applied(layer, inputs, inner, activation_fn, normalizer, collections)


def _convolution_of(dims: int) -> Any:
    name = f"convolution{dims}d"

    def function(*args: Any, **kwargs: Any) -> Any:
        return convolution(*args, **{"conv_dims": dims, **kwargs})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Convolution layer in {dims} dimensions: as `convolution`."
    paths = [f"{place}.{each}" for place in _PLACES for each in (name, f"conv{dims}d")]
    return public_v1(*paths)(add_arg_scope(function))


_PLACES = ("contrib.layers", "contrib.slim")
convolution1d = _convolution_of(1)
convolution2d = _convolution_of(2)
convolution3d = _convolution_of(3)


@public_v1(
    *(
        f"{place}.{name}"
        for place in _PLACES
        for name in ("conv2d_transpose", "convolution2d_transpose")
    )
)
@add_arg_scope
def convolution2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Any = rectify,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Transposed convolution layer in two dimensions."""
    with layer_scope(scope, "Conv2d_transpose", inputs, reuse) as inner:
        biases = biases_initializer, biases_regularizer
        layer = Conv2DTranspose(
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=channels(data_format),
            kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer,
            **_options(
                inputs, inner, reuse, trainable, biases if normalizer_fn is None else None
            ),
        )
        normalizer = normalizer_fn, normalizer_params
        collections = variables_collections, outputs_collections
        return _applied(layer, inputs, inner, activation_fn, normalizer, collections)


@public_v1(
    *(
        f"{place}.{name}"
        for place in _PLACES
        for name in ("separable_conv2d", "separable_convolution2d")
    )
)
@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = rectify,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Separable convolution layer: of each channel alone, then across the channels."""
    if num_outputs is None:
        raise NotImplementedError("berth's separable convolution needs num_outputs.")
    with layer_scope(scope, "SeparableConv2d", inputs, reuse) as inner:
        biases = biases_initializer, biases_regularizer
        layer = SeparableConv2D(
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding,
            data_format=channels(data_format),
            dilation_rate=rate,
            depth_multiplier=depth_multiplier,
            depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer,
            depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer,
            **_options(
                inputs, inner, reuse, trainable, biases if normalizer_fn is None else None
            ),
        )
        normalizer = normalizer_fn, normalizer_params
        collections = variables_collections, outputs_collections
        return _applied(layer, inputs, inner, activation_fn, normalizer, collections)
