"""Pooling divided by images among threads, and by axis into operations on views.

An element of all windows at once is a view of the images, every `step` rows and columns: a
pool combines such views, one for each *tap* of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from berth.ops.nn.windows import Windows, channel_axis, spatial_axes, windows_of
from berth.ops.opdef import Attrs, Call, Parts, make_calls

AT_ONCE = 2**20
"""About how many elements of the input are worked on at a time: threads that make short calls
meet at the interpreter's lock, and that takes longer than memory beyond the cache."""
FEW = 2**15
"""Below this number of elements, a second thread is not worth its start."""

Combine = Callable[[Any, Any, Any], Any]


class Pool(NamedTuple):
    """Windows over rows and columns, and how the work is divided."""

    n_images: int
    rows: Windows
    columns: Windows
    n_channels: int
    n_threads: int

    @property
    def at_once(self) -> int:
        """How many images are worked on at a time."""
        size = max(self.rows.n_in * self.columns.n_in * self.n_channels, 1)
        share = max(-(-self.n_images // self.n_threads), 1)
        n_pieces = -(-share // max(AT_ONCE // size, 1))
        return -(-share // n_pieces)

    def slices(self) -> list[list[slice]]:
        """List which images each thread works on, and how many at a time."""
        every = [
            slice(n, min(n + self.at_once, self.n_images))
            for n in range(0, self.n_images, self.at_once)
        ]
        share = -(-len(every) // self.n_threads)
        return [every[k * share : (k + 1) * share] for k in range(self.n_threads)]

    @property
    def out(self) -> tuple[int, int, int, int]:
        """The shape of what comes out of the images that are worked on at a time."""
        return self.at_once, self.rows.n_out, self.columns.n_out, self.n_channels

    @property
    def between(self) -> tuple[int, int, int, int]:
        """The shape of what is between rows and columns."""
        return self.at_once, self.rows.n_out, self.columns.n_in, self.n_channels


def pool_of(dims: Sequence[int], attrs: Attrs, n_threads: int) -> Pool:
    """Read where windows lie over images of a shape."""
    vertical, horizontal = spatial_axes(attrs)
    sizes = attrs["ksize"][vertical], attrs["ksize"][horizontal]
    rows, columns = windows_of(dims, sizes, attrs)
    n_elements = dims[0] * dims[1] * dims[2] * dims[3]
    channels = dims[channel_axis(attrs)]
    return Pool(dims[0], rows, columns, channels, n_threads if n_elements > FEW else 1)


def in_slices(pool: Pool, calls_of: Callable[[int, slice], Iterator[Call]]) -> Parts:
    """Divide work by images; `calls_of` makes the calls of a thread for some of them."""
    return Parts(
        [
            (make_calls, ([call for images in own for call in calls_of(thread, images)],))
            for thread, own in enumerate(pool.slices())
        ]
    )


# --- along one axis -----------------------------------------------------------------------


class Tap(NamedTuple):
    """One element of windows along an axis: the windows that have it, and its positions."""

    windows: slice
    places: slice
    is_everywhere: bool
    n_first: int
    """The first so many of these windows have no element before it, but padding."""


def taps_of(windows: Windows) -> list[Tap]:
    """List the elements of windows, as far as they are inside."""
    found = []
    for tap in range(windows.n_taps):
        first, last = windows.inside(tap)
        if first < last:
            place = windows.place(first, tap)
            places = slice(place, place + (last - first - 1) * windows.step + 1, windows.step)
            is_everywhere = last - first == windows.n_out
            follows = windows.inside(tap - 1)[0] if tap else last
            n_first = max(min(follows, last) - first, 0)
            found.append(Tap(slice(first, last), places, is_everywhere, n_first))
    return found


def along(
    xp: Any, axis: int, windows: Windows, source: Any, out: Any, combine: Combine, start: Any
) -> Iterator[Call]:
    """Combine the elements of windows along an axis; `start` combined with x is x."""
    taps = sorted(taps_of(windows), key=lambda tap: not tap.is_everywhere)
    if len(taps) > 1 and taps[1].is_everywhere:
        first, second = (_at(source, axis, tap.places) for tap in taps[:2])
        yield combine, (first, second, out)
        taps = taps[2:]
    elif taps and taps[0].is_everywhere:
        yield xp.copyto, (out, _at(source, axis, taps[0].places))
        taps = taps[1:]
    else:
        yield out.fill, (start,)
    for tap in taps:
        part = _at(out, axis, tap.windows)
        yield combine, (part, _at(source, axis, tap.places), part)


def back_along(xp: Any, axis: int, windows: Windows, grads: Any, out: Any) -> Iterator[Call]:
    """Add to each position along an axis the gradients of the windows that cover it."""
    lattices = Lattices(out, {axis: windows})
    for tap in taps_of(windows):
        part, arrived = _at(out, axis, tap.places), _at(grads, axis, tap.windows)
        opening = lattices.open({axis: tap.places})
        if opening is None:
            yield xp.add, (part, arrived, part)
        else:
            yield from opening
            yield xp.copyto, (part, arrived)
    yield from lattices.close()


class Lattices:
    """Strided grids of an output: the positions that one element of all windows covers.

    The first write to a lattice overwrites, later ones accumulate, so that only positions
    that the first write does not cover have to be set to zero.
    """

    def __init__(self, out: Any, along: Mapping[int, Windows]) -> None:
        self._out = out
        self._along = along
        steps = (range(min(w.step, out.shape[axis])) for axis, w in along.items())
        self._untouched = dict.fromkeys(product(*steps))

    def _lattice(self, phases: Sequence[int]) -> Any:
        index = [slice(None)] * self._out.ndim
        for (axis, windows), phase in zip(self._along.items(), phases, strict=True):
            index[axis] = slice(phase, None, windows.step)
        return self._out[tuple(index)]

    def open(self, places: Mapping[int, slice]) -> list[Call] | None:
        """Return calls that zero the rest of a lattice; None if it was written to before."""
        phases = tuple(which.start % self._along[axis].step for axis, which in places.items())
        if phases not in self._untouched:
            return None
        del self._untouched[phases]
        lattice, calls = self._lattice(phases), []
        for axis, which in places.items():
            step = self._along[axis].step
            first, last = which.start // step, (which.stop - 1) // step + 1
            for rest in (slice(0, first), slice(last, None)):
                part = _at(lattice, axis, rest)
                if part.size:
                    calls.append((part.fill, (0,)))
        return calls

    def close(self) -> list[Call]:
        """Return calls that zero the lattices that were not written to."""
        return [(self._lattice(phases).fill, (0,)) for phases in self._untouched]


def _at(array: Any, axis: int, which: slice) -> Any:
    return array[(slice(None),) * axis + (which,)]


def cut(array: Any, images: slice, thread: int) -> Any:
    """Return the part of a thread's scratch memory for a number of images."""
    return array[thread, : images.stop - images.start]
