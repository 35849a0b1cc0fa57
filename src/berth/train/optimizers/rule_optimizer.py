"""Optimizers that update a variable by one operation, `berth.ops.training.optimizers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.dtypes import DType
from berth.ops.builder import apply_op
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.casting import cast
from berth.ops.opdef import OpDef
from berth.ops.state.variables import Write
from berth.ops.training.updates import Update
from berth.train.optimizers.optimizer import Optimizer


class RuleOptimizer(Optimizer):
    """Optimizer whose update of a variable is one operation.

    A subclass names the operation's slots and numbers as the operation does.
    """

    _slot_names: tuple[str, ...] = ()
    """The slots that the operation writes, after the variable."""

    def _rule(self) -> Update:
        """Return the operations."""
        raise NotImplementedError

    def _numbers(self) -> Mapping[str, Any]:
        """Return the operation's numbers, by the names of its arguments."""
        raise NotImplementedError

    def _attrs(self) -> dict[str, Any]:
        return {}

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._update(self._rule().dense.by_reference, var, grad)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return self._update(self._rule().dense.by_handle, handle, grad)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._update(self._sparse().by_reference, var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._update(self._sparse().by_handle, handle, grad, indices)

    def _sparse(self) -> Write:
        sparse = self._rule().sparse
        assert sparse is not None
        return sparse

    def _update(self, op: OpDef, var: Any, grad: Any, indices: Any = None) -> Any:
        slots = [self.get_slot(var, name) for name in self._slot_names]
        given = {"grad": grad, "delta": grad, "indices": indices}
        numbers, dtype = self._numbers(), var.dtype.base_dtype
        inputs = [
            given[name]
            if name in given
            else numbers[name]
            if isinstance(kind, DType)
            else as_number(numbers[name], dtype)
            for name, kind, _ in op.arguments[op.n_variables :]
        ]
        handles = [variable.handle for variable in (var, *slots)]
        attrs = {"use_locking": bool(self._use_locking), **self._attrs()}
        with scope(op.name) as inner:  # variables among the numbers are read in it
            tensors = [convert(value) if is_variable(value) else value for value in inputs]
            written = apply_op(op, (*handles, *tensors), attrs, inner)
        return getattr(written, "op", written)

    def _zeros_slots(self, var_list: Sequence[Any], *names: str) -> None:
        for variable in var_list:
            for name in names:
                self._zeros_slot(variable, name, self._name)


def is_variable(value: Any) -> bool:
    """Tell whether a number is held in a variable."""
    return hasattr(value, "handle")


def as_number(value: Any, dtype: DType) -> Any:
    """Return a number in the type of the trained variable; itself if it has that type."""
    if type_of(value) is dtype:
        return value
    if not is_variable(value):
        return cast(value, dtype)
    with scope("Cast") as inner:
        return cast(value, dtype, inner)
