"""The variables that an optimizer keeps: slots of each trained variable, and others."""

from __future__ import annotations

from typing import Any

from berth.eager.mode import executing_eagerly
from berth.eager.variable import Variable as EagerVariable
from berth.graph.default_graph import get_default_graph
from berth.ops.shape import TensorShape
from berth.train.slots import (
    colocated_with,
    create_slot,
    create_slot_with_initializer,
    create_zeros_slot,
    is_graph_variable,
    is_reference,
    key_of,
)
from berth.variables.scope import get_variable, variable_scope
from berth.variables.variable import Variable


class SlotStore:
    """State of an optimizer."""

    def __init__(
        self,
        use_locking: bool,
        name: str,
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[tuple[str, Any], Any] = {}
        self._non_slot_variable_scope: Any = None
        if use_own_namescope_for_non_slot_vars:
            with variable_scope(None, default_name=name) as own:
                self._non_slot_variable_scope = own

    def get_name(self) -> str:
        """Return the name of the optimizer."""
        return self._name

    def get_slot(self, var: Any, name: str) -> Any:
        """Return a slot of a variable, by the slot's name; None if there is none."""
        return self._slots.get(name, {}).get(key_of(var))

    def get_slot_names(self) -> list[str]:
        """List the names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """List the variables of the optimizer's state in this graph, by name."""
        graph = get_default_graph()
        slots = [slot for named in self._slots.values() for slot in named.values()]
        own = [*self._non_slot_variables(), *slots]
        here = [v for v in own if not is_graph_variable(v) or v.graph is graph]
        return sorted(here, key=lambda variable: str(variable.name))

    # --- variables that are no slots ------------------------------------------------------

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: Any
    ) -> Any:
        """Create a variable of the optimizer, beside a trained one."""
        graph = colocate_with.graph if is_graph_variable(colocate_with) else None
        made = self._non_slot_dict.get((name, graph))
        if made is None:
            made = self._make_non_slot_variable(initial_value, name, colocate_with)
            self._non_slot_dict[name, graph] = made
        return made

    def _make_non_slot_variable(self, initial_value: Any, name: str, other: Any) -> Any:
        if executing_eagerly():
            return EagerVariable(initial_value, trainable=False, name=name)
        use_resource = not is_reference(other)
        with colocated_with(other):
            if self._non_slot_variable_scope is None:
                return Variable(
                    initial_value, name=name, trainable=False, use_resource=use_resource
                )
            with other.graph.name_scope(""), variable_scope(self._non_slot_variable_scope):
                return get_variable(
                    name, initializer=initial_value, trainable=False, use_resource=use_resource
                )

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        """Return a variable of the optimizer in a graph, or of an eager program."""
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> list[Any]:
        return list(self._non_slot_dict.values())

    # --- slots ----------------------------------------------------------------------------

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        """Return the slots of a name, by the key of their variable."""
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """Return a slot of a variable, created with a value if there is none."""
        slots, key = self._slot_dict(slot_name), key_of(var)
        if key not in slots:
            slots[key] = create_slot(var, val, op_name)
        return slots[key]

    def _get_or_make_slot_with_initializer(
        self,
        var: Any,
        initializer: Any,
        shape: TensorShape,
        dtype: Any,
        slot_name: str,
        op_name: str,
    ) -> Any:
        """Return a slot of a variable, created by an initializer if there is none."""
        slots, key = self._slot_dict(slot_name), key_of(var)
        if key not in slots:
            slots[key] = create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        return slots[key]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """Return a slot of a variable, created with zeros if there is none."""
        slots, key = self._slot_dict(slot_name), key_of(var)
        if key not in slots:
            slots[key] = create_zeros_slot(var, op_name)
        return slots[key]
