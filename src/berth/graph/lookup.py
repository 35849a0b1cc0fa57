"""Finding operations and tensors of a graph: by name, or as what a user passed."""

from __future__ import annotations

import threading
from typing import Any

from berth.errors import did_you_mean
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor


class Lookup:
    """The operations of a graph, in order and by name."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []
        self.by_name: dict[str, Operation] = {}
        self._lock = threading.RLock()
        """Held while operations are added."""
        self._consumers: dict[SymbolicTensor, list[Operation]] = {}
        """What takes each tensor, of the operations before `_n_indexed`."""
        self._n_indexed = 0

    def get_operations(self) -> list[Operation]:
        """List the operations in the order they were made."""
        return list(self.ops)

    def consumers_of(self, tensor: SymbolicTensor) -> list[Operation]:
        """List the operations that take a tensor, once for each input.

        They are indexed when this is asked: a graph that is only built and run needs no index.
        """
        with self._lock:
            for op in self.ops[self._n_indexed :]:
                for taken in op.inputs:
                    takers = self._consumers.setdefault(taken, [])
                    if not takers or takers[-1] is not op:  # so it may be done again
                        takers.append(op)
                self._n_indexed = op.number + 1
            takers = self._consumers.get(tensor, [])
        return [op for op in takers for taken in op.inputs if taken is tensor]

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of that name; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(
                f"Operation names are strings (or similar), not {type(name).__name__}."
            )
        found: Operation = self.as_graph_element(name, allow_tensor=False)
        return found

    def get_tensor_by_name(self, name: str) -> SymbolicTensor:
        """Return the tensor of that name (``MatMul:0``); KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(
                f"Tensor names are strings (or similar), not {type(name).__name__}."
            )
        found: SymbolicTensor = self.as_graph_element(name, allow_operation=False)
        return found

    def as_graph_element(
        self, item: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the tensor or operation of this graph that an item means."""
        allowed = ["Tensor"] * allow_tensor + ["Operation"] * allow_operation
        if not allowed:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        if hasattr(item, "as_graph_element"):  # a variable
            item = item.as_graph_element()
        if isinstance(item, bytes):
            item = item.decode()
        if isinstance(item, str):
            return self._named(item, allow_tensor, allow_operation)
        is_wanted = (isinstance(item, SymbolicTensor) and allow_tensor) or (
            isinstance(item, Operation) and allow_operation
        )
        if not is_wanted:
            raise TypeError(
                f"Can not convert a {type(item).__name__} into a {' or '.join(allowed)}."
            )
        if item.graph is not self:
            kind = "Tensor" if isinstance(item, SymbolicTensor) else "Operation"
            raise ValueError(f"{kind} {item} is not an element of this graph.")
        return item

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        if ":" in name and allow_tensor:
            return self._tensor_named(name)
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if not allow_operation:
            known = "refers to an Operation"
            if name not in self.by_name:
                known = "looks like an (invalid) Operation name"
            raise ValueError(
                f"The name {name!r} {known}, not a Tensor. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        if name not in self.by_name:
            raise KeyError(
                f"The name {name!r} refers to an Operation not in the graph." + self._near(name)
            )
        return self.by_name[name]

    def _tensor_named(self, name: str) -> SymbolicTensor:
        op_name, _, position = name.partition(":")
        if not position.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
            )
        op = self.by_name.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, does not exist in the graph." + self._near(op_name)
            )
        if int(position) >= len(op.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {len(op.outputs)} outputs."
            )
        return op.outputs[int(position)]

    def _near(self, name: str) -> str:
        # Comparing with every name of a huge graph would take longer than it helps.
        near = did_you_mean(name, self.by_name) if len(self.by_name) < 5_000 else ""
        return f" {near}" if near else ""

    def _operation_of(self, item: Any) -> Operation:
        """Return the operation of a name, a tensor, a variable, or itself."""
        if isinstance(item, str | bytes):
            item = self.as_graph_element(item)
        op = getattr(item, "op", item)  # of a tensor or a variable
        if not isinstance(op, Operation):
            raise TypeError(
                f"{item!r} is no operation or tensor: nothing can wait for it or be beside it."
            )
        if op.graph is not self:
            raise ValueError(f"{item!r} is not an element of this graph.")
        return op
