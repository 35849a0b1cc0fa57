"""``x + y`` for tensors, of graphs and of eager programs alike.

``==`` tells them apart: tensors of TensorFlow 1 are compared by identity, and those of
TensorFlow 2 element by element.
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import bool_
from berth.errors import InvalidArgumentError
from berth.ops.arrays import indexing
from berth.ops.arrays.strings import add_anyway
from berth.ops.builder import apply
from berth.ops.compose import convert, is_tensor, scope, type_of
from berth.ops.elementwise import arithmetic as math
from berth.ops.elementwise import compare, unary
from berth.ops.elementwise.arithmetic import ADD, FLOOR_DIV, FLOOR_MOD, MUL, POW, SUB
from berth.ops.elementwise.compare import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOT_EQUAL,
)
from berth.ops.linalg.products import matmul
from berth.ops.opdef import OpDef
from berth.ops.rules import common_dims


class Operators:
    """The operators of a tensor."""

    __slots__ = ()
    __array_priority__ = 100  # NumPy's arrays leave the operators to us

    # --- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        try:
            return apply(ADD, (self, other), {}, "add")
        except (TypeError, InvalidArgumentError) as error:
            return add_anyway(ADD, self, other, "add", error)

    def __radd__(self, other: Any) -> Any:
        try:
            return apply(ADD, (other, self), {}, "add")
        except (TypeError, InvalidArgumentError) as error:
            other = convert(other, type_of(self), "x")
            return add_anyway(ADD, other, self, "add", error)

    def __sub__(self, other: Any) -> Any:
        return apply(SUB, (self, other), {}, "sub")

    def __rsub__(self, other: Any) -> Any:
        return apply(SUB, (other, self), {}, "sub")

    def __mul__(self, other: Any) -> Any:
        return apply(MUL, (self, other), {}, "mul")

    def __rmul__(self, other: Any) -> Any:
        return apply(MUL, (other, self), {}, "mul")

    def __truediv__(self, other: Any) -> Any:
        return math.truediv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return math.truediv(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return apply(FLOOR_DIV, (self, other), {}, "floordiv")

    def __rfloordiv__(self, other: Any) -> Any:
        return apply(FLOOR_DIV, (other, self), {}, "floordiv")

    def __mod__(self, other: Any) -> Any:
        return apply(FLOOR_MOD, (self, other), {}, "mod")

    def __rmod__(self, other: Any) -> Any:
        return apply(FLOOR_MOD, (other, self), {}, "mod")

    def __pow__(self, other: Any) -> Any:
        return apply(POW, (self, other), {}, "pow")

    def __rpow__(self, other: Any) -> Any:
        return apply(POW, (other, self), {}, "pow")

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other, name="matmul")

    def __rmatmul__(self, other: Any) -> Any:
        with scope("matmul") as inner:
            return matmul(convert(other, type_of(self), "x"), self, name=inner)

    def __neg__(self) -> Any:
        return unary.negative(self)

    def __abs__(self) -> Any:
        return unary.abs(self)

    # --- comparisons and logic ----------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return apply(LESS, (self, other), {})

    def __le__(self, other: Any) -> Any:
        return apply(LESS_EQUAL, (self, other), {})

    def __gt__(self, other: Any) -> Any:
        return apply(GREATER, (self, other), {})

    def __ge__(self, other: Any) -> Any:
        return apply(GREATER_EQUAL, (self, other), {})

    def __and__(self, other: Any) -> Any:
        return compare.both(self, other)

    def __rand__(self, other: Any) -> Any:
        return compare.both(other, self)

    def __or__(self, other: Any) -> Any:
        return compare.either(self, other)

    def __ror__(self, other: Any) -> Any:
        return compare.either(other, self)

    def __xor__(self, other: Any) -> Any:
        return compare.one_of(self, other)

    def __rxor__(self, other: Any) -> Any:
        return compare.one_of(other, self)

    def __invert__(self) -> Any:
        if type_of(self) is bool_:
            return compare.logical_not(self)
        return unary.invert(self)

    # --- parts --------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return indexing.getitem(self, key)


class AnyTensor(Operators):
    """A tensor: a symbol of a graph, or one with a value. What ``tf.Tensor`` means."""

    __slots__ = ()


class ValueOperators(Operators):
    """The operators of a tensor that is compared element by element."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        return _compare(EQUAL, self, other, False)

    def __ne__(self, other: object) -> Any:
        return _compare(NOT_EQUAL, self, other, True)

    __hash__ = object.__hash__


def _compare(op: OpDef, x: Any, y: Any, unless_alike: bool) -> Any:
    """Compare element by element; what cannot be compared is not equal."""
    if y is None:
        return unless_alike
    y = convert(y, None if is_tensor(y) else type_of(x))
    try:
        common_dims(x.dims, y.dims)
    except ValueError:
        return convert(unless_alike, bool_)
    return apply(op, (x, y), {})
