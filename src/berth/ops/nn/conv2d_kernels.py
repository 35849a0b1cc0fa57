"""Convolutions as matrix products: a block's windows times the filter.

What one row of the filter needs is gathered once, and multiplied with each row of the
filter in turn. The products are added up, and rows of padding left out. Where windows are
gathered whole, because they skip rows, or because a row of the filter is short, one product
does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from berth.ops.linalg.gemm import multiply
from berth.ops.nn.conv2d_blocks import (
    Block,
    Gathered,
    Memory,
    Walk,
    blocks,
    divide,
    gather,
    overlaps_of,
)
from berth.ops.nn.conv2d_strips import correlate_strips, divide_strips
from berth.ops.opdef import Call


def scratch_elements(walk: Walk, n_threads: int) -> int:
    """Return how much scratch memory each thread needs for a walk."""
    return (divide_strips(walk, n_threads) or divide(walk, n_threads)).n_elements


def correlate(
    xp: Any,
    source: Any,
    kernel: Any,
    target: Any,
    walk: Walk,
    scratch: Sequence[Any],
) -> list[list[Call]]:
    """Write the products of windows and a filter to `target`; list the calls of each thread.

    The filter is an array in one piece, of the type that is computed in: rows, columns,
    channels, features. `scratch` has an array for each thread.
    """
    n_threads = len(scratch)
    strips = divide_strips(walk, n_threads)
    if strips is not None:
        return correlate_strips(xp, (source, kernel, target), walk, strips, scratch)
    division = divide(walk, n_threads)
    calls: list[list[Call]] = []
    for mine, flat in zip(blocks(walk, division, n_threads), scratch, strict=True):
        memory = Memory(flat, division)
        calls.append([])
        for block in mine:
            calls[-1] += _block_calls(xp, source, kernel, target, walk, block, memory)
    return calls


def _block_calls(
    xp: Any, source: Any, kernel: Any, target: Any, walk: Walk, block: Block, memory: Memory
) -> Iterator[Call]:
    gathered = gather(xp, source, walk, block, memory)
    yield from gathered.calls
    out = target[block.images, block.first : block.last]
    is_direct = out.dtype == kernel.dtype and bool(out[0].flags.c_contiguous)
    total = out if is_direct else memory.total(out.shape)
    if walk.is_whole:
        yield _multiply(xp, gathered.array, kernel.reshape(walk.length, -1), total)
    else:
        yield from _row_by_row(xp, gathered, kernel, total, walk, block, memory)
    if not is_direct:
        yield xp.copyto, (out, total)


def _row_by_row(
    xp: Any,
    gathered: Gathered,
    kernel: Any,
    total: Any,
    walk: Walk,
    block: Block,
    memory: Memory,
) -> Iterator[Call]:
    """Multiply by each row of the filter where it overlaps images, and accumulate."""
    overlaps = overlaps_of(walk.rows, block, gathered.low)
    is_filled = bool(overlaps) and overlaps[0].covers_all
    if not is_filled:
        yield total.fill, (0,)
    for position, (tap, given, met, _) in enumerate(overlaps):
        factors, sums = gathered.array[:, given], total[:, met]
        matrix = kernel[tap].reshape(walk.length, -1)
        if position == 0 and is_filled:
            yield _multiply(xp, factors, matrix, sums)
            continue
        product = memory.product(sums.shape)
        yield _multiply(xp, factors, matrix, product)
        yield xp.add, (sums, product, sums)


def _multiply(xp: Any, factors: Any, matrix: Any, out: Any) -> Call:
    """Bind the product of every row of images with a matrix, in as few calls as possible."""
    if factors.flags.c_contiguous and out.flags.c_contiguous:
        n_rows = out.size // max(out.shape[-1], 1)
        return multiply(xp, factors.reshape(n_rows, -1), matrix, out.reshape(n_rows, -1))
    n_images, n_rows, n_columns = out.shape[:3]
    dims = n_images, n_rows * n_columns, -1
    return multiply(xp, factors.reshape(dims), matrix, out.reshape(dims))
