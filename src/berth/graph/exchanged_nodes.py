"""Operations that TensorFlow does not have, as the several nodes that it has for them.

In this process they are one operation each, which is faster; a graph that is written for others
has TensorFlow's own. The last node has the operation's name, so that others find its output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from berth.dtypes import DType

if TYPE_CHECKING:
    from berth.graph.operation import Operation

Node = tuple[str, str, list[str], dict[str, Any]]
"""Name, type, inputs and attributes."""


def nodes_of(op: Operation, inputs: list[str]) -> Iterator[Node] | None:
    """Return the nodes that replace an operation; None if TensorFlow has it itself."""
    write = _REPLACED.get(op.type)
    return None if write is None else write(op, inputs)


def _sum_to(op: Operation, inputs: list[str]) -> Iterator[Node]:
    """Sum over the axes that were broadcast, as TensorFlow's gradients do."""
    tensor, shape, *controls = inputs
    dtype, index = (_type(t) for t in op.inputs)
    own, axes, summed = (
        f"{op.name}/{part}" for part in ("Shape", "BroadcastGradientArgs", "Sum")
    )
    yield own, "Shape", [tensor], {"T": dtype, "out_type": index}
    yield axes, "BroadcastGradientArgs", [shape, own], {"T": index}
    yield summed, "Sum", [tensor, axes], {"T": dtype, "Tidx": index, "keep_dims": False}
    yield op.name, "Reshape", [summed, shape, *controls], {"T": dtype, "Tshape": index}


def _sigmoid_cross_entropy(op: Operation, inputs: list[str]) -> Iterator[Node]:
    """Compute ``max(x, 0) - x * z + log(1 + exp(-|x|))``, which does not overflow."""
    x, z, *controls = inputs
    attrs = {"T": _type(op.inputs[0])}

    def part(name: str) -> str:
        return f"{op.name}/{name}"

    yield part("Relu"), "Relu", [x], attrs
    yield part("mul"), "Mul", [x, z], attrs
    yield part("sub"), "Sub", [part("Relu"), part("mul")], attrs
    yield part("Abs"), "Abs", [x], attrs
    yield part("Neg"), "Neg", [part("Abs")], attrs
    yield part("Exp"), "Exp", [part("Neg")], attrs
    yield part("Log1p"), "Log1p", [part("Exp")], attrs
    yield op.name, "AddV2", [part("sub"), part("Log1p"), *controls], attrs


def _type(tensor: Any) -> DType:
    found: DType = tensor.dtype.base_dtype
    return found


_REPLACED: dict[str, Callable[[Operation, list[str]], Iterator[Node]]] = {
    "SumTo": _sum_to,
    "SigmoidCrossEntropyWithLogits": _sigmoid_cross_entropy,
}
