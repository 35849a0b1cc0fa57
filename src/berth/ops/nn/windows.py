"""Sliding windows over images: padding, strides, dilations, and the number of windows.

Convolutions and pools move a window over the rows and columns of images. What TensorFlow's
strides, dilations and paddings mean for one of these axes is a `Windows`; everything after
that, forwards and backwards, is arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any, NamedTuple

from berth.ops.opdef import Attrs
from berth.ops.rules import ShapeMismatch
from berth.ops.shape import Dims

PADDINGS = ("SAME", "VALID", "EXPLICIT")
FORMATS = ("NHWC", "NCHW")


class Windows(NamedTuple):
    """Windows along one axis: element `tap` of window `k` is at ``k*step + start + tap*gap``.

    Places outside of ``range(n_in)`` are padding.
    """

    n_in: int
    n_out: int
    n_taps: int
    step: int
    start: int
    gap: int

    def inside(self, tap: int) -> tuple[int, int]:
        """Return the range of windows that have this element inside, and not in the padding.

        >>> Windows(n_in=5, n_out=5, n_taps=3, step=1, start=-1, gap=1).inside(0)
        (1, 5)
        """
        offset = self.start + tap * self.gap
        first = max(0, -(offset // self.step))
        last = min(self.n_out, (self.n_in - 1 - offset) // self.step + 1)
        return min(first, self.n_out), max(last, min(first, self.n_out))

    def place(self, window: int, tap: int) -> int:
        """Return the position of an element of a window."""
        return window * self.step + self.start + tap * self.gap

    @property
    def span(self) -> int:
        """Number of positions from the first window's begin to the last window's end."""
        return (self.n_out - 1) * self.step + (self.n_taps - 1) * self.gap + 1

    @property
    def is_padded(self) -> bool:
        """Whether a window reaches over an end of the axis."""
        return self.start < 0 or self.start + self.span > self.n_in


def reversed_windows(windows: Windows) -> list[tuple[int, range, Windows]]:
    """Windows of the gradient: from positions, every `step`, to the windows that cover them.

    Each item is the first position, the taps that reach these positions, and the windows over
    the gradients of the output, with those taps in that order. Positions that no tap reaches
    have an item without taps.
    """
    n_in, n_out, n_taps, step, start, gap = windows
    common = gcd(step, gap)
    walks = []
    for first in range(min(step, n_in)):
        n_places = -(-(n_in - first) // step)
        reaching = [k for k in range(n_taps) if (first - start - k * gap) % step == 0]
        if not reaching:
            walks.append((first, range(0), Windows(n_out, n_places, 0, 1, 0, 1)))
            continue
        taps = range(reaching[-1], -1, -(step // common))
        taps = taps[: len(reaching)]
        begin = (first - start - taps[0] * gap) // step
        walks.append(
            (first, taps, Windows(n_out, n_places, len(taps), 1, begin, gap // common))
        )
    return walks


def falling(taps: range) -> slice:
    """Index the elements of a decreasing range.

    >>> [10, 11, 12, 13][falling(range(3, -1, -2))]
    [13, 11]
    """
    if not taps:
        return slice(0, 0)
    return slice(taps.start, taps.stop if taps.stop >= 0 else None, taps.step)


# --- what users say -----------------------------------------------------------------------


def spread(value: Any, what: str, data_format: str, n_axes: int = 2) -> list[int]:
    """Expand strides, dilations or sizes given as one number, one per spatial axis, or all.

    >>> spread(2, "strides", "NHWC"), spread([2, 3], "strides", "NCHW")
    ([1, 2, 2, 1], [1, 1, 2, 3])
    """
    if value is None:
        value = 1
    listed = [int(v) for v in value] if hasattr(value, "__iter__") else [int(value)]
    if len(listed) == n_axes + 2:
        return listed
    if len(listed) not in (1, n_axes):
        raise ValueError(
            f"{what} should be of length 1, {n_axes} or {n_axes + 2}. Received: "
            f"{what}={value} of length {len(listed)}"
        )
    inner = listed * (n_axes if len(listed) == 1 else 1)
    return [1, 1, *inner] if data_format.startswith("NC") else [1, *inner, 1]


def read_padding(padding: Any) -> tuple[str, list[int]]:
    """Read a padding: its name, or a pair of numbers for each axis."""
    if not isinstance(padding, list | tuple):
        return padding, []
    if len(padding) != 4:
        raise ValueError(
            "When padding is a list, it must be of size 4. Received: "
            f"padding={padding} of size {len(padding)}"
        )
    if any(not isinstance(pair, list | tuple) or len(pair) != 2 for pair in padding):
        raise ValueError(
            "When padding is a list, each element must be a list/tuple of size 2. Received: "
            f"padding={padding}"
        )
    return "EXPLICIT", [int(size) for pair in padding for size in pair]


# --- attributes ---------------------------------------------------------------------------


def spatial_axes(attrs: Attrs) -> tuple[int, int]:
    """Return the axes of rows and columns."""
    return (1, 2) if attrs["data_format"] == "NHWC" else (2, 3)


def channel_axis(attrs: Attrs) -> int:
    """Return the axis of channels."""
    return 3 if attrs["data_format"] == "NHWC" else 1


def channels_last(array: Any, attrs: Attrs) -> Any:
    """Return a view of images with the channels as the last axis."""
    return array if attrs["data_format"] == "NHWC" else array.transpose(0, 2, 3, 1)


def with_channels(dims: Sequence[Any], channels: Any, attrs: Attrs) -> tuple[Any, ...]:
    """Return the shape of images: batch, rows and columns, and channels where they belong."""
    batch, rows, columns = dims
    if attrs["data_format"] == "NHWC":
        return batch, rows, columns, channels
    return batch, channels, rows, columns


def check_windows(attrs: Attrs, what: str = "Conv2D") -> None:
    """Raise ValueError if strides, dilations or paddings cannot be."""
    for kind, name in (("strides", "stride"), ("dilations", "dilations")):
        if len(attrs.get(kind, (1, 1, 1, 1))) != 4:
            raise ValueError(
                f"{what} requires the {name} attribute to contain 4 values, "
                f"but got: {len(attrs[kind])}"
            )
    explicit = attrs.get("explicit_paddings", ())
    if attrs["padding"] == "EXPLICIT":
        if any(size < 0 for size in explicit):
            raise ValueError("All elements of explicit_paddings must be nonnegative")
        channel = channel_axis(attrs)
        if any(explicit[0:2]) or any(explicit[2 * channel : 2 * channel + 2]):
            raise ValueError(
                "Nonzero explicit padding in the batch or depth dimensions is not supported"
            )


def windows_along(
    axis: int, n_in: int | None, n_taps: int | None, attrs: Mapping[str, Any]
) -> tuple[int | None, int]:
    """Return the number of windows along an axis, if known, and the offset of the first."""
    stride = attrs["strides"][axis]
    dilation = attrs.get("dilations", (1, 1, 1, 1))[axis]
    if stride <= 0:
        raise ShapeMismatch(
            f"Stride must be > 0, but got {stride}",
            f"Stride must be > 0, but got {stride}",
        )
    if dilation < 1:
        raise ShapeMismatch(
            f"Dilation rate must be >= 1, but got {dilation}",
            "Dilated rates should be larger than 0.",
        )
    if n_in is None:
        return None, 0
    if attrs["padding"] == "SAME":
        n_out = -(-n_in // stride)
        if n_taps is None:
            return n_out, 0
        reach = (n_out - 1) * stride + (n_taps - 1) * dilation + 1
        return n_out, -(max(reach - n_in, 0) // 2)
    if n_taps is None:
        return None, 0
    padded, before = _padded(axis, n_in, attrs)
    size = (n_taps - 1) * dilation + 1
    # Rounded towards zero: a window that is a little too large gives nothing, and no error.
    n_out = int((padded - size + stride) / stride)
    if n_out < 0:
        raise ShapeMismatch(
            _too_large(size, padded),
            f"Computed output size would be negative: {n_out} "
            f"[input_size: {n_in}, effective_filter_size: {size}, stride: {stride}]",
        )
    return n_out, -before


def _padded(axis: int, n_in: int, attrs: Mapping[str, Any]) -> tuple[int, int]:
    """Return the size of an axis with explicit padding, and how much of it comes before."""
    if attrs["padding"] != "EXPLICIT":
        return n_in, 0
    before, after = attrs["explicit_paddings"][2 * axis : 2 * axis + 2]
    return n_in + before + after, before


def _too_large(size: int, padded: int) -> str:
    return f"Negative dimension size caused by subtracting {size} from {padded}"


def check_fit(dims: Dims, sizes: Sequence[int | None], attrs: Attrs) -> None:
    """Raise ValueError if windows are larger than images: graphs refuse what runs take."""
    if attrs["padding"] == "SAME" or dims is None:
        return
    for axis, n_taps in zip(spatial_axes(attrs), sizes, strict=True):
        n_in = dims[axis]
        if n_in is None or n_taps is None:
            continue
        size = (n_taps - 1) * attrs.get("dilations", (1, 1, 1, 1))[axis] + 1
        padded, _ = _padded(axis, n_in, attrs)
        if size > padded:
            raise ValueError(_too_large(size, padded))


def window_dims(
    dims: Dims, sizes: Sequence[int | None], attrs: Attrs
) -> tuple[int | None, int | None]:
    """Return the number of windows along rows and columns, as far as known."""
    rows, columns = (
        windows_along(axis, None if dims is None else dims[axis], size, attrs)[0]
        for axis, size in zip(spatial_axes(attrs), sizes, strict=True)
    )
    return rows, columns


def windows_of(
    dims: Sequence[int], sizes: Sequence[int], attrs: Attrs
) -> tuple[Windows, Windows]:
    """Return the windows along rows and columns of images of a known shape."""
    found = []
    for axis, size in zip(spatial_axes(attrs), sizes, strict=True):
        n_out, start = windows_along(axis, dims[axis], size, attrs)
        dilation = attrs.get("dilations", (1, 1, 1, 1))[axis]
        assert n_out is not None
        found.append(Windows(dims[axis], n_out, size, attrs["strides"][axis], start, dilation))
    rows, columns = found
    return rows, columns
