"""`tf.train.FtrlOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.dtypes import float32
from berth.ops.arrays.filling import ones
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.training.optimizers import FTRL, FTRL_V2
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.rule_optimizer import RuleOptimizer


@public_v1("train.FtrlOptimizer")
class FtrlOptimizer(RuleOptimizer):
    """FTRL-Proximal, for linear models with many weights that are zero."""

    _slot_names = ("accum", "linear")

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        _check("initial_accumulator_value", initial_accumulator_value)
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        _check("l1_regularization_strength", l1_regularization_strength)
        _check("l2_regularization_strength", l2_regularization_strength)
        shrinkage = l2_shrinkage_regularization_strength
        _check("l2_shrinkage_regularization_strength", shrinkage)
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = shrinkage
        self._beta = 0.0 if beta is None else beta
        self._accum_name = accum_name
        self._linear_name = linear_name
        self._tensors: dict[str, Any] = {}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        def first(shape: Any, dtype: Any = float32, partition_info: Any = None) -> Any:
            return ones(shape, dtype) * self._initial_accumulator_value

        for variable in var_list:
            self._get_or_make_slot_with_initializer(
                variable,
                first,
                variable.shape,
                variable.dtype,
                "accum",
                self._accum_name or self._name,
            )
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        rate = convert(self._learning_rate, None, "learning_rate")
        l1 = convert(self._l1_regularization_strength, None, "l1_regularization_strength")
        smoothing = self._beta / (2.0 * maximum(self._learning_rate, 1e-36))
        l2 = convert(
            self._l2_regularization_strength + smoothing,
            None,
            "adjusted_l2_regularization_strength",
        )
        convert(self._beta, None, "beta")
        shrinkage = convert(
            self._l2_shrinkage_regularization_strength,
            None,
            "l2_shrinkage_regularization_strength",
        )
        power = convert(self._learning_rate_power, None, "learning_rate_power")
        self._tensors = {
            "lr": rate,
            "l1": l1,
            "l2": l2,
            "l2_shrinkage": shrinkage,
            "lr_power": power,
        }

    def _rule(self) -> Update:
        return FTRL if self._l2_shrinkage_regularization_strength <= 0.0 else FTRL_V2

    def _attrs(self) -> dict[str, Any]:
        return {"multiply_linear_by_lr": False}

    def _numbers(self) -> Mapping[str, Any]:
        return self._tensors


def _check(name: str, value: float) -> None:
    if value < 0.0:
        raise ValueError(f"{name} {value:f} needs to be positive or zero")
