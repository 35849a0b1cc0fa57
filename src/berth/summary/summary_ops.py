"""``tf.summary`` of TensorFlow 1: operations whose value is a serialized `Summary`.

A program runs them, usually merged, and gives the result to a `FileWriter`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from berth.blocks import FunctionBlock, Use
from berth.dtypes import ALL, FLOATING, REAL, DType, string, uint8, uint16
from berth.errors import InvalidArgumentError
from berth.front.graph_scope import add_to_collections, get_collection, name_scope
from berth.graph.keys import GraphKeys
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
from berth.ops.shape import bracketed
from berth.ops.types import Tensor, TensorLike
from berth.png import encode_png
from berth.public import public_v1
from berth.summary.buckets import histogram_of
from berth.summary.messages import Summary, SummaryDescription, SummaryMetadata

_NOT_IN_NAMES = re.compile(r"[^-/\w\.]")
_BAD_COLOUR = (255, 0, 0, 255)  # of pixels that are not finite


# --- operations -----------------------------------------------------------------------------


def _one_string(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, ()),)


def _summary_op(
    name: str,
    arguments: str,
    compute: Callable[..., Summary],
    types: dict[str, Sequence[DType]],
) -> OpDef:
    """Define an operation that runs on the CPU and returns a serialized Summary."""

    def bind(launch: Launch) -> Call:
        return _write, (compute, launch.attrs, tuple(launch.inputs), launch.outputs[0])

    return OpDef(
        name,
        arguments,
        _one_string,
        types=types,
        kernels=host_only(bind),
        gradient=NOT_DIFFERENTIABLE,
    )


def _write(compute: Callable[..., Summary], attrs: Attrs, inputs: Any, out: Any) -> None:
    out[...] = compute(attrs, *inputs).SerializeToString()


def _scalar_summary(attrs: Attrs, tags: Any, values: Any) -> Summary:
    if tags.shape != values.shape:
        shapes = f"{bracketed(tags.shape)} != {bracketed(values.shape)}"
        tag = f" (tag '{_text(tags)}')" if tags.size == 1 else ""
        message = f"tags and values are not the same shape: {shapes}{tag}"
        raise InvalidArgumentError(None, None, message)
    pairs = zip(tags.reshape(-1), values.reshape(-1), strict=True)
    return Summary(value=[{"tag": tag, "simple_value": float(value)} for tag, value in pairs])


def _histogram_summary(attrs: Attrs, tag: Any, values: Any) -> Summary:
    for is_bad, what in ((np.isnan, "Nan"), (np.isinf, "Infinity")):
        if values.dtype.kind == "f" and is_bad(values).any():
            message = f"{what} in summary histogram for: {_text(tag)}"
            raise InvalidArgumentError(None, None, message)
    return Summary(value=[{"tag": tag.item(), "histo": histogram_of(values)}])


def _image_summary(attrs: Attrs, tag: Any, images: Any) -> Summary:
    if images.ndim != 4 or images.shape[-1] not in (1, 3, 4):
        message = f"Tensor must be 4-D with last dim 1, 3, or 4, not {bracketed(images.shape)}"
        raise InvalidArgumentError(None, None, message)
    summary = Summary()
    for label, image in _labelled(tag, "image", images, attrs["max_images"]):
        pixels = _normalized(image) if image.dtype.kind == "f" else image
        height, width, n_channels = pixels.shape
        summary.value.add(
            tag=label,
            image={
                "height": height,
                "width": width,
                "colorspace": n_channels,
                "encoded_image_string": encode_png(pixels),
            },
        )
    return summary


def _normalized(image: Any) -> Any:
    """Scale to 0…255; with negative values 0 is 128. What is not finite becomes red."""
    values = image.astype(np.float32)
    finite = np.isfinite(values)
    low = values.min(where=finite, initial=np.inf)
    high = values.max(where=finite, initial=-np.inf)
    largest = max(abs(low), abs(high)) if low < 0 else high
    room, offset = (127.0, 128.0) if low < 0 else (255.0, 0.0)
    scale = 0.0 if not np.isfinite(largest) or largest < 1e-6 else room / largest
    bad = ~finite.all(axis=-1)
    pixels = (np.where(finite, values, 0) * np.float32(scale) + np.float32(offset)).astype(
        np.uint8
    )
    pixels[bad] = _BAD_COLOUR[: image.shape[-1]]
    return pixels


def _audio_summary(attrs: Attrs, tag: Any, audio: Any, sample_rate: Any) -> Summary:
    if audio.ndim not in (2, 3):
        message = f"Tensor must be 3-D or 2-D, got: {bracketed(audio.shape)}"
        raise InvalidArgumentError(None, None, message)
    rate = float(sample_rate)
    if rate <= 0:
        raise InvalidArgumentError(None, None, "sample_rate must be > 0")
    summary = Summary()
    clips = audio if audio.ndim == 3 else audio[..., None]
    for label, clip in _labelled(tag, "audio", clips, attrs["max_outputs"]):
        summary.value.add(
            tag=label,
            audio={
                "sample_rate": rate,
                "num_channels": clip.shape[1],
                "length_frames": clip.shape[0],
                "encoded_audio_string": encode_wav(clip, int(rate)),
                "content_type": "audio/wav",
            },
        )
    return summary


def encode_wav(clip: Any, rate: int) -> bytes:
    """Return sound of shape [frames, channels], from -1 to 1, as a WAV file of 16 bits."""
    n_channels = clip.shape[1]
    samples: bytes = np.clip(np.round(clip * 32768.0), -32768, 32767).astype("<i2").tobytes()
    form = struct.pack(
        "<HHIIHH", 1, n_channels, rate, rate * n_channels * 2, n_channels * 2, 16
    )
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _labelled(tag: Any, kind: str, items: Any, n_most: int) -> Iterator[tuple[str, Any]]:
    """Name the first of several items as TensorBoard groups them."""
    base = f"{_text(tag)}/{kind}"
    for position, item in enumerate(items[:n_most]):
        yield base if n_most == 1 else f"{base}/{position}", item


def _tensor_summary(attrs: Attrs, tag: Any, tensor: Any, metadata: Any) -> Summary:
    proto = make_tensor_proto(tensor)
    parsed = SummaryMetadata.FromString(metadata.item())
    return Summary(value=[{"tag": tag.item(), "tensor": proto, "metadata": parsed}])


def _merge_summary(attrs: Attrs, *inputs: Any) -> Summary:
    merged = Summary()
    seen = set()
    for serialized in (item for array in inputs for item in array.reshape(-1)):
        for value in Summary.FromString(serialized).value:
            if value.tag in seen:
                message = f"Duplicate tag {value.tag} found in summary inputs"
                raise InvalidArgumentError(None, None, message)
            seen.add(value.tag)
            merged.value.append(value)
    return merged


def _text(tag: Any) -> str:
    return bytes(tag.item()).decode(errors="replace")


SCALAR = _summary_op("ScalarSummary", "tags:string values:T", _scalar_summary, {"T": REAL})
HISTOGRAM = _summary_op(
    "HistogramSummary", "tag:string values:T", _histogram_summary, {"T": REAL}
)
IMAGE = _summary_op(
    "ImageSummary", "tag:string tensor:T", _image_summary, {"T": (uint8, uint16, *FLOATING)}
)
AUDIO = _summary_op(
    "AudioSummaryV2", "tag:string tensor:float32 sample_rate:float32", _audio_summary, {}
)
TENSOR = _summary_op(
    "TensorSummaryV2",
    "tag:string tensor:T serialized_summary_metadata:string",
    _tensor_summary,
    {"T": ALL},
)
MERGE = _summary_op("MergeSummary", "inputs:string*", _merge_summary, {})


# --- functions ------------------------------------------------------------------------------


@public_v1("summary.scalar")
def scalar(
    name: str, tensor: TensorLike, collections: Any = None, family: str | None = None
) -> Tensor:
    """Summary of a number."""
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        return _collected(apply(SCALAR, (tag, tensor), {}, scope), collections)


@public_v1("summary.histogram")
def histogram(
    name: str, values: TensorLike, collections: Any = None, family: str | None = None
) -> Tensor:
    """Summary of how values are distributed."""
    with _summary_scope(name, family, [values], "HistogramSummary") as (tag, scope):
        return _collected(apply(HISTOGRAM, (tag, values), {}, scope), collections)


@public_v1("summary.image")
def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """Summary of images of shape [batch, height, width, channels]."""
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        attrs = {"max_images": max_outputs}
        return _collected(apply(IMAGE, (tag, tensor), attrs, scope), collections)


@public_v1("summary.audio")
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """Summary of sounds of shape [batch, frames] or [batch, frames, channels]."""
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        attrs = {"max_outputs": max_outputs}
        return _collected(apply(AUDIO, (tag, tensor, sample_rate), attrs, scope), collections)


@public_v1("summary.tensor_summary")
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: Any = None,
    collections: Any = None,
    summary_metadata: SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Summary of a tensor of any type."""
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with _summary_scope(name, family, [tensor]) as (tag, scope):
        serialized = metadata.SerializeToString()
        summary = apply(TENSOR, (tag, tensor, serialized), {}, scope)
        return _collected(summary, collections)


