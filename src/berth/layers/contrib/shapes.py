"""Layers without variables, and layers in a row: pooling, dropout, flatten, repeat, stack."""

from __future__ import annotations

from typing import Any

from berth.dtypes import int32, int64
from berth.layers.contrib.arg_scope import add_arg_scope
from berth.layers.contrib.base import channels, layer_scope
from berth.layers.contrib.outputs import collect_named_outputs
from berth.layers.contrib.variables import model_variable
from berth.layers.core import Dropout, Flatten
from berth.layers.pooling import AveragePooling2D, MaxPooling2D
from berth.ops.arrays.array import reshape
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.one_hot import one_hot
from berth.ops.arrays.unique import unique
from berth.ops.compose import convert
from berth.ops.compose import scope as open_scope
from berth.ops.elementwise.casting import cast
from berth.ops.nn.embedding import embedding_lookup_v1
from berth.public import public_v1
from berth.variables.scope import variable_scope


def _pooled(
    layer: Any,
    name: str,
    inputs: Any,
    size: Any,
    options: dict[str, Any],
    collections: Any,
    scope: str | None,
) -> Any:
    options["data_format"] = channels(options["data_format"])
    with open_scope(name, scope) as inner:
        outputs = layer(size, _scope=inner, **options)(convert(inputs))
        return collect_named_outputs(collections, inner, outputs)


@public_v1("contrib.layers.max_pool2d", "contrib.slim.max_pool2d")
@add_arg_scope
def max_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Maximum pooling of images."""
    options = {"strides": stride, "padding": padding, "data_format": data_format}
    given = inputs, kernel_size, options, outputs_collections, scope
    return _pooled(MaxPooling2D, "MaxPool2D", *given)


@public_v1("contrib.layers.avg_pool2d", "contrib.slim.avg_pool2d")
@add_arg_scope
def avg_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Average pooling of images."""
    options = {"strides": stride, "padding": padding, "data_format": data_format}
    given = inputs, kernel_size, options, outputs_collections, scope
    return _pooled(AveragePooling2D, "AvgPool2D", *given)


@public_v1("contrib.layers.dropout", "contrib.slim.dropout")
@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Dropout in training; `keep_prob` is the probability that an element is kept."""
    with layer_scope(scope, "Dropout", inputs, None) as inner:
        layer = Dropout(
            1 - keep_prob, noise_shape=noise_shape, seed=seed, name=inner.name, _scope=inner
        )
        outputs = layer(convert(inputs), training=is_training)
        return collect_named_outputs(outputs_collections, inner.name, outputs)


@public_v1("contrib.layers.flatten", "contrib.slim.flatten")
@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """Flatten: all axes but the first become one."""
    with open_scope("Flatten", scope) as inner:
        outputs = Flatten()(convert(inputs))
        return collect_named_outputs(outputs_collections, inner, outputs)


@public_v1("contrib.layers.one_hot_encoding", "contrib.slim.one_hot_encoding")
@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: Any,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """One-hot encoding of class numbers."""
    with open_scope("OneHotEncoding", scope) as inner:
        labels = convert(labels)
        if labels.dtype.base_dtype is int32:
            labels = cast(labels, int64)
        outputs = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, inner, outputs)


@public_v1("contrib.layers.embedding_lookup_unique")
def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """Embedding lookup that gathers each row once, however often it occurs."""
    with open_scope("EmbeddingLookupUnique", name):
        ids = convert(ids)
        rows, places = unique(reshape(ids, [-1]))
        found = gather(embedding_lookup_v1(params, rows, partition_strategy), places)
        sizes = [*ids.shape.as_list(), *found.shape.as_list()[1:]]
        return reshape(found, [-1 if size is None else size for size in sizes])


@public_v1("contrib.layers.embed_sequence")
def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """Embeddings of a sequence of symbols."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        embeddings = model_variable(
            "embeddings",
            shape=shape,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return embedding_lookup_v1(embeddings, ids)


# --- layers in a row -------------------------------------------------------------------------


def _name_of(layer: Any, otherwise: str) -> str:
    named = getattr(layer, "func", layer)
    return str(getattr(named, "__name__", otherwise))


@public_v1("contrib.layers.repeat", "contrib.slim.repeat")
def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a layer several times, with variables of its own each time."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs = convert(inputs)
        name = scope or _name_of(layer, "repeat")
        for number in range(1, repetitions + 1):
            outputs = layer(outputs, *args, scope=f"{name}_{number}", **kwargs)
        return outputs


@public_v1("contrib.layers.stack", "contrib.slim.stack")
def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """Apply a layer once for each of some arguments."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, list | tuple):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        outputs = convert(inputs)
        name = scope or _name_of(layer, "stack")
        for number, given in enumerate(stack_args, 1):
            own = given if isinstance(given, list | tuple) else [given]
            outputs = layer(outputs, *own, scope=f"{name}_{number}", **kwargs)
        return outputs
