"""The samples of the operations: what their declarations give to try them on.

``samples=("f(2, 3), i(1), keep_dims=True",)`` in an `OpDef` is one call: the inputs, then the
attributes. `NAMES` lists what it may use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berth import dtypes
from berth.ops.opdef import CATALOGUE, OpDef
from berth.ops.shape import TensorShape
from tests.ops.calls import Case, at, f, i, sample

TRUTH = sample(bool, (3, 4))
NAMES: dict[str, Any] = {
    "f": f,  # floats of a shape: f(2, 3)
    "i": i,  # int32 vector of these elements: i(0, 1)
    "at": at,  # int32 scalar: at(-1)
    "sample": sample,  # of a NumPy type and a shape: sample("i8", (2, 3))
    "np": np,
    "dtypes": dtypes,
    "TensorShape": TensorShape,
    "truth": TRUTH,
}


def samples_of(op: OpDef) -> list[Case]:
    """Evaluate the samples of one operation."""

    def call(*inputs: Any, **attrs: Any) -> Case:
        return op.name, list(inputs), attrs

    return [eval(f"call({text})", {**NAMES, "call": call}) for text in op.samples]


def all_samples() -> list[Case]:
    """Evaluate the samples of all operations that were imported."""
    return [case for name in sorted(CATALOGUE) for case in samples_of(CATALOGUE[name])]
