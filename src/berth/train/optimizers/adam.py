"""`tf.train.AdamOptimizer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from berth.eager.mode import executing_eagerly, init_scope
from berth.graph.default_graph import get_default_graph
from berth.ops.builder import current
from berth.ops.compose import convert
from berth.ops.elementwise.roots import sqrt
from berth.ops.flow.control import group
from berth.ops.training.optimizers import ADAM
from berth.ops.training.updates import Update
from berth.public import public_v1
from berth.train.optimizers.rule_optimizer import RuleOptimizer, as_number
from berth.train.slots import colocated_with
from berth.variables.assignment import assign, assign_sub, scatter_add


@public_v1("train.AdamOptimizer")
class AdamOptimizer(RuleOptimizer):
    """Adam: steps by moving averages of the gradient and of its square."""

    _slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Return the variables with the powers of beta1 and beta2."""
        with init_scope():
            graph = None if executing_eagerly() else get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph),
                self._get_non_slot_variable("beta2_power", graph),
            )

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda variable: str(variable.name))
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        self._create_non_slot_variable(self._beta2, "beta2_power", first)
        self._zeros_slots(var_list, "m", "v")

    def _prepare(self) -> None:
        self._lr_t = convert(self._call_if_callable(self._lr), None, "learning_rate")
        self._beta1_t = convert(self._call_if_callable(self._beta1), None, "beta1")
        self._beta2_t = convert(self._call_if_callable(self._beta2), None, "beta2")
        self._epsilon_t = convert(self._call_if_callable(self._epsilon), None, "epsilon")

    def _rule(self) -> Update:
        return ADAM

    def _attrs(self) -> dict[str, Any]:
        return {"use_nesterov": False}

    def _numbers(self) -> Mapping[str, Any]:
        beta1_power, beta2_power = self._get_beta_accumulators()
        return {
            "beta1_power": beta1_power,
            "beta2_power": beta2_power,
            "lr": self._lr_t,
            "beta1": self._beta1_t,
            "beta2": self._beta2_t,
            "epsilon": self._epsilon_t,
        }

    # --- some rows ------------------------------------------------------------------------

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_sparse_shared(grad.values, var, grad.indices, scatter_add)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._apply_sparse_shared(grad, handle, indices, _resource_scatter_add)

    def _apply_sparse_shared(
        self, grad: Any, var: Any, indices: Any, add_rows: Callable[..., Any]
    ) -> Any:
        """Update by the gradient of some rows: the averages of all rows decay."""
        builder: Any = current()
        dtype = var.dtype.base_dtype
        numbers = {name: as_number(value, dtype) for name, value in self._numbers().items()}
        rate = numbers["lr"] * sqrt(1 - numbers["beta2_power"]) / (1 - numbers["beta1_power"])
        averages = []
        for slot_name, beta in (("m", numbers["beta1"]), ("v", numbers["beta2"])):
            slot = self.get_slot(var, slot_name)
            rows = (grad if slot_name == "m" else grad * grad) * (1 - beta)
            decayed = assign(slot, slot * beta, use_locking=self._use_locking)
            with builder.control_dependencies([decayed]):
                averages.append(add_rows(slot, indices, rows))
        m, v = averages
        step = rate * m / (sqrt(v) + numbers["epsilon"])
        return group(assign_sub(var, step, use_locking=self._use_locking), m, v)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        builder: Any = current()
        with builder.control_dependencies([op for op in update_ops if op is not None]):
            powers = self._get_beta_accumulators()
            with colocated_with(powers[0]):
                updates = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in zip(powers, (self._beta1_t, self._beta2_t), strict=True)
                ]
        return group(*update_ops, *updates, name=name_scope)


def _resource_scatter_add(variable: Any, indices: Any, updates: Any) -> Any:
    builder: Any = current()
    added = variable.write("scatter_add", (indices, updates), read_value=False)
    with builder.control_dependencies([] if added is None else [added]):
        return variable.value()
