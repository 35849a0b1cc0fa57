"""A case for each operation on variables, and for each that runs graphs of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import float32, int32
from berth.graph.graph import Graph
from berth.ops.convert import dtype_of
from berth.ops.shape import Dims, TensorShape
from berth.ops.state.variables import HANDLE, VARIABLE
from tests.ops.calls import Case, at, f, i


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


ROWS = [i(2, 0), f(2, 2)]
ELEMENTS = [np.array([[2, 1], [0, 0]], np.int32), f(2)]
TYPE = {"dtype": float32, "shape": TensorShape([3, 2])}
LIMIT = {"limit": 9, "T": int32}
SLICE = {
    "begin_mask": 0,
    "ellipsis_mask": 0,
    "end_mask": 1,
    "new_axis_mask": 0,
    "shrink_axis_mask": 0,
}


def _of_both(
    name: str, by_handle: str, array: Any, values: list[Any], attrs: Any
) -> list[Case]:
    return [
        (name, [Held(array, False), *values], attrs),
        (by_handle, [Held(array, True), *values], {"dtype": dtype_of(array), **attrs}),
    ]


def _writes() -> list[Case]:
    cases: list[Case] = []
    for name in ("Assign", "AssignAdd", "AssignSub"):
        cases += _of_both(name, f"{name}VariableOp", f(3, 2), [f(3, 2)], {})
    for how in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update"):
        cases += _of_both(f"Scatter{how}", f"ResourceScatter{how}", f(3, 2), ROWS, {})
    for how in ("Add", "Max", "Min", "Sub", "Update"):
        cases += _of_both(f"ScatterNd{how}", f"ResourceScatterNd{how}", f(3, 2), ELEMENTS, {})
    return cases


STATE_CASES: list[Case] = [
    ("ReadVariableOp", [Held(f(3, 2), True)], {"dtype": float32}),
    ("VarHandleOp", [], TYPE),
    ("VariableV2", [], TYPE),
    ("ResourceStridedSliceAssign", [Held(f(3, 2), True), i(1), i(0), i(1), f(2, 2)], SLICE),
    *_of_both("CountUpTo", "ResourceCountUpTo", at(3), [], LIMIT),
    *_of_both("InitializedValue", "ResourceInitializedValue", f(3, 2), [f(3, 2) * 2], {}),
    *_of_both("IsVariableInitialized", "VarIsInitializedOp", f(3, 2), [], {}),
    *_writes(),
]

# --- calls --------------------------------------------------------------------------------


def _body(*shapes: tuple[int, ...]) -> Any:
    """Stand in for a graph: a shape rule asks for its outputs only."""
    return SimpleNamespace(outputs=[SimpleNamespace(dtype=float32, dims=d) for d in shapes])


CHOICE = {"bodies": [_body((2, 3), ()), _body((2, 3), ())]}
LOOP = {
    "bodies": [_body(()), _body((2,))],
    "n_variables": 1,
    "invariants": [(2,)],
    "reverse": False,
}
EACH = {**LOOP, "bodies": [_body((2,), (3,))], "n_sequences": 1}

CALL_CASES: list[Case] = [
    (f"{prefix}{name}", inputs, attrs)
    for prefix in ("", "Stateless")
    for name, inputs, attrs in [
        ("Case", [at(1), f(2, 3)], CHOICE),
        ("ForEach", [at(4), f(2), f(4, 3)], EACH),
        ("If", [np.array(True), f(2, 3)], CHOICE),
        ("While", [f(2)], LOOP),
    ]
]
