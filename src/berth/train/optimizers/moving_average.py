"""`tf.contrib.opt.MovingAverageOptimizer`: trains, and keeps averages of the variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from berth.front.graph_scope import control_dependencies
from berth.ops.flow.control import group
from berth.public import public_v1
from berth.train.moving_averages import ExponentialMovingAverage
from berth.train.optimizers.optimizer import Optimizer
from berth.train.saving.saver import Saver
from berth.variables.collections import global_variables


@public_v1("contrib.opt.MovingAverageOptimizer")
class MovingAverageOptimizer(Optimizer):
    """Optimizer that also updates a moving average of each variable it trains.

    A checkpoint of its `swapping_saver` has the averages under the variables' names, so that
    a program which knows nothing of averages restores them.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(False, "MovingAverageOptimizer")
        self._optimizer = opt
        self._averages = ExponentialMovingAverage(average_decay, num_updates)
        self._is_sequential = bool(sequential_update)
        self._other_names: dict[str, str] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Compute the gradients of a loss as the wrapped optimizer does."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Apply gradients to variables, then update the averages."""
        pairs = list(grads_and_vars)
        train_op = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [variable for grad, variable in pairs if grad is not None]
        with control_dependencies([train_op] if self._is_sequential else []):
            average_op = self._averages.apply(variables)
        self._other_names = {}
        for variable in variables:
            own, average = variable.op.name, self._averages.average(variable).op.name
            self._other_names |= {own: average, average: own}
        return group(train_op, average_op, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """Return a saver that saves each average in the place of its variable, and back."""
        if self._other_names is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        variables = global_variables() if var_list is None else var_list
        if not isinstance(variables, dict):
            variables = {variable.op.name: variable for variable in variables}
        swapped = {}
        for key in variables:
            other = self._other_names.get(key, key)
            if other not in variables:
                raise ValueError(
                    f"Variable to swap {other} is not part of variables to save. This breaks "
                    "MovingAverageOptimizer."
                )
            swapped[key] = variables[other]
        return Saver(swapped, name=name, **kwargs)
