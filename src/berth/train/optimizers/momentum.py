"""`tf.train.MomentumOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.ops.compose import convert
from berth.ops.training.optimizers import MOMENTUM
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.rule_optimizer import RuleOptimizer


@public_v1("train.MomentumOptimizer")
class MomentumOptimizer(RuleOptimizer):
    """Momentum: steps along a decaying sum of the gradients; optionally by Nesterov."""

    _slot_names = ("momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._learning_rate_tensor: Any = None
        self._momentum_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        self._zeros_slots(var_list, "momentum")

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert(rate, None, "learning_rate")
        momentum = self._call_if_callable(self._momentum)
        self._momentum_tensor = convert(momentum, None, "momentum")

    def _rule(self) -> Update:
        return MOMENTUM

    def _numbers(self) -> Mapping[str, Any]:
        return {"lr": self._learning_rate_tensor, "momentum": self._momentum_tensor}

    def _attrs(self) -> dict[str, Any]:
        return {"use_nesterov": bool(self._use_nesterov)}
