"""`tf.nn.compute_accidental_hits`: sampled classes that are true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import float32, int32, int64
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.random.seeded import get_seed
from berth.public import public


class AccidentalHits(NamedTuple):
    """Row and position of each sampled class that is true there, and what removes its logit."""

    indices: Any
    ids: Any
    weights: Any


def _hits(true_classes: Any, sampled: Any) -> tuple[list[int], list[int]]:
    position = {number: k for k, number in enumerate(sampled.tolist())}
    found = [
        (row, position[number])
        for row, numbers in enumerate(true_classes.tolist())
        for number in numbers
        if number in position
    ]
    rows, ids = ([pair[k] for pair in found] for k in (0, 1))
    return rows, ids


def _hits_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    true_classes, sampled = inputs
    dims = true_classes.dims
    if dims is not None and (len(dims) != 2 or dims[1] not in (None, attrs["num_true"])):
        message = "true_candidates must be a batch_size * num_true matrix"
        raise InvalidArgumentError(None, None, message)
    count = None
    if true_classes.value is not None and sampled.value is not None:
        count = len(_hits(true_classes.value, sampled.value)[0])
    return ((int32, (count,)), (int64, (count,)), (float32, (count,)))


def _bind_hits(launch: Launch) -> Call:
    return _write_hits, (*launch.inputs, tuple(launch.outputs))


def _write_hits(true_classes: Any, sampled: Any, outputs: Sequence[Any]) -> None:
    rows, ids = _hits(true_classes, sampled)
    indices, positions, weights = outputs
    indices[...] = rows
    positions[...] = ids
    weights[...] = np.finfo(np.float32).min


ACCIDENTAL_HITS = OpDef(
    "ComputeAccidentalHits",
    "true_classes:int64 sampled_candidates:int64",
    _hits_type,
    kernels=host_only(_bind_hits),
    shape_inputs=(0, 1),
    gradient=NOT_DIFFERENTIABLE,
    samples=("np.array([[1, 2], [3, 0]]), np.array([3, 1, 3]), num_true=2, seed=0, seed2=0",),
)


@public("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> AccidentalHits:
    """Find the sampled classes that are among the true classes of a row.

    >>> hits = compute_accidental_hits([[1], [3]], [3, 4], 1)
    >>> hits.indices.numpy().tolist(), hits.ids.numpy().tolist()
    ([1], [0])
    """
    first, second = get_seed(seed)
    inputs = (convert(true_classes, int64), convert(sampled_candidates, int64))
    attrs = {"num_true": num_true, "seed": first, "seed2": second}
    return AccidentalHits(*apply(ACCIDENTAL_HITS, inputs, attrs, name))
