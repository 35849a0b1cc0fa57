"""Scopes and conversions of TensorFlow 2, for graphs and eager programs alike."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

from berth.blocks import Block, Use
from berth.dtypes import as_dtype
from berth.graph.graph import Graph
from berth.ops import compose
from berth.ops.builder import current
from berth.ops.type_spec import CompositeTensor
from berth.public import public, public_v2
from berth.tensorflow_types import Tensor as TensorType


@public("UnconnectedGradients")
class UnconnectedGradients(Enum):
    """The gradient of a source that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


def not_a_name(name: Any) -> str:
    """Say that the name of a scope or variable is not text."""
    return f"name for name_scope must be a string.\nThe name {name!r} is none."


@public_v2("name_scope")
class name_scope(Block[str]):
    """Prefix the names of a block's operations with a scope; eager operations have none.

    >>> with name_scope("tower") as scope:
    ...     scope
    'tower/'
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(not_a_name(name))
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def _begin(self, use: Use) -> str:
        graph = current()
        if isinstance(graph, Graph):
            return graph.names.enter(use, self._name)
        eager: Any = graph
        return str(use.enter(eager.name_scope(self._name)))


@public_v2("control_dependencies")
def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Add control dependencies to a block's operations; eager operations need none."""
    builder: Any = current()
    scope: AbstractContextManager[None] = builder.control_dependencies(control_inputs)
    return scope


@public_v2("convert_to_tensor")
def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Return a value as a tensor; a tensor as it is.

    >>> convert_to_tensor([1, 2]).dtype
    tf.int32
    """
    wanted = None if dtype is None else as_dtype(dtype)
    return compose.convert(value, wanted, name)


@public("is_tensor")
def is_tensor(x: Any) -> bool:
    """Tell whether a value is a tensor or a variable.

    >>> is_tensor(convert_to_tensor(1)), is_tensor(1)
    (True, False)
    """
    if isinstance(x, CompositeTensor):
        return x.is_tensor or hasattr(x, "as_tensor")
    return compose.is_tensor(x) or hasattr(x, "as_tensor") or isinstance(x, TensorType)


@public("get_static_value")
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor if it is known, as an array; else None.

    >>> get_static_value(convert_to_tensor([1, 2])).tolist()
    [1, 2]
    """
    return getattr(tensor, "value", None)
