"""``tf.summary`` of TensorFlow 2: functions that write to the default writer.

They are one operation, `WriteSummary`, which writes when it is executed: at once in an eager
program, and in each call of a `tf.function`. The writer is the one that was the default when
the operation was built; without one, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, bool_, int64
from berth.eager.scope import name_scope
from berth.front.graph_scope import convert_to_tensor
from berth.graph.tensor_proto import make_tensor_proto
from berth.ops.builder import apply
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    host_only,
)
from berth.ops.types import Tensor, TensorLike
from berth.png import encode_png
from berth.public import public_v2
from berth.summary.messages import SummaryMetadata, Value
from berth.summary.summary_ops import encode_wav
from berth.summary.writer import bool_tensor, current_condition, state

_WAV_ENCODING = b"\x10\x0b"  # of the audio plugin's data: version 0, WAV


# --- the operation --------------------------------------------------------------------------


def _written_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    return ((bool_, ()),)


def _bind(launch: Launch) -> Call:
    return _record, (launch.attrs, tuple(launch.inputs), launch.outputs[0])


def _record(attrs: Attrs, inputs: Any, out: Any) -> None:
    condition, step, tag, data = inputs
    if condition:
        metadata = SummaryMetadata.FromString(attrs["metadata"])
        tensor = make_tensor_proto(attrs["convert"](data))
        value = Value(tag=tag.item(), tensor=tensor, metadata=metadata)
        if not attrs["metadata"]:
            value.ClearField("metadata")
        attrs["writer"].add(int(step), value)
    out[...] = bool(condition)


WRITE = OpDef(
    "WriteSummary",
    "condition:bool step:int64 tag:string tensor:T",
    _written_type,
    types={"T": ALL},
    kernels=host_only(_bind),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)


def _identity(data: Any) -> Any:
    return data


@public_v2("summary.write")
def write(
    tag: str,
    tensor: Any,
    step: Any = None,
    metadata: SummaryMetadata | None = None,
    name: str | None = None,
) -> Tensor:
    """Write a tensor; return whether it was written."""
    return _write(tag, tensor, step, metadata, _identity)


def _write(
    tag: str,
    tensor: Any,
    step: Any,
    metadata: SummaryMetadata | None,
    convert: Callable[[Any], Any],
) -> Tensor:
    if state.writer is None:
        return bool_tensor(False)
    step = state.step if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    data = convert_to_tensor(tensor() if callable(tensor) else tensor)
    attrs = {
        "writer": state.writer,
        "metadata": b"" if metadata is None else metadata.SerializeToString(),
        "convert": convert,
    }
    steps = convert_to_tensor(step, int64) if isinstance(step, int) else step
    return apply(WRITE, (bool_tensor(current_condition()), steps, tag, data), attrs, None)


def _tagged(
    name: str,
    data: Any,
    step: Any,
    plugin: str,
    description: str | None,
    convert: Any,
    **more: Any,
) -> Tensor:
    """Write data for one of TensorBoard's plugins, under the current name scope."""
    metadata = SummaryMetadata(plugin_data={"plugin_name": plugin, **more})
    if description:
        metadata.summary_description = description
    with name_scope(name) as scope:
        tag = scope.rstrip("/")
        # A second summary under a name is the same summary in another step.
        tag = tag[: len(tag) - len(tag.rpartition("/")[2])] + name.rpartition("/")[2]
        return _write(tag, data, step, metadata, convert)


# --- what TensorBoard shows -------------------------------------------------------------------


@public_v2("summary.scalar")
def scalar(
    name: str, data: TensorLike, step: Any = None, description: str | None = None
) -> Tensor:
    """Write a number."""
    number = convert_to_tensor(data)
    if number.shape.rank not in (None, 0):
        raise ValueError(f"Expected scalar shape, saw shape: {number.shape}.")
    return _tagged(name, number, step, "scalars", description, _as_float)


def _as_float(data: Any) -> Any:
    return data.astype(np.float32)


@public_v2("summary.histogram")
def histogram(
    name: str,
    data: TensorLike,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Tensor:
    """Write how values are distributed, in buckets of the same width (30 by default)."""
    convert = _Buckets(30 if buckets is None else buckets)
    return _tagged(name, data, step, "histograms", description, convert)


class _Buckets:
    """Counts values in equal buckets: rows of left limit, right limit, count."""

    def __init__(self, n_buckets: int) -> None:
        self._n_buckets = n_buckets

    def __call__(self, data: Any) -> Any:
        values = data.astype(np.float64).reshape(-1)
        rows = np.zeros((self._n_buckets, 3))
        if not values.size or not self._n_buckets:
            return rows
        low, high = values.min(), values.max()
        if low == high:  # everything is in the last bucket, which has no width
            rows[:, :2], rows[-1, 2] = low, values.size
            return rows
        edges = np.linspace(low, high, self._n_buckets + 1)
        places = np.floor((values - low) / ((high - low) / self._n_buckets)).astype(int)
        counts = np.bincount(np.minimum(places, self._n_buckets - 1), minlength=self._n_buckets)
        return np.stack([edges[:-1], edges[1:], counts], axis=1)


@public_v2("summary.image")
def image(
    name: str,
    data: TensorLike,
    step: Any = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Tensor:
    """Write images of shape [batch, height, width, channels], from 0 to 1 or as uint8."""
    images = convert_to_tensor(data)
    if images.shape.rank not in (None, 4):
        shape = f"rank {images.shape.rank}, shape {images.shape}"
        raise ValueError(f"Tensor  must have rank 4.  Received {shape}")
    return _tagged(name, images, step, "images", description, _Images(max_outputs))


class _Images:
    def __init__(self, n_most: int) -> None:
        self._n_most = n_most

    def __call__(self, data: Any) -> Any:
        _, height, width, _ = data.shape
        pixels = data
        if data.dtype.kind == "f":  # as tf.image.convert_image_dtype, saturating
            pixels = np.clip(data * 255.5, 0, 255).astype(np.uint8)
        files = [encode_png(each) for each in pixels[: self._n_most]]
        return _strings([str(width).encode(), str(height).encode(), *files])


@public_v2("summary.text")
def text(
    name: str, data: TensorLike, step: Any = None, description: str | None = None
) -> Tensor:
    """Write text."""
    return _tagged(name, data, step, "text", description, _identity)


@public_v2("summary.audio")
def audio(
    name: str,
    data: TensorLike,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Write sounds of shape [batch, frames, channels], from -1 to 1."""
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    convert = _Sounds(max_outputs, int(sample_rate))
    return _tagged(name, data, step, "audio", description, convert, content=_WAV_ENCODING)


class _Sounds:
    def __init__(self, n_most: int, rate: int) -> None:
        self._n_most, self._rate = n_most, rate

    def __call__(self, data: Any) -> Any:
        files = [encode_wav(each, self._rate) for each in data[: self._n_most]]
        return _strings([[each, b""] for each in files])


def _strings(items: list[Any]) -> Any:
    return np.array(items, object)


@public_v2("summary.graph")
def graph(graph_data: Any) -> Tensor:
    """Write a graph, for TensorBoard to draw."""
    if state.writer is None:
        return bool_tensor(False)
    definition = (
        graph_data.as_graph_def() if hasattr(graph_data, "as_graph_def") else graph_data
    )
    state.writer.add_graph(definition.SerializeToString())
    return bool_tensor(True)
