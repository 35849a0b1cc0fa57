"""``tf.raw_ops``: every operation by its name, with keyword arguments only.

Where TensorFlow returns a named tuple of several outputs, here it is a tuple.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from berth.dtypes import as_dtype
from berth.eager.module import snake_case
from berth.graph.attr_defaults import DEFAULTS
from berth.graph.attr_names import exchanged_name, own_attrs
from berth.ops.builder import apply
from berth.ops.everything import load_all_ops
from berth.ops.opdef import CATALOGUE, OpDef

__all__: list[str] = []


def _sample_attrs(op: OpDef) -> dict[str, Any]:
    """Return the attributes of an operation as its sample calls have them, by name."""
    calls: list[Any] = [ast.parse(f"f({text})", mode="eval").body for text in op.samples]
    return {word.arg: word.value for call in calls for word in call.keywords if word.arg}


def _function(op: OpDef) -> Callable[..., Any]:
    """Make the function of an operation."""
    called = snake_case(op.name)
    inputs = [argument.name for argument in op.arguments]
    samples = _sample_attrs(op)
    defaults = DEFAULTS.get(op.name, {})
    types = {name for name, value in samples.items() if isinstance(value, ast.Name)}
    attrs = [exchanged_name(op.name, name) for name in {**samples, **defaults}]
    keys = [*inputs, *attrs, "name"]

    def call(*positional: Any, **given: Any) -> Any:
        if positional:
            raise TypeError(
                f"{called} only takes keyword args (possible keys: {keys}). Please pass these "
                "args as kwargs instead."
            )
        for key in given:
            if key not in keys:
                raise TypeError(f"{called}() got an unexpected keyword argument '{key}'")
        known = {**defaults, **own_attrs(op.name, {k: given[k] for k in attrs if k in given})}
        needed = [*inputs, *(k for k in samples if k not in known)]
        missing = [repr(exchanged_name(op.name, k)) for k in needed if k not in given]
        if missing:
            raise TypeError(_missing(called, missing))
        known |= {k: as_dtype(known[k]) for k in types & set(known)}
        made = apply(op, _flat(op, given), known, given.get("name"))
        return tuple(made) if isinstance(made, list) else made

    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = f"The operation {op.name}, of {', '.join(keys)}."
    return call


def _missing(called: str, names: list[str]) -> str:
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    plural = "s" if len(names) > 1 else ""
    return f"{called}() missing {len(names)} required positional argument{plural}: {listed}"


def _flat(op: OpDef, given: dict[str, Any]) -> list[Any]:
    """Return the inputs of a call, those of lists one by one."""
    flat: list[Any] = []
    for argument in op.arguments:
        value = given[argument.name]
        flat.extend(value if argument.is_list else [value])
    return flat


def __dir__() -> list[str]:
    load_all_ops()
    return sorted(CATALOGUE)


def __getattr__(name: str) -> Any:
    """Make the function of an operation when it is first used."""
    if name[:1].isupper() and name not in CATALOGUE:
        load_all_ops()
    if name not in CATALOGUE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _function(CATALOGUE[name])
    return made
