"""`Bucketize`: the number of the interval between boundaries that each element is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from berth.dtypes import float32, float64, int32, int64
from berth.errors import InvalidArgumentError
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)


def _bucket_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int32, inputs[0].dims),)


def _bind_bucketize(launch: Launch) -> Call:
    boundaries = np.array(launch.attrs["boundaries"], np.float32)
    if (boundaries[1:] < boundaries[:-1]).any():
        raise InvalidArgumentError(None, None, "Expected sorted boundaries")
    xp, out = launch.xp, launch.outputs[0]
    limits = xp.asarray(boundaries)

    def fill() -> None:
        out[...] = xp.searchsorted(limits, launch.inputs[0], side="right")

    return fill, ()


BUCKETIZE = OpDef(
    "Bucketize",
    "input:T",
    _bucket_type,
    types={"T": (int32, int64, float32, float64)},
    kernels=all_devices(_bind_bucketize),
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(3, 2), boundaries=[-0.5, 0.5]",),
)
