"""Convolutions and pools by the formula, one window at a time, for tests to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def geometry(size: int, taps: int, stride: int, dilation: int, padding: Any) -> tuple[int, int]:
    """Return how many windows there are along an axis, and where the first begins."""
    reach = (taps - 1) * dilation + 1
    if padding == "SAME":
        n_out = (size + stride - 1) // stride
        return n_out, -(max((n_out - 1) * stride + reach - size, 0) // 2)
    before, after = (0, 0) if padding == "VALID" else padding
    return (size + before + after - reach) // stride + 1, -before


class Case:
    """Images, a size of windows, and how they lie."""

    def __init__(
        self,
        image: tuple[int, ...],
        taps: tuple[int, int],
        strides: tuple[int, int] = (1, 1),
        dilations: tuple[int, int] = (1, 1),
        padding: Any = "SAME",
    ) -> None:
        self.image, self.taps, self.strides = image, taps, strides
        self.dilations, self.padding = dilations, padding
        per_axis = [padding, padding] if isinstance(padding, str) else padding[1:3]
        (self.rows, self._top), (self.columns, self._left) = (
            geometry(*sizes)
            for sizes in zip(image[1:3], taps, strides, dilations, per_axis, strict=True)
        )

    @property
    def attrs(self) -> Mapping[str, Any]:
        """What the operations call it."""
        is_named = isinstance(self.padding, str)
        return {
            "strides": [1, *self.strides, 1],
            "padding": self.padding if is_named else "EXPLICIT",
            "explicit_paddings": [] if is_named else [n for pair in self.padding for n in pair],
            "data_format": "NHWC",
            "dilations": [1, *self.dilations, 1],
        }

    def places(self) -> Iterator[tuple[int, int, int, int, int, int]]:
        """List all pairs of a window and a place in it: out row and column, tap, in row and column."""
        for i, j, a, b in np.ndindex(self.rows, self.columns, *self.taps):
            h = i * self.strides[0] + self._top + a * self.dilations[0]
            w = j * self.strides[1] + self._left + b * self.dilations[1]
            if 0 <= h < self.image[1] and 0 <= w < self.image[2]:
                yield i, j, a, b, h, w

    def __repr__(self) -> str:
        sizes = "x".join(map(str, self.image)), "x".join(map(str, self.taps))
        return f"{sizes[0]}, {sizes[1]}, {self.strides}, {self.dilations}, {self.padding}"


def convolve(case: Case, images: Array, filters: Array) -> Array:
    out = np.zeros((len(images), case.rows, case.columns, filters.shape[3]), np.float64)
    n_groups = images.shape[3] // filters.shape[2]
    for x, f, y in _grouped(n_groups, images, filters, out):
        for i, j, a, b, h, w in case.places():
            y[:, i, j] += x[:, h, w] @ f[a, b]
    return out


def convolve_back(case: Case, grads: Array, filters: Array, n_groups: int = 1) -> Array:
    out = np.zeros((*case.image[:3], filters.shape[2] * n_groups), np.float64)
    for dx, f, dy in _grouped(n_groups, out, filters, grads):
        for i, j, a, b, h, w in case.places():
            dx[:, h, w] += dy[:, i, j] @ f[a, b].T
    return out


def filter_gradient(case: Case, images: Array, grads: Array, n_groups: int = 1) -> Array:
    dims = (*case.taps, images.shape[3] // n_groups, grads.shape[3])
    out = np.zeros(dims, np.float64)
    for x, df, dy in _grouped(n_groups, images, out, grads):
        for i, j, a, b, h, w in case.places():
            df[a, b] += x[:, h, w].T @ dy[:, i, j]
    return out


def _grouped(n_groups: int, images: Array, filters: Array, results: Array) -> Any:
    return zip(
        np.split(images, n_groups, -1),
        np.split(filters, n_groups, -1),
        np.split(results, n_groups, -1),
        strict=True,
    )


def depthwise(case: Case, images: Array, filters: Array) -> Array:
    n, _, _, c = images.shape
    out = np.zeros((n, case.rows, case.columns, c, filters.shape[3]), np.float64)
    for i, j, a, b, h, w in case.places():
        out[:, i, j] += images[:, h, w, :, None] * filters[a, b]
    return out.reshape(*out.shape[:3], c * filters.shape[3])


def pool(case: Case, images: Array, combine: Callable[[Array], Array]) -> Array:
    """Combine the elements of each window, stacked along the first axis."""
    out = np.zeros((len(images), case.rows, case.columns, images.shape[3]), images.dtype)
    members: dict[tuple[int, int], list[Array]] = {}
    for i, j, _, _, h, w in case.places():
        members.setdefault((i, j), []).append(images[:, h, w])
    for (i, j), found in members.items():
        out[:, i, j] = combine(np.stack(found))
    return out
