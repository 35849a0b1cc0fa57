"""Python values as tensors of an eager program: numbers, lists, arrays, variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from berth.dtypes import DType, int32
from berth.errors import InvalidArgumentError
from berth.front.eager_placement import Placing, log_execution
from berth.front.eager_tensor import EagerTensor
from berth.graph.tensor import Tensor
from berth.ops.array import CONST, pack
from berth.ops.convert import dtype_of, frozen, to_array
from berth.ops.convert_now import to_array_now
from berth.ops.opdef import OpDef
from berth.ops.signature import check_types, wanted_types

if TYPE_CHECKING:
    from berth.front.context import Context

_NUMBERS = (float, int)
MOST_SCALARS = 1000
"""How many numbers and shapes are kept as tensors, for the next time they are used."""


class Values(Placing):
    """Makes tensors of what operations are given."""

    def __init__(self, program: Context) -> None:
        super().__init__(program)
        self._scalars: dict[Any, EagerTensor] = {}

    def _forget(self) -> None:
        super()._forget()
        self._scalars = {}

    def _tensors(self, op: OpDef, inputs: Sequence[Any]) -> Sequence[Any]:
        for value in inputs:
            if type(value) is not EagerTensor:
                break
        else:
            allowed = op.simple_type
            if allowed is None or not inputs or not _is_simple(allowed, inputs):
                _check(op, inputs)
            return inputs
        if op.access is not None and all(type(v) is EagerTensor for v in inputs[1:]):
            if len(inputs) > 1:
                _check(op, inputs)
            return inputs
        known = [_as_tensor(value) for value in inputs]
        if op.simple_type is not None:
            quickly = self._with_scalar(op.simple_type, known)
            if quickly is not None:
                return quickly
        hosts = op.host_positions(len(inputs))
        if hosts:
            quickly = self._with_shapes(op, known, hosts)
            if quickly is not None:
                return quickly
        types = wanted_types(op, known)
        tensors = [
            value if is_eager(value) else self._converted(value, dtype, position in hosts)
            for position, (value, (_, dtype)) in enumerate(zip(known, types, strict=True))
        ]
        _check(op, tensors)
        return tensors

    def _with_scalar(self, allowed: frozenset[DType], values: list[Any]) -> list[Any] | None:
        """Convert one Python number beside a tensor; the same number is converted once."""
        if len(values) != 2:
            return None
        position = 0 if type(values[0]) in _NUMBERS else 1
        number, tensor = values[position], values[1 - position]
        if type(number) not in _NUMBERS or type(tensor) is not EagerTensor:
            return None
        dtype = tensor.dtype
        if dtype not in allowed or not number:  # 0.0 and -0.0 would be one key
            return None
        key = (number, type(number), dtype, self._scope.device_name)
        scalar = self._scalars.get(key)
        if scalar is None or scalar.place not in self._devices:
            scalar = self._converted(number, dtype)
            if len(self._scalars) < MOST_SCALARS:
                self._scalars[key] = scalar
        return [scalar, tensor] if position == 0 else [tensor, scalar]

    def _with_shapes(
        self, op: OpDef, values: list[Any], hosts: frozenset[int]
    ) -> list[Any] | None:
        """Convert shapes and axes beside tensors, where the types are known to fit."""
        tensors = []
        for position, value in enumerate(values):
            if type(value) is EagerTensor:
                tensors.append(value)
            elif position in hosts and type(value) is tuple:
                tensors.append(self._known_on_host(value, int32))
            else:
                return None
        return tensors if (op, *[tensor.dtype for tensor in tensors]) in _fitting else None

    def convert(self, value: Any, dtype: DType | None = None, name: str | None = None) -> Any:
        """Return a value as a tensor; tensors as they are."""
        value = _as_tensor(value)
        if not is_eager(value):
            return self._converted(value, dtype)
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value

    def _converted(self, value: Any, dtype: DType | None, is_for_host: bool = False) -> Any:
        if isinstance(value, list | tuple) and _holds_tensors(value):
            return pack(value)
        if is_for_host:
            return self._known_on_host(value, dtype)
        array = frozen(to_array_now(value, dtype))
        wanted = dtype_of(array)
        choice = self._choose(CONST, (), {"dtype": wanted})
        if self._switches.log_placement:
            log_execution("_EagerConst", choice.device)
        return self._constant(array, choice.device)

    def _known_on_host(self, value: Any, dtype: DType | None) -> EagerTensor:
        """Return a shape or an axis as a tensor; the same one is converted once."""
        is_plain = type(value) is tuple and all(type(size) is int for size in value)
        key = (value, dtype) if is_plain else None
        found = self._scalars.get(key) if is_plain else None
        if found is None:
            array = frozen(to_array(value, dtype))
            found = EagerTensor(array, self._host(), dtype_of(array), host=array)
            if is_plain and len(self._scalars) < MOST_SCALARS:
                self._scalars[key] = found
        return found


_fitting: set[Any] = set()
"""Operations with types of inputs that were found to fit."""


def _check(op: OpDef, tensors: Sequence[Any]) -> None:
    """Check the types of inputs; complain of two that differ as TensorFlow does."""
    key = (op, *[tensor.dtype for tensor in tensors])
    if key in _fitting:
        return
    try:
        check_types(op, tensors)
        _fitting.add(key)
    except TypeError:
        first = tensors[0].dtype
        for position, tensor in enumerate(tensors):
            if op.simple_type is not None and tensor.dtype is not first:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"cannot compute {op.name} as input #{position}(zero-based) was expected "
                    f"to be a {first.type_string} tensor but is a {tensor.dtype.type_string} "
                    f"tensor [Op:{op.name}] name: ",
                ) from None
        raise


def is_eager(value: Any) -> bool:
    """Tell whether a value is a tensor with a value, or stands for a variable."""
    return hasattr(value, "place")


def _as_tensor(value: Any) -> Any:
    """Return the tensor that a value stands for, or the value if it is none."""
    if hasattr(value, "as_tensor"):
        value = value.as_tensor()
    if isinstance(value, Tensor):
        raise TypeError(
            f"{value} is out of scope and cannot be used here. Use return values, explicit "
            "Python locals or TensorFlow collections to access it."
        )
    return value


def _holds_tensors(values: Any) -> bool:
    return any(
        is_eager(v)
        or hasattr(v, "as_tensor")
        or (isinstance(v, list | tuple) and _holds_tensors(v))
        for v in values
    )


def _is_simple(allowed: frozenset[Any], tensors: Sequence[Any]) -> bool:
    """Tell quickly whether all inputs are of one allowed type, as nearly always."""
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype is not first:
            return False
    return first in allowed
