"""The samples of the operations: what their declarations give to try them on.

``samples=("f(2, 3), i(1), keep_dims=True",)`` in an `OpDef` is one call: the inputs, then the
attributes. `NAMES` lists what it may use.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from berth import dtypes
from berth.graph.graph import Graph
from berth.ops.convert import dtype_of
from berth.ops.lists.list_value import ListValue
from berth.ops.opdef import CATALOGUE, OpDef
from berth.ops.shape import Dims, TensorShape
from berth.ops.state.variables import HANDLE, VARIABLE
from tests.ops.calls import Case, at, d, f, i, sample
from tests.ops.layer_arguments import LAYER_NAMES


class Held(NamedTuple):
    """A variable's own array, as the input through which it is read and written."""

    array: Any
    is_handle: bool

    def reference(self, dims: Dims) -> Any:
        """Return a tensor that stands for a variable of which this shape is known."""
        attrs = {"dtype": dtype_of(self.array), "shape": TensorShape(dims)}
        with Graph().as_default() as graph:
            return graph.apply(HANDLE if self.is_handle else VARIABLE, (), attrs, None)


class Slot(dict[str, Any]):
    """What a session keeps for an operation, or of a variable."""

    is_initialized = True


def subgraph(*shapes: tuple[int, ...]) -> Any:
    """Stand for the graph of a branch or loop: a shape rule needs its outputs only."""
    outputs = [SimpleNamespace(dtype=dtypes.float32, dims=dims) for dims in shapes]
    return SimpleNamespace(outputs=outputs)


def masks(**bits: int) -> dict[str, int]:
    """Make the five masks of a strided slice, 0 where not given."""
    names = ("begin", "ellipsis", "end", "new_axis", "shrink_axis")
    return {f"{name}_mask": bits.get(name, 0) for name in names}


def text(*words: str) -> np.ndarray[Any, Any]:
    """Make a vector of strings."""
    return np.array([word.encode() for word in words], object)


def tensor_list(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Make a list of tensors, of the rows of an array."""
    made = np.empty((), object)
    made[()] = ListValue.of(list(rows), dtype_of(rows), rows.shape[1:])
    return made


LARGE = sample("f", (2**18,))
NAMES: dict[str, Any] = {
    **LAYER_NAMES,
    **{dtype.name: dtype for dtype in dtypes.ALL},
    "f": f,  # float32 numbers of a shape: f(2, 3)
    "d": d,  # float64 numbers of a shape
    "i": i,  # int32 vector of these elements: i(0, 1)
    "at": at,  # int32 scalar: at(-1)
    "ints": lambda values: np.array(values, np.int32),  # int32 matrix: ints([[0, 1], [2, 3]])
    "tensor_list": tensor_list,
    "text": text,
    "truth": sample(bool, (3, 4)),
    "pairs": np.array([[0, 1], [1, 2], [1, 2]], np.int32),  # indices of a matrix
    "sample": sample,  # of a NumPy type and a shape: sample("i8", (2, 3))
    "large": LARGE,  # float32 vector of 2 ** 18 elements
    "square": LARGE.reshape(512, 512),
    "few": (np.arange(LARGE.size) % 7).astype(np.int32),  # as many numbers of 7 classes
    "columns": (np.arange(LARGE.size, dtype=np.int32) % 512).reshape(512, 512),
    "ref": lambda array: Held(array, is_handle=False),  # a variable by reference
    "resource": lambda array: Held(array, is_handle=True),  # a variable by handle
    "subgraph": subgraph,
    "masks": masks,
    "np": np,
    "TensorShape": TensorShape,
}


def samples_of(op: OpDef, texts: tuple[str, ...]) -> list[Case]:
    """Evaluate samples of one operation."""

    def call(*inputs: Any, **attrs: Any) -> Case:
        return op.name, list(inputs), attrs

    return [eval(f"call({text})", {**NAMES, "call": call}) for text in texts]


def all_samples() -> list[Case]:
    """Evaluate the samples of all operations that were imported."""
    return [case for _, op in sorted(CATALOGUE.items()) for case in samples_of(op, op.samples)]


def large_samples() -> list[Case]:
    """Evaluate the large samples of all operations that were imported."""
    ops = sorted(CATALOGUE.items())
    return [case for _, op in ops for case in samples_of(op, op.large_samples)]
