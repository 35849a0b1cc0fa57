"""`tf.train.ExponentialMovingAverage`: averages of variables and tensors over the steps."""

from __future__ import annotations

from typing import Any

from berth.dtypes import FLOATING, float32
from berth.eager.mode import executing_eagerly
from berth.eager.variable import Variable as EagerVariable
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.ops.builder import current
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import minimum, pow
from berth.ops.elementwise.casting import cast
from berth.ops.flow.control import group
from berth.public import public
from berth.train.slots import (
    colocated_with,
    create_slot,
    create_zeros_slot,
    is_reference,
    key_of,
    lifted,
)
from berth.variables.assignment import assign, assign_sub
from berth.variables.collections import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from berth.variables.initializers_v1 import Zeros
from berth.variables.scope import get_variable, variable_scope
from berth.variables.store import get_variable_scope
from berth.variables.variable import Variable


def assign_moving_average(
    variable: Any,
    value: Any,
    decay: Any,
    zero_debias: bool = True,
    name: str | None = None,
) -> Any:
    """Update a moving average: ``variable -= (1 - decay) * (variable - value)``.

    With `zero_debias` the average is corrected for having started at zero.
    """
    with scope("AssignMovingAvg", name) as inner:
        dtype = variable.dtype.base_dtype
        rate = convert(1.0 - decay, None, "decay")
        if rate.dtype.base_dtype is not dtype:
            rate = cast(rate, dtype)
        with colocated_with(variable):
            if zero_debias:
                return _update_debiased(variable, _present(value), rate, inner)
            return assign_sub(variable, (variable - _present(value)) * rate, name=inner)


def _present(value: Any) -> Any:
    """Return what a reference variable is when the average is updated.

    Its usual value is read as soon as a run begins, before control dependencies: an average
    that is updated after a training step is of the variables after that step.
    """
    return value.read_value() if is_reference(value) else value


def _update_debiased(variable: Any, value: Any, rate: Any, name: str) -> Any:
    """Update an average that started at zero, and what it would be from no start at all."""
    with variable_scope(variable.name.removesuffix(":0")):
        dtype = variable.dtype.base_dtype
        options: dict[str, Any] = {"initializer": Zeros(), "trainable": False, "dtype": dtype}
        biased = get_variable(_unused("biased"), shape=variable.get_shape(), **options)
        n_updates = get_variable(_unused("local_step"), shape=[], **options)
    new_biased = assign_sub(biased, (biased - value) * rate)
    bias = 1 - pow(1.0 - rate, n_updates.assign_add(1))
    return assign(variable, new_biased / bias, name=name)


def _unused(name: str) -> str:
    """Return a name that no variable of the current scope has, by a number after it."""
    here = get_variable_scope()
    taken = {variable.op.name for variable in here.global_variables()}
    full, number = f"{here.name}/{name}", 0
    if here.reuse or full not in taken:
        return name
    while f"{full}_{number}" in taken or number == 0:
        number += 1
    return f"{name}_{number}"


@public("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Exponential moving averages of variables, or of tensors.

    With `num_updates`, the decay is smaller in the first steps. The averages are variables
    beside their own: ``w/ExponentialMovingAverage``.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """Update the averages, by default of all trainable variables; made on first use."""
        variables = trainable_variables() if var_list is None else list(var_list)
        debiased = set()
        for variable in variables:
            self._check(variable)
            if key_of(variable) not in self._averages:
                with lifted():
                    average = self._create(variable)
                self._averages[key_of(variable)] = average
                if self._zero_debias and not _is_variable(variable):
                    debiased.add(key_of(variable))
        with scope(self._name) as inner:
            decay = convert(self._decay, float32, "decay")
            if self._num_updates is not None:
                n_updates = cast(_present(self._num_updates), float32, name="num_updates")
                decay = minimum(decay, (1.0 + n_updates) / (10.0 + n_updates))
            updates = []
            for variable in variables:
                key = key_of(variable)
                average = self._averages[key]
                updates.append(assign_moving_average(average, variable, decay, key in debiased))
            done = None if executing_eagerly() else group(*updates, name=inner)
        return done

    def _check(self, variable: Any) -> None:
        if executing_eagerly() and not _is_variable(variable):
            raise TypeError(
                "tf.train.ExponentialMovingAverage does not support non-Variable tensors when "
                "eager execution is enabled."
            )
        if variable.dtype.base_dtype not in FLOATING:
            raise TypeError(f"The variables must be half, float, or double: {variable.name}")

    def _create(self, variable: Any) -> Any:
        if not _is_variable(variable):
            return create_zeros_slot(variable, self._name, colocate_with_primary=False)
        if isinstance(variable, EagerVariable):
            return create_slot(variable, variable.value(), self._name)
        builder: Any = current()
        with builder.device(variable.device):
            first = variable.initialized_value()
        average = create_slot(variable, first, self._name)
        variable.graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
        return average

    def average(self, var: Any) -> Any:
        """Return the average of a variable or tensor; None if none is kept."""
        return self._averages.get(key_of(var))

    def average_name(self, var: Any) -> str:
        """Return the name of the average of a variable, also if it is yet to be made."""
        average = self.average(var)
        if average is not None:
            return str(average.name).removesuffix(":0")
        wanted = f"{var.name.removesuffix(':0')}/{self._name}"
        return str(get_default_graph().unique_name(wanted, mark_as_used=False))

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Map names in a checkpoint to variables: averages are restored in their place."""
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = {key_of(variable): variable for variable in moving_avg_variables}
        names = {self.average_name(variable): variable for variable in averaged.values()}
        for variable in global_variables():
            if key_of(variable) not in averaged:
                names.setdefault(variable.op.name, variable)
        return names


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable | EagerVariable)
