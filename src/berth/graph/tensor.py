"""A tensor of a graph: one output of one operation. It has no value until a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berth.dtypes import DType
from berth.graph.default_session import session_for
from berth.ops.opdef import Source
from berth.ops.operators import Tensor
from berth.ops.shape import Dims, TensorShape, merge, read_dims, text

if TYPE_CHECKING:
    from berth.graph.graph import Graph
    from berth.graph.operation import Operation


def scalar_object(thing: Any) -> np.ndarray[Any, Any]:
    """Return an array that holds one object: the value of a handle."""
    array = np.empty((), object)
    array[()] = thing
    return array


class SymbolicTensor(Tensor):
    """A symbol for one output of an operation."""

    # A program may set attributes of its own: hence the dict.
    __slots__ = ("__dict__", "__weakref__", "dims", "dtype", "op", "value_index")
    op: Operation

    def __init__(self, op: Operation, value_index: int, dtype: DType, dims: Dims) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.dims = dims
        """The shape, as far as it is known."""

    @property
    def name(self) -> str:
        """``MatMul:0``: the operation's name and the position of this output."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device of its operation; empty if there is none."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.dims)

    @property
    def ndim(self) -> int | None:  # type: ignore[override]
        """The number of axes; None if it is not known."""
        return None if self.dims is None else len(self.dims)

    @property
    def value(self) -> Any:
        """The value, if it is a constant; that of a handle is the operation that made it."""
        source = self.op.definition.source
        if source is Source.CONSTANT:
            return self.op.attrs["value"]
        return scalar_object(self.op) if source is Source.HANDLE else None

    def get_shape(self) -> TensorShape:
        """Return the shape, as far as it is known."""
        return TensorShape(self.dims)

    def set_shape(self, shape: Any) -> None:
        """Add what is known of the shape; ValueError if it contradicts what is known."""
        self.dims = merge(self.dims, read_dims(shape))

    def consumers(self) -> list[Operation]:
        """List the operations that take this tensor."""
        return self.op.graph.consumers_of(self)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Compute this tensor in a session, by default the default one."""
        return session_for(self, session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={text(self.dims)} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self.dims is None else f", shape={self.dims}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __iter__(self) -> Any:
        raise TypeError(
            "'Tensor' object is not iterable: it has no value before it is run. Split it with "
            "tf.unstack(), or fetch it with Session.run()."
        )

    def __len__(self) -> int:
        raise TypeError(f"len is not well defined for {self.name}. Please use tf.shape.")

    def __bool__(self) -> bool:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and use TensorFlow ops such "
            "as tf.cond to execute subgraphs conditioned on the value of a tensor."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. Fetch it "
            "with Session.run()."
        )
