"""Trace cache keys: the signature of a call of a `tf.function`.

Tensors count by their type and shape. Everything else counts by its value: a function is
retraced for another number, text or object. Numbers that are equal count as one, of
whatever type they are. Arrays of NumPy become tensors.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.graph.nest import (
    flatten,
    is_composite,
    is_nested,
    map_structure,
    pack_sequence_as,
    spec_of_composite,
)
from berth.ops import compose
from berth.ops.compose import is_tensor, stands_for_tensor
from berth.ops.shape import generalize
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec


class Call(NamedTuple):
    """The arguments of one call."""

    structure: tuple[Any, dict[str, Any]]
    """Positional and named arguments, as the function gets them."""
    leaves: list[Any]
    """What is in them, in order, composites taken apart; NumPy's arrays have become tensors."""
    kinds: list[Any]
    """For each leaf what says its type: itself, or the spec that its composite has for it."""
    key: Hashable

    @property
    def tensors(self) -> list[Any]:
        return [leaf for leaf in self.leaves if _is_tensor(leaf)]

    def relaxed(self, others: Sequence[Any]) -> Call:
        """Return a call of which no more is known than is true of others like it, too."""
        kinds = [
            _common(kind, other) if _is_typed(kind) else kind
            for kind, other in zip(self.kinds, others, strict=True)
        ]
        return self._replace(kinds=kinds)


