"""`tf.train.AdadeltaOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.ops.compose import convert
from berth.ops.training.optimizers import ADADELTA
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.rule_optimizer import RuleOptimizer


@public_v1("train.AdadeltaOptimizer")
class AdadeltaOptimizer(RuleOptimizer):
    """Adadelta: steps as large as recent steps were, for gradients as large as recent ones."""

    _slot_names = ("accum", "accum_update")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._rho_t: Any = None
        self._epsilon_t: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        self._zeros_slots(var_list, "accum", "accum_update")

    def _prepare(self) -> None:
        self._lr_t = convert(self._call_if_callable(self._lr), None, "lr")
        self._rho_t = convert(self._call_if_callable(self._rho), None, "rho")
        self._epsilon_t = convert(self._call_if_callable(self._epsilon), None, "epsilon")

    def _rule(self) -> Update:
        return ADADELTA

    def _numbers(self) -> Mapping[str, Any]:
        return {"lr": self._lr_t, "rho": self._rho_t, "epsilon": self._epsilon_t}
