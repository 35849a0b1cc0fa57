"""The variables of a saver, by the names that they have in checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.variables.partitioned import PartitionedVariable
from berth.variables.variable import Variable

Named = dict[str, list[Variable]]
"""A variable is one in the list; a partitioned one has several, which are its parts."""


def variables_by_name(given: Any) -> Named:
    """Return the variables of a list or dictionary by the names they are saved under."""
    if isinstance(given, Mapping):
        return _from_mapping(given)
    if not isinstance(given, list | tuple | set | frozenset):
        message = f"Variables to save should be passed in a dict or a list. Got {given}"
        raise TypeError(message)
    named: Named = {}
    for variable in _each(given):
        info = variable._save_slice_info
        name = variable.handle.op.name if info is None else info.full_name
        parts = named.setdefault(name, [])
        is_other = any((part._save_slice_info is None) != (info is None) for part in parts)
        if parts and (info is None or is_other or variable in parts):
            raise ValueError(f"At least two variables have the same name: {name}")
        parts.append(variable)
    return named


def _each(given: Any) -> Iterator[Variable]:
    for variable in given:
        if isinstance(variable, PartitionedVariable):
            yield from variable
        elif isinstance(variable, Variable):
            yield variable
        else:
            raise TypeError(f"Variable to save is not a Variable: {variable}")


def _from_mapping(given: Mapping[str, Any]) -> Named:
    named: Named = {}
    seen: set[int] = set()
    for name in sorted(given):
        value = given[name]
        is_in_parts = isinstance(value, PartitionedVariable | list | tuple)
        parts = list(value) if is_in_parts else [value]
        if not isinstance(name, str) or not all(isinstance(part, Variable) for part in parts):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. "
                f"Not a variable: {value}"
            )
        if is_in_parts:
            _check_slices(parts)
        if any(id(part.handle) in seen for part in parts):
            raise ValueError(f"The same saveable will be restored with two names: {name}")
        seen.update(id(part.handle) for part in parts)
        named[name] = parts
    return named


def _check_slices(parts: list[Variable]) -> None:
    """Raise ValueError if variables are not the parts of one."""
    names = []
    for part in parts:
        if part._save_slice_info is None:
            raise ValueError(f"Slices must all be slices: {part}")
        names.append(part._save_slice_info.full_name)
    if len(set(names)) > 1:
        other = next(name for name in names if name != names[0])
        raise ValueError(f"Slices must all be from the same tensor: {names[0]} != {other}")
