"""Operators of tensors, such as ``x + y``, of graphs and of eager programs.

``==`` tells them apart: tensors of TensorFlow 1 are compared by identity, and those of
TensorFlow 2 element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from berth.dtypes import bool_
from berth.errors import InvalidArgumentError
from berth.ops.arrays import indexing
from berth.ops.arrays.strings import add_fallback
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
from berth.ops.linalg.matmul import matmul
from berth.ops.opdef import OpDef
from berth.ops.rules import common_dims
from berth.ops.types import ShapeLike, TensorLike
from berth.public import public
from berth.tensorflow_types import Tensor as TensorType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from berth.dtypes import DType
    from berth.ops.shape import Dims, TensorShape


class Operators:
    """The operators of a tensor."""

    __slots__ = ()
    __array_priority__ = 100  # NumPy's arrays leave the operators to us

    # --- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: TensorLike) -> Tensor:
        try:
            return apply(ADD, (self, other), {}, "add")
        except (TypeError, InvalidArgumentError) as error:
            return add_fallback(ADD, self, other, "add", error)

    def __radd__(self, other: TensorLike) -> Tensor:
        try:
            return apply(ADD, (other, self), {}, "add")
        except (TypeError, InvalidArgumentError) as error:
            other = convert(other, type_of(self), "x")
            return add_fallback(ADD, other, self, "add", error)

    def __sub__(self, other: TensorLike) -> Tensor:
        return apply(SUB, (self, other), {}, "sub")

    def __rsub__(self, other: TensorLike) -> Tensor:
        return apply(SUB, (other, self), {}, "sub")

    def __mul__(self, other: TensorLike) -> Tensor:
        return apply(MUL, (self, other), {}, "mul")

    def __rmul__(self, other: TensorLike) -> Tensor:
        return apply(MUL, (other, self), {}, "mul")

    def __truediv__(self, other: TensorLike) -> Tensor:
        return math.truediv(self, other)

    def __rtruediv__(self, other: TensorLike) -> Tensor:
        return math.truediv(other, self)

    def __floordiv__(self, other: TensorLike) -> Tensor:
        return apply(FLOOR_DIV, (self, other), {}, "floordiv")

    def __rfloordiv__(self, other: TensorLike) -> Tensor:
        return apply(FLOOR_DIV, (other, self), {}, "floordiv")

    def __mod__(self, other: TensorLike) -> Tensor:
        return apply(FLOOR_MOD, (self, other), {}, "mod")

    def __rmod__(self, other: TensorLike) -> Tensor:
        return apply(FLOOR_MOD, (other, self), {}, "mod")

    def __pow__(self, other: TensorLike) -> Tensor:
        return apply(POW, (self, other), {}, "pow")

    def __rpow__(self, other: TensorLike) -> Tensor:
        return apply(POW, (other, self), {}, "pow")

    def __matmul__(self, other: TensorLike) -> Tensor:
        return matmul(self, other, name="matmul")

    def __rmatmul__(self, other: TensorLike) -> Tensor:
        with scope("matmul") as inner:
            return matmul(convert(other, type_of(self), "x"), self, name=inner)

    def __neg__(self) -> Tensor:
        return unary.negative(self)

    def __abs__(self) -> Tensor:
        return unary.abs(self)

    # --- comparisons and logic ----------------------------------------------------------------

    def __lt__(self, other: TensorLike) -> Tensor:
        return apply(LESS, (self, other), {})

    def __le__(self, other: TensorLike) -> Tensor:
        return apply(LESS_EQUAL, (self, other), {})

    def __gt__(self, other: TensorLike) -> Tensor:
        return apply(GREATER, (self, other), {})

    def __ge__(self, other: TensorLike) -> Tensor:
        return apply(GREATER_EQUAL, (self, other), {})

    def __and__(self, other: TensorLike) -> Tensor:
        return compare.both(self, other)

    def __rand__(self, other: TensorLike) -> Tensor:
        return compare.both(other, self)

    def __or__(self, other: TensorLike) -> Tensor:
        return compare.either(self, other)

    def __ror__(self, other: TensorLike) -> Tensor:
        return compare.either(other, self)

    def __xor__(self, other: TensorLike) -> Tensor:
        return compare.one_of(self, other)

    def __rxor__(self, other: TensorLike) -> Tensor:
        return compare.one_of(other, self)

    def __invert__(self) -> Tensor:
        if type_of(self) is bool_:
            return compare.logical_not(self)
        return unary.invert(self)

    # --- parts --------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        return indexing.getitem(self, key)


@public("Tensor")
class Tensor(Operators, TensorType):
    """A multi-dimensional array of elements of one type: ``tf.Tensor``.

    In an eager program it has a value (`EagerTensor`), in a graph it stands for one output of
    an operation (`SymbolicTensor`). What is declared here is for type checkers.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        dtype: DType
        dims: Dims

        @property
        def shape(self) -> TensorShape: ...
        @property
        def device(self) -> str: ...
        @property
        def name(self) -> str: ...
        @property
        def op(self) -> Any: ...
        @property
        def graph(self) -> Any: ...
        @property
        def value(self) -> Any: ...
        @property
        def ndim(self) -> int: ...
        def get_shape(self) -> TensorShape: ...
        def set_shape(self, shape: ShapeLike) -> None: ...
        def numpy(self) -> NDArray[Any]: ...
        def ref(self) -> Any: ...
        def consumers(self) -> list[Any]: ...
        def eval(self, feed_dict: Any = None, session: Any = None) -> Any: ...
        def cpu(self) -> Tensor: ...
        def gpu(self, gpu_index: int = 0) -> Tensor: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...


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
