"""What the proximal optimizers share: L1 and L2 regularization."""

from __future__ import annotations

from typing import Any

from berth.ops.compose import convert
from berth.train.optimizers.rule_optimizer import RuleOptimizer


class ProximalOptimizer(RuleOptimizer):
    """Optimizer with a learning rate, and L1 and L2 regularization."""

    def __init__(
        self, learning_rate: Any, l1: float, l2: float, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1
        self._l2_regularization_strength = l2
        self._learning_rate_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None

    def _prepare(self) -> None:
        l1, l2 = self._l1_regularization_strength, self._l2_regularization_strength
        self._learning_rate_tensor = convert(self._learning_rate, None, "learning_rate")
        self._l1_regularization_strength_tensor = convert(
            l1, None, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = convert(
            l2, None, "l2_regularization_strength"
        )

    def _regularization(self) -> dict[str, Any]:
        """Return the operation's numbers for the regularization."""
        return {
            "l1": self._l1_regularization_strength_tensor,
            "l2": self._l2_regularization_strength_tensor,
        }
