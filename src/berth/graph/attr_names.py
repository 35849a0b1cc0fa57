"""Attributes under TensorFlow's names, where an operation's definition has others.

Graphs are exchanged with TensorFlow, which wants all attributes of a node, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from berth.graph.operation import Operation

_SCATTERS = ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")
_RENAMED: dict[str, dict[str, str]] = {
    **{f"Assign{kind}VariableOp": {"T": "dtype"} for kind in ("", "Add", "Sub")},
    **{f"ResourceScatter{kind}": {"T": "dtype"} for kind in _SCATTERS},
    "BroadcastArgs": {"Tidx": "T"},
    "Fill": {"Tidx": "index_type"},
    "IsVariableInitialized": {"T": "dtype"},
    "PlaceholderWithDefault": {"T": "dtype"},
}
"""From the name here to TensorFlow's, by operation."""

_TYPE_LISTS = {
    "Assert": "T",
    "Print": "U",
    "PyFunc": "Tin",
    "PyFuncStateless": "Tin",
    "SaveSlices": "T",
    "SaveV2": "dtypes",
}
"""The attribute for the types of a list of tensors of any types."""

_UNKNOWN = {
    "FusedBatchNormGradV3": ("exponential_avg_factor",),
    "MaxPoolWithArgmax": ("data_format",),
    "RandomUniformInt": ("dtype",),
    "StatelessRandomUniformInt": ("Tout",),
}
"""What TensorFlow's operation has no attribute for."""


def exchanged_attrs(
    node: Operation, attrs: Mapping[str, Any], input_types: Sequence[Any]
) -> dict[str, Any]:
    """Return the attributes of a node as TensorFlow names them.

    `input_types` are the types of the tensors of an argument that takes any.
    """
    op_type = node.type
    renamed, unknown = _RENAMED.get(op_type, {}), _UNKNOWN.get(op_type, ())
    exchanged = {
        renamed.get(name, name): value for name, value in attrs.items() if name not in unknown
    }
    if op_type in _TYPE_LISTS:
        exchanged[_TYPE_LISTS[op_type]] = list(input_types)
    if op_type == "ReadVariableOp":
        exchanged["dtype"] = node.outputs[0].dtype
    if op_type == "DynamicStitch":  # here its lists are joined before
        exchanged["N"] = 1
    if op_type == "VarHandleOp":  # without a name, all variables would be one
        exchanged.setdefault("shared_name", node.name)
    return exchanged


def exchanged_name(op_type: str, name: str) -> str:
    """Return TensorFlow's name of an attribute of an operation."""
    return _RENAMED.get(op_type, {}).get(name, name)


def own_attrs(op_type: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of TensorFlow's node under the names of the definition."""
    renamed = {theirs: ours for ours, theirs in _RENAMED.get(op_type, {}).items()}
    return {renamed.get(name, name): value for name, value in attrs.items()}