class Signature:
    """The arguments of a Python function, and what they are asked to be."""

    def __init__(self, function: Callable[..., Any], specs: Sequence[Any] | None) -> None:
        self._parameters = inspect.signature(function)
        self.specs = None if specs is None else _checked(specs)

    def read(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> Call:
        """Read the arguments of a call; TypeError if they do not fit."""
        self._check_specs()
        try:
            bound = self._parameters.bind(*arguments, **options)
            bound.apply_defaults()
            structure: Any = (bound.args, bound.kwargs)
            if self.specs is not None:
                structure = self._as_asked(bound.args, bound.kwargs)
            leaves = kinds = [_leaf(value) for value in flatten(structure)]
            if any(map(is_composite, leaves)):
                leaves = [_leaf(value) for value in flatten(structure, True)]
                specs = map_structure(spec_of_composite, structure)
                kinds = [_leaf(value) for value in flatten(specs, True)]
            else:
                specs = structure
        except (TypeError, ValueError) as error:
            raise self.failure(error, arguments, options) from None
        key = (_shape_of(specs), tuple(map(_key, kinds)))
        return Call(structure, leaves, kinds, key)

    def failure(
        self, error: Exception, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> TypeError:
        """Say why arguments do not fit, as TensorFlow does."""
        return TypeError(
            f"Binding inputs to tf.function failed due to `{error}`. Received args: "
            f"{tuple(arguments)} and kwargs: {dict(options)} for signature: {self._shown()}."
        )

    def _shown(self) -> str:
        specs = iter(self.specs or ())
        shown = [
            parameter.replace(
                annotation=next(specs, inspect.Parameter.empty),
                default=parameter.empty if parameter.default is parameter.empty else _CAPTURED,
            )
            for parameter in self._parameters.parameters.values()
        ]
        return str(inspect.Signature(shown))

    def _check_specs(self) -> None:
        """Raise TypeError unless there is a spec for each argument without a default."""
        if self.specs is None:
            return
        named = self._parameters.parameters.values()
        takes_any = any(p.kind is p.VAR_POSITIONAL for p in named)
        single = [p for p in named if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        n_extra = len(self.specs) - len(single)
        if n_extra > 0 and not takes_any:
            raise TypeError(f"input_signature contains {n_extra} extra type constraints.")
        for parameter in single[len(self.specs) :]:
            if parameter.default is parameter.empty:
                raise TypeError(f"input_signature missing type constraint for {parameter.name}")

    def _as_asked(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Turn arguments into tensors of the types that were asked for."""
        assert self.specs is not None
        given = (*arguments, *options.values())
        n_asked = len(self.specs)
        if len(given) < n_asked:
            raise TypeError(f"{n_asked - len(given)} tensors of the input_signature missing")
        for parameter, value in zip(
            list(self._parameters.parameters.values())[n_asked:], given[n_asked:], strict=False
        ):
            if value is not parameter.default:
                raise TypeError(f"Can not cast {value!r} to Literal[{parameter.default!r}]")
        asked = [self._as_spec(s, v) for s, v in zip(self.specs, given, strict=False)]
        return (*asked, *given[n_asked:]), {}

    def _as_spec(self, spec: Any, value: Any) -> Any:
        """Turn a value into tensors, in the structure and of the types that are asked for."""
        if is_nested(spec):
            if not is_nested(value) or len(value) != len(spec):
                raise TypeError(f"Can not cast {value!r} to {spec}")
            keys = list(spec) if isinstance(spec, Mapping) else range(len(spec))
            parts = {key: self._as_spec(spec[key], value[key]) for key in keys}
            return pack_sequence_as(spec, flatten(parts))
        if isinstance(value, TypeSpec):
            return value
        if is_composite(spec) or isinstance(value, CompositeTensor):
            if not spec.is_compatible_with(value):
                raise TypeError(f"Can not cast {spec_of_composite(value)} to {spec}")
            return value
        tensor = compose.convert(value, None if _is_tensor(value) else spec.dtype)
        if not spec.is_compatible_with(tensor):
            raise TypeError(f"Can not cast {TensorSpec.from_tensor(tensor)} to {spec}")
        return tensor

    def typed(self, call: Call) -> Any:
        """Return the arguments of a call with a type spec in the place of each composite."""
        structure: Any = map_structure(spec_of_composite, call.structure)
        if self.specs is None:
            return structure
        arguments, options = structure
        return (*self.specs, *arguments[len(self.specs) :]), options

    def specs_of(self, call: Call) -> list[Any]:
        """Return a call's leaves, with a named TensorSpec in the place of each tensor."""
        asked = iter(flatten(self.specs, True) if self.specs is not None else ())
        found = []
        for name, kind in zip(self._names(call.structure), call.kinds, strict=True):
            spec = next(asked, kind)
            if not _is_typed(kind):
                found.append(kind)
                continue
            own = spec.name if isinstance(spec, TensorSpec) else None
            found.append(TensorSpec(spec.dims, spec.dtype.base_dtype, own or name))
        return found

    def _names(self, structure: Any) -> Iterator[str]:
        """Name the leaves of arguments: ``x``, ``x_0``, ``x_key``."""
        arguments, options = structure
        names = [
            name
            for name, parameter in self._parameters.parameters.items()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        for position, value in enumerate(arguments):
            is_named = position < len(names)
            name = names[position] if is_named else f"args_{position - len(names)}"
            yield from _paths(name, value)
        for name in sorted(options):
            yield from _paths(name, options[name])


class _Captured:
    def __repr__(self) -> str:
        return "<captured_default_value>"


_CAPTURED = _Captured()


def _checked(specs: Any) -> tuple[Any, ...]:
    if not isinstance(specs, list | tuple):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(specs)}.")
    wrong = [spec for spec in flatten(specs) if not isinstance(spec, TypeSpec)]
    if wrong:
        raise TypeError(
            "input_signature must be a possibly nested sequence of TensorSpec objects, got "
            f"invalid args {wrong} with types {[type(spec) for spec in wrong]}."
        )
    return tuple(specs)


def _paths(name: str, value: Any) -> Iterator[str]:
    if not is_nested(value):
        for _ in flatten(value, expand_composites=True):
            yield re.sub(r"[^\w.]", "_", name)
        return
    keys = sorted(value) if isinstance(value, Mapping) else range(len(value))
    for key in keys:
        yield from _paths(f"{name}_{key}", value[key])


def _is_tensor(value: Any) -> bool:
    """Tell whether a value is a tensor. A variable is passed on as what it is."""
    return is_tensor(value) and not stands_for_tensor(value)


def _is_typed(value: Any) -> bool:
    """Tell whether a value is a tensor, or stands for one."""
    return _is_tensor(value) or isinstance(value, TensorSpec)


def _common(tensor: Any, other: Any) -> TensorSpec:
    """Return what is true of the shapes of both."""
    return TensorSpec(generalize(tensor.dims, other.dims), tensor.dtype.base_dtype)


def _leaf(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return compose.convert(value)
    return value


def _key(leaf: Any) -> Hashable:
    if _is_typed(leaf):
        return leaf.dtype.base_dtype, leaf.dims
    if stands_for_tensor(leaf) and hasattr(leaf, "handle"):
        handle: Hashable = leaf.handle
        return handle
    try:
        hash(leaf)
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {leaf!r}.Please verify that it is "
            "immutable/hashable. Otherwise, consider implementing the Tracing Protocol for it."
        ) from None
    key: Hashable = leaf
    return key


def without_shapes(call: Call) -> Hashable:
    """Return a key for calls that differ in the shapes of their tensors only."""
    kinds = [kind.dtype.base_dtype if _is_typed(kind) else _key(kind) for kind in call.kinds]
    return _shape_of(map_structure(spec_of_composite, call.structure)), tuple(kinds)


def _shape_of(structure: Any) -> Hashable:
    """Return a key for how a structure is nested."""
    if not is_nested(structure):
        return structure if is_composite(structure) else None
    if isinstance(structure, Mapping):
        keys = sorted(structure, key=str)
        return type(structure), tuple((key, _shape_of(structure[key])) for key in keys)
    return type(structure), tuple(_shape_of(part) for part in structure)
