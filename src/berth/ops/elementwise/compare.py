"""Comparisons, logical and bitwise operations, and ``tf.where``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import INTEGERS, NUMBERS, REAL, DType, bool_, string
from berth.ops.arrays import broadcasting, filling, gathering
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.declare import BinaryFunction, binary
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import (
    ShapeMismatch,
    all_devices_but_strings,
    broadcast_to_bool,
    common_dims,
    elementwise,
    merge_dims,
    truth_like_first,
)
from berth.ops.shape import Dims, bracketed, is_known
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

# --- comparisons --------------------------------------------------------------------------

_EQUATABLE = (*NUMBERS, bool_, string)


def _comparison(
    op_name: str,
    function: str,
    dtypes: Sequence[DType],
    operator: str,
    example: tuple[str, str],
) -> tuple[OpDef, BinaryFunction]:
    return binary(
        op_name,
        function,
        dtypes,
        broadcast_to_bool,
        doc=f"Return the truth value of x {operator} y element-wise.",
        example=example,
        gradient=NOT_DIFFERENTIABLE,
        public=(function, f"math.{function}"),
    )


EQUAL, equal = _comparison(
    "Equal", "equal", _EQUATABLE, "==", example=("[1, 2], [1, 3]", "[True, False]")
)
NOT_EQUAL, not_equal = _comparison(
    "NotEqual", "not_equal", _EQUATABLE, "!=", example=("[1, 2], [1, 3]", "[False, True]")
)
LESS, less = _comparison(
    "Less", "less", REAL, "<", example=("[1, 2, 3], 2", "[True, False, False]")
)
LESS_EQUAL, less_equal = _comparison(
    "LessEqual", "less_equal", REAL, "<=", example=("[1, 2, 3], 2", "[True, True, False]")
)
GREATER, greater = _comparison(
    "Greater", "greater", REAL, ">", example=("[1, 2, 3], 2", "[False, False, True]")
)
GREATER_EQUAL, greater_equal = _comparison(
    "GreaterEqual", "greater_equal", REAL, ">=", example=("[1, 2, 3], 2", "[False, True, True]")
)

# --- logic --------------------------------------------------------------------------------

LOGICAL_AND = elementwise(
    "LogicalAnd",
    "x:bool y:bool",
    "logical_and",
    (bool_,),
    broadcast_to_bool,
    gradient=NOT_DIFFERENTIABLE,
)
LOGICAL_OR = elementwise(
    "LogicalOr",
    "x:bool y:bool",
    "logical_or",
    (bool_,),
    broadcast_to_bool,
    gradient=NOT_DIFFERENTIABLE,
)
LOGICAL_NOT = elementwise(
    "LogicalNot",
    "x:bool",
    "logical_not",
    (bool_,),
    truth_like_first,
    gradient=NOT_DIFFERENTIABLE,
)


@public("logical_and", "math.logical_and")
def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Logical AND of x and y, element-wise.

    >>> logical_and([True, False], True).numpy().tolist()
    [True, False]
    """
    return apply(LOGICAL_AND, (x, y), {}, name)


@public("logical_or", "math.logical_or")
def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Logical OR of x and y, element-wise.

    >>> logical_or([True, False], True).numpy().tolist()
    [True, True]
    """
    return apply(LOGICAL_OR, (x, y), {}, name)


@public("logical_not", "math.logical_not")
def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Logical NOT of x, element-wise.

    >>> logical_not([True, False]).numpy().tolist()
    [False, True]
    """
    return apply(LOGICAL_NOT, (x,), {}, name)


