"""`tf.train.GradientDescentOptimizer` and `ProximalGradientDescentOptimizer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.training.optimizers import GRADIENT_DESCENT, PROXIMAL_GRADIENT_DESCENT
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.proximal import ProximalOptimizer
from berth.train.optimizers.rule_optimizer import RuleOptimizer


@public_v1("train.GradientDescentOptimizer")
class GradientDescentOptimizer(RuleOptimizer):
    """Gradient descent: ``var -= learning_rate * grad``."""

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = convert(rate, None, "learning_rate")

    def _rule(self) -> Update:
        return GRADIENT_DESCENT

    def _numbers(self) -> Mapping[str, Any]:
        return {"alpha": self._learning_rate_tensor}

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        delta = IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any
    ) -> Any:
        rate = cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return handle.write("scatter_add", (indices, -grad * rate), read_value=False)


@public_v1("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(ProximalOptimizer):
    """Gradient descent with L1 and L2 regularization, which makes small weights zero."""

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        l1, l2 = l1_regularization_strength, l2_regularization_strength
        super().__init__(learning_rate, l1, l2, use_locking, name)

    def _rule(self) -> Update:
        return PROXIMAL_GRADIENT_DESCENT

    def _numbers(self) -> Mapping[str, Any]:
        return {"alpha": self._learning_rate_tensor, **self._regularization()}
