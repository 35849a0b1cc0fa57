"""Gradient of convolution filters: windows of the input times gradients of the output.

The same blocks as forwards. Each thread adds up its own share of the
products; the shares are added at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from berth.ops.linalg.gemm import multiply
from berth.ops.nn.conv2d_blocks import (
    Block,
    Memory,
    Order,
    Walk,
    blocks,
    divide,
    gather,
    overlaps_of,
    shaped,
)
from berth.ops.nn.conv2d_strips import divide_strips, filter_products_strips
from berth.ops.opdef import Call


def products(
    xp: Any, source: Any, grads: Any, shares: Any, walk: Walk, scratch: Sequence[Any]
) -> list[list[Call]]:
    """Add windows of `source` times `grads` to each thread's partial sum; list its calls.

    `shares` has a filter for each thread: rows, columns, channels, features.
    """
    n_threads = len(scratch)
    strips = divide_strips(walk, n_threads)
    if strips is not None:
        return filter_products_strips(xp, (source, grads, shares), walk, strips, scratch)
    division = divide(walk, n_threads)
    calls: list[list[Call]] = []
    mine = zip(blocks(walk, division, n_threads), scratch, shares, strict=True)
    for own, flat, share in mine:
        memory = Memory(flat, division)
        spare = shaped(memory.rest, share.shape)
        calls.append([] if own else [(share.fill, (0,))])
        for position, block in enumerate(own):
            target = spare if position else share
            calls[-1] += _block_calls(xp, source, grads, target, walk, block, memory)
            if position:
                calls[-1].append((xp.add, (share, spare, share)))
    return calls


def _block_calls(
    xp: Any, source: Any, grads: Any, target: Any, walk: Walk, block: Block, memory: Memory
) -> Iterator[Call]:
    if walk.is_whole:
        yield from _all_rows(xp, source, grads, target, walk, block, memory)
        return
    gathered = gather(xp, source, walk, block, memory, Order.ROWS_FIRST)
    yield from gathered.calls
    arrived = grads[block.images, block.first : block.last].swapaxes(0, 1)
    ordered = memory.product(arrived.shape)
    yield xp.copyto, (ordered, arrived)
    overlaps = overlaps_of(walk.rows, block, gathered.low)
    for tap in set(range(walk.rows.n_taps)) - {overlap.tap for overlap in overlaps}:
        yield target[tap].fill, (0,)
    for tap, given, met, _ in overlaps:
        windows = gathered.array[given].reshape(-1, walk.length)
        grads_met = ordered[met].reshape(windows.shape[0], -1)
        yield multiply(xp, windows.T, grads_met, target[tap].reshape(walk.length, -1))


def _all_rows(
    xp: Any, source: Any, grads: Any, target: Any, walk: Walk, block: Block, memory: Memory
) -> Iterator[Call]:
    gathered = gather(xp, source, walk, block, memory)
    yield from gathered.calls
    windows = gathered.array.reshape(-1, walk.length)
    arrived = grads[block.images, block.first : block.last]
    if arrived.dtype != windows.dtype or not arrived.flags.c_contiguous:
        copy = memory.product(arrived.shape)
        yield xp.copyto, (copy, arrived)
        arrived = copy
    out = target.reshape(walk.length, -1)
    yield multiply(xp, windows.T, arrived.reshape(windows.shape[0], -1), out)
