"""`tf.train.RMSPropOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.ops.arrays.filling import ones_like
from berth.ops.compose import convert
from berth.ops.training.optimizers import CENTERED_RMS_PROP, RMS_PROP
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.rule_optimizer import RuleOptimizer
from berth.variables.initializers_v1 import Ones


@public_v1("train.RMSPropOptimizer")
class RMSPropOptimizer(RuleOptimizer):
    """RMSProp: the gradient divided by a moving average of its size."""

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._slot_names = ("mg", "rms", "momentum") if centered else ("rms", "momentum")
        self._learning_rate_tensor: Any = None
        self._decay_tensor: Any = None
        self._momentum_tensor: Any = None
        self._epsilon_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            shape, dtype = variable.get_shape(), variable.dtype.base_dtype
            is_known = shape.is_fully_defined()
            ones: Any = Ones(dtype=dtype) if is_known else ones_like(variable)
            self._get_or_make_slot_with_initializer(
                variable, ones, shape, dtype, "rms", self._name
            )
            self._zeros_slots([variable], *(("mg",) if self._centered else ()), "momentum")

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert(rate, None, "learning_rate")
        self._decay_tensor = convert(self._call_if_callable(self._decay), None, "decay")
        momentum = self._call_if_callable(self._momentum)
        self._momentum_tensor = convert(momentum, None, "momentum")
        self._epsilon_tensor = convert(self._call_if_callable(self._epsilon), None, "epsilon")

    def _rule(self) -> Update:
        return CENTERED_RMS_PROP if self._centered else RMS_PROP

    def _numbers(self) -> Mapping[str, Any]:
        return {
            "lr": self._learning_rate_tensor,
            "rho": self._decay_tensor,
            "momentum": self._momentum_tensor,
            "epsilon": self._epsilon_tensor,
        }