@public_v1("summary.text")
def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """Summary of text."""
    if getattr(tensor, "dtype", string) != string:
        raise ValueError(
            f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}"
        )
    metadata = SummaryMetadata(plugin_data={"plugin_name": "text"})
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


@public_v1("summary.merge")
def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """Merge summaries into one."""
    inputs = list(inputs)
    if not inputs:
        raise ValueError(
            "List argument 'inputs' to 'MergeSummary' Op with length 0 shorter than minimum "
            "length 1."
        )
    with name_scope(name, "Merge", inputs):
        merged = apply(MERGE, tuple(inputs), {}, "MergeSummary")
    if collections:
        add_to_collections(collections, merged)
    return merged


@public_v1("summary.merge_all")
def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """Merge all summaries of the default graph; None if there are none."""
    summaries = get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


@public_v1("summary.get_summary_description")
def get_summary_description(node_def: Any) -> SummaryDescription:
    """Return the description of a summary node, which only tensor summaries have."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Cannot get_summary_description on {node_def.op}")
    return SummaryDescription()


def clean_tag(name: str) -> str:
    """Replace what a name of an operation cannot have by underscores."""
    return _NOT_IN_NAMES.sub("_", name).lstrip("/")


def _summary_scope(
    name: str, family: str | None, values: Sequence[Any], default_name: str | None = None
) -> FunctionBlock[tuple[str, str]]:
    """Open the name scope of a summary; the block gets its tag, and its operation's name."""
    return FunctionBlock(_begin_summary, name, family, values, default_name)


def _begin_summary(
    use: Use, name: str, family: str | None, values: Sequence[Any], default_name: str | None
) -> tuple[str, str]:
    name = clean_tag(name)
    base = name if family is None else f"{clean_tag(family)}/{name}"
    scope = use.enter(name_scope(base, default_name, values))
    tag = scope.rstrip("/")
    return tag if family is None else f"{clean_tag(family)}/{tag}", scope


def _collected(summary: Tensor, collections: Any) -> Tensor:
    """Add a summary to collections, by default to that of all summaries."""
    keys = [GraphKeys.SUMMARIES] if collections is None else collections
    if keys:
        add_to_collections(keys, summary)
    return summary