@public("math.logical_xor")
@public_v1("logical_xor")
def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Logical XOR of x and y, element-wise.

    >>> logical_xor([True, False], True).numpy().tolist()
    [False, True]
    """
    either = logical_or(x, y)
    return logical_and(either, logical_not(logical_and(x, y)), name=name)


BITWISE_AND, bitwise_and = binary(
    "BitwiseAnd",
    "bitwise_and",
    INTEGERS,
    doc="Bitwise AND of x and y, element-wise.",
    example=("[6, 1], 3", "[2, 1]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("bitwise.bitwise_and",),
)
BITWISE_OR, bitwise_or = binary(
    "BitwiseOr",
    "bitwise_or",
    INTEGERS,
    doc="Bitwise OR of x and y, element-wise.",
    example=("[6, 1], 3", "[7, 3]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("bitwise.bitwise_or",),
)
BITWISE_XOR, bitwise_xor = binary(
    "BitwiseXor",
    "bitwise_xor",
    INTEGERS,
    doc="Bitwise XOR of x and y, element-wise.",
    example=("[6, 1], 3", "[5, 2]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("bitwise.bitwise_xor",),
)


def both(x: Any, y: Any) -> Tensor:
    """``x & y`` of tensors: logical for booleans, bitwise for integers."""
    if bool_ in (type_of(x), type_of(y)):
        return apply(LOGICAL_AND, (x, y), {}, "and")
    with scope("and"):
        return bitwise_and(_first(x, y), y)


def either(x: Any, y: Any) -> Tensor:
    """``x | y`` of tensors: logical for booleans, bitwise for integers."""
    if bool_ in (type_of(x), type_of(y)):
        return apply(LOGICAL_OR, (x, y), {}, "or")
    with scope("or"):
        return bitwise_or(_first(x, y), y)


def one_of(x: Any, y: Any) -> Tensor:
    """``x ^ y`` of tensors: logical for booleans, bitwise for integers."""
    with scope("xor") as inner:
        x = _first(x, y)
        if bool_ in (type_of(x), type_of(y)):
            return logical_xor(x, y, inner)
        return bitwise_xor(x, y)


def _first(x: Any, y: Any) -> Any:
    """Return the first operand as a tensor; in ``array & tensor`` it is not one yet."""
    return x if type_of(x) else convert(x, type_of(y), "x")


# --- choice -------------------------------------------------------------------------------


def _selected(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Select by element, by row if the condition is a vector, or all if it is a scalar."""
    condition, then, other = inputs
    at_run = (
        "'then' and 'else' must have the same size.  but received: "
        f"{bracketed(then.dims)} vs. {bracketed(other.dims)}"
    )
    dims = merge_dims(then.dims, other.dims, at_run)
    return ((then.dtype.base_dtype, _check_condition(condition.dims, dims)),)


def _check_condition(condition: Dims, dims: Dims) -> Dims:
    if condition is None or dims is None or condition == ():
        return dims
    if len(condition) == 1 and len(dims) > 1:
        at_run = (
            "Number of batches of 'then' must match size of 'cond', but saw: "
            f"{dims[0]} vs. {condition[0]}"
        )
        merge_dims(condition, dims[:1], at_run)
        return dims
    if len(condition) != len(dims):
        merge_dims(dims, condition)
    return merge_dims(condition, dims)


def _bind_select(launch: Launch) -> Call:
    condition, then, other = launch.inputs
    if condition.ndim == 1 and then.ndim > 1:
        condition = condition.reshape(-1, *(1 for _ in then.shape[1:]))
    return _select, (launch.xp.copyto, condition, then, other, launch.outputs[0])


def _select(copyto: Any, condition: Any, then: Any, other: Any, out: Any) -> None:
    copyto(out, other)
    copyto(out, then, where=condition)


SELECT = OpDef(
    "Select",
    "condition:bool t:T e:T",
    _selected,
    types={"T": _EQUATABLE},
    kernels=all_devices_but_strings(_bind_select),
    samples=(
        "truth, f(3, 4), f(3, 4)",
        "truth[:, 0], f(3, 4), f(3, 4)",
    ),
    large_samples=("large > 0, large, large",),
)


@gradient(SELECT)
def _select_gradient(op: RecordedOp, grad: Any) -> Any:
    condition = op.inputs[0]
    if is_known(condition.dims) and condition.dims in ((), grad.dims):
        return None, *chosen_gradients(condition, grad, grad, grad)
    nothing = filling.zeros_like(grad)  # only Select takes a vector that selects rows
    return (
        None,
        lambda: gathering.where(condition, grad, nothing),
        lambda: gathering.where(condition, nothing, grad),
    )


def chosen_gradients(is_x: Any, x: Any, y: Any, grad: Any) -> tuple[Any, Any]:
    """Return the gradients of both operands, 0 where the other one was selected."""
    return (
        lambda: broadcasting.sum_like(gathering.where_v2(is_x, grad, 0), x),
        lambda: broadcasting.sum_like(gathering.where_v2(is_x, 0, grad), y),
    )


def _selected_broadcast(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    condition, then, other = inputs
    try:
        dims = common_dims(condition.dims, common_dims(then.dims, other.dims))
    except ShapeMismatch as error:
        shapes = ", ".join(bracketed(tensor.dims) for tensor in inputs)
        raise ShapeMismatch(str(error), f"Incompatible shapes: {shapes}") from None
    return ((then.dtype.base_dtype, dims),)


SELECT_V2 = OpDef(
    "SelectV2",
    "condition:bool t:T e:T",
    _selected_broadcast,
    types={"T": _EQUATABLE},
    kernels=all_devices_but_strings(
        lambda launch: (_select, (launch.xp.copyto, *launch.inputs, launch.outputs[0]))
    ),
    samples=("truth[:1], f(4), f(3, 1)",),
)


@gradient(SELECT_V2)
def _select_v2_gradient(op: RecordedOp, grad: Any) -> Any:
    condition, x, y = op.inputs
    return None, *chosen_gradients(condition, x, y, grad)
