"""3-D convolution and pooling against the formula, with gradients."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from berth.ops.nn.conv3d import avg_pool3d, conv3d, conv3d_v1, max_pool3d
from tests.ops.everywhere import compute, shape_of
from tests.ops.gradient_checks import KNOWN, check_gradient
from tests.ops.numbers import close, normal

WINDOWS = [
    ((4, 5, 6), (2, 3, 2), (1, 1, 1), (1, 1, 1), "SAME"),
    ((4, 5, 6), (2, 3, 2), (1, 1, 1), (1, 1, 1), "VALID"),
    ((5, 5, 5), (3, 3, 3), (2, 2, 2), (1, 1, 1), "SAME"),
    ((5, 6, 7), (2, 3, 1), (2, 1, 3), (1, 1, 1), "VALID"),
    ((7, 6, 5), (2, 2, 2), (1, 1, 1), (3, 2, 1), "VALID"),
    ((7, 6, 5), (2, 2, 2), (1, 1, 1), (2, 1, 2), "SAME"),
    ((1, 2, 2), (3, 1, 1), (1, 1, 1), (1, 1, 1), "SAME"),
]


def places(size, n_taps, step, gap, padding):
    """List the places that each window along an axis covers, without those outside."""
    reach = (n_taps - 1) * gap + 1
    n_out = -(-size // step) if padding == "SAME" else (size - reach) // step + 1
    missing = max((n_out - 1) * step + reach - size, 0) if padding == "SAME" else 0
    starts = [k * step - missing // 2 for k in range(n_out)]
    return [
        [(tap, start + tap * gap) for tap in range(n_taps) if 0 <= start + tap * gap < size]
        for start in starts
    ]


def slide(volumes, windows, see):
    """Put what is seen through each window in its place."""
    sizes, taps, steps, gaps, padding = windows
    along = [places(*axis, padding) for axis in zip(sizes, taps, steps, gaps, strict=True)]
    rows = [see(volumes, list(itertools.product(*seen))) for seen in itertools.product(*along)]
    return np.stack(rows, 1).reshape(len(volumes), *map(len, along), -1)


def convolved(volumes, filters, windows):
    def see(volumes, seen):
        pairs = [tuple(zip(*each, strict=True)) for each in seen]
        return sum(volumes[(slice(None), *place)] @ filters[tap] for tap, place in pairs)

    return slide(volumes, windows, see)


def pooled(volumes, windows, function):
    def see(volumes, seen):
        found = [(slice(None), *(place for _, place in each)) for each in seen]
        return function([volumes[place] for place in found], 0)

    return slide(volumes, windows, see)


def inside(numbers):
    return [1, *numbers, 1]


@pytest.mark.parametrize("windows", WINDOWS)
def test_filters_slide_over_volumes(windows):
    sizes, taps, steps, gaps, padding = windows
    x, w = normal(2, *sizes, 3), normal(*taps, 3, 2)

    def convolution(x):
        return conv3d(x, w, inside(steps), padding, dilations=inside(gaps))

    close(compute(convolution, x, exact=False), convolved(x, w, windows))


def test_channels_may_come_first():
    x, w = normal(1, 3, 4, 4, 2), normal(2, 2, 2, 2, 3)
    last = compute(lambda x: conv3d(x, w, [1, 2, 1, 1, 1], "SAME"), x)
    turned = np.moveaxis(x, -1, 1)
    first = compute(lambda x: conv3d(x, w, [1, 1, 2, 1, 1], "SAME", "NCDHW"), turned)
    close(np.moveaxis(first, 1, -1), last)
    pools = [
        compute(lambda x: max_pool3d(x, 2, 2, "SAME"), x),
        np.moveaxis(compute(lambda x: max_pool3d(x, 2, 2, "SAME", "NCDHW"), turned), 1, -1),
    ]
    close(pools[0], pools[1])


@pytest.mark.parametrize(("pool", "function"), [(max_pool3d, np.max), (avg_pool3d, np.mean)])
@pytest.mark.parametrize("windows", [w for w in WINDOWS if math.prod(w[3]) == 1])
def test_pools_are_those_of_windows(pool, function, windows):
    sizes, taps, steps, _, padding = windows
    x = normal(2, *sizes, 2)
    close(
        compute(lambda x: pool(x, list(taps), list(steps), padding), x),
        pooled(x, windows, function),
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_volumes_have_gradients(padding):
    x, w = normal(1, 3, 4, 3, 2), normal(2, 2, 2, 2, 1)
    check_gradient(lambda x, w: conv3d(x, w, [1, 2, 1, 1, 1], padding), x, w, sizes=[KNOWN])
    check_gradient(lambda x: max_pool3d(x, 2, 1, padding), x)
    check_gradient(lambda x: avg_pool3d(x, 2, 1, padding), x)


def test_older_names_mean_the_same():
    x, w = normal(1, 3, 3, 3, 1), normal(2, 2, 2, 1, 1)
    old = compute(lambda x: conv3d_v1(x, filter=w, strides=[1] * 5, padding="SAME"), x)
    close(old, compute(lambda x: conv3d(x, w, [1] * 5, "SAME"), x))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda x, w: conv3d(x, w, 1, "SAME"),
            TypeError,
            "Expected list for 'strides' argument to 'conv3d' Op, not 1.",
        ),
        (
            lambda x, w: conv3d(x, w, [1, 1, 1], "SAME"),
            ValueError,
            "List argument 'strides' to 'Conv3D' Op with length 3 shorter than minimum length 5.",
        ),
        (
            lambda x, w: conv3d(x, w, [2, 1, 1, 1, 1], "SAME"),
            ValueError,
            "Current implementation does not yet support strides in the batch and depth "
            "dimensions.",
        ),
        (
            lambda x, w: conv3d(x, w, [1, 0, 1, 1, 1], "SAME"),
            ValueError,
            "Spatial strides should be larger than 0.",
        ),
        (
            lambda x, w: conv3d(x, w[:, :, :, :1], [1] * 5, "SAME"),
            ValueError,
            "Number of channels in filter (1) must match last dimension of input (2)",
        ),
        (
            lambda x, w: conv3d(x[0], w, [1] * 5, "SAME"),
            ValueError,
            "Shape must be rank 5 but is rank 4",
        ),
        (
            lambda x, w: max_pool3d(x, [2, 2], 1, "SAME"),
            ValueError,
            "ksize should be of length 1, 3 or 5. Received: ksize=[2, 2] of length 2",
        ),
        (
            lambda x, w: avg_pool3d(x, [1, 2, 2, 2, 2], 1, "SAME"),
            ValueError,
            "Pooling is not yet supported on the batch and depth dimensions.",
        ),
    ],
)
def test_wrong_volumes_are_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        shape_of(call, (1, 3, 3, 3, 2), (2, 2, 2, 2, 1))
    assert str(caught.value) == message
