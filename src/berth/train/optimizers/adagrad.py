"""`tf.train.AdagradOptimizer`, `ProximalAdagradOptimizer` and `AdagradDAOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.ops.arrays.array import constant, identity
from berth.ops.arrays.filling import fill
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.builder import current
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.training.optimizers import ADAGRAD, ADAGRAD_DA, PROXIMAL_ADAGRAD
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.proximal import ProximalOptimizer
from berth.train.optimizers.rule_optimizer import RuleOptimizer
from berth.train.slots import colocated_with
from berth.variables.initializers_v1 import Constant


def _check_positive(name: str, value: float) -> None:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")


def _filled(variable: Any, value: float) -> Any:
    """Return a constant in the shape of a variable, placed with it."""
    with colocated_with(variable):
        return constant(value, variable.dtype.base_dtype, variable.get_shape())


@public_v1("train.AdagradOptimizer")
class AdagradOptimizer(RuleOptimizer):
    """Adagrad: the gradient divided by the root of the sum of its squares so far."""

    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            shape, dtype = variable.get_shape(), variable.dtype.base_dtype
            first: Any = Constant(self._initial_accumulator_value, dtype)
            if not shape.is_fully_defined():
                start = fill(shape_of(variable), self._initial_accumulator_value)
                first = cast(start, dtype)
            self._get_or_make_slot_with_initializer(
                variable, first, shape, dtype, "accumulator", self._name
            )

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert(rate, None, "learning_rate")

    def _rule(self) -> Update:
        return ADAGRAD

    def _attrs(self) -> dict[str, Any]:
        return {"update_slots": True}

    def _numbers(self) -> Mapping[str, Any]:
        return {"lr": self._learning_rate_tensor}


@public_v1("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(ProximalOptimizer):
    """Adagrad with L1 and L2 regularization, which makes small weights zero."""

    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        l1, l2 = l1_regularization_strength, l2_regularization_strength
        super().__init__(learning_rate, l1, l2, use_locking, name)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            first = _filled(variable, self._initial_accumulator_value)
            self._get_or_make_slot(variable, first, "accumulator", self._name)

    def _rule(self) -> Update:
        return PROXIMAL_ADAGRAD

    def _numbers(self) -> Mapping[str, Any]:
        return {"lr": self._learning_rate_tensor, **self._regularization()}


@public_v1("train.AdagradDAOptimizer")
class AdagradDAOptimizer(RuleOptimizer):
    """Adagrad dual averaging, for sparse linear models."""

    _slot_names = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        first = initial_gradient_squared_accumulator_value
        _check_positive("initial_gradient_squared_accumulator_value", first)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_gradient_squared_accumulator_value = first
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._learning_rate_tensor: Any = None
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = self._initial_gradient_squared_accumulator_value
        for variable in var_list:
            total, squares = _filled(variable, 0.0), _filled(variable, first)
            names = self._slot_names
            self._get_or_make_slot(variable, total, names[0], self._name)
            self._get_or_make_slot(variable, squares, names[1], self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = convert(self._learning_rate, None, "learning_rate")
        with colocated_with(self._learning_rate_tensor):
            self._global_step_on_worker = identity(self._global_step) + 1

    def _rule(self) -> Update:
        return ADAGRAD_DA

    def _update(self, op: Any, var: Any, grad: Any, indices: Any = None) -> Any:
        builder: Any = current()
        with builder.device(var.device):
            self._step = identity(self._global_step_on_worker)
        return super()._update(op, var, grad, indices)

    def _numbers(self) -> Mapping[str, Any]:
        return {
            "lr": self._learning_rate_tensor,
            "l1": self._l1_regularization_strength,
            "l2": self._l2_regularization_strength,
            "global_step": self._step,
        }
