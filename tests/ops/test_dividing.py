"""Shares of work: they cover everything once, and the caller's is the largest."""

from __future__ import annotations

import pytest

from berth.ops.dividing import ALIGNED, divided


@pytest.mark.parametrize("n_parts", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 100, 784, 200_704])
@pytest.mark.parametrize("lead", [0, 10, 10_000])
def test_shares_cover_everything_once(length, n_parts, lead):
    parts = divided(length, n_parts, lead)
    assert [k for part in parts for k in range(length)[part]] == list(range(length))
    assert len(parts) <= n_parts
    assert all(part.start % ALIGNED == 0 and part.stop > part.start for part in parts)
    sizes = [part.stop - part.start for part in parts]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("length", "n_parts", "lead", "sizes"),
    [
        (1024, 2, 0, [512, 512]),
        (1024, 2, 64, [544, 480]),
        (1024, 4, 0, [256] * 4),
        (1024, 4, 64, [304, 240, 240, 240]),
        (20, 8, 0, [16, 4]),
        (20, 2, 1000, [20]),
    ],
)
def test_the_first_share_has_the_lead(length, n_parts, lead, sizes):
    assert [part.stop - part.start for part in divided(length, n_parts, lead)] == sizes
