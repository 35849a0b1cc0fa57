"""Structures of lists, tuples, namedtuples and dicts, and what is in them.

The keys of a dict are taken in order, so that equal dicts are alike. With `expand_composites`
a composite tensor is a structure too, of its components; so is its type spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec
from berth.public import public


@public("nest.is_nested")
def is_nested(value: Any) -> bool:
    """Tell whether a value is a structure.

    >>> is_nested([1]), is_nested("text")
    (True, False)
    """
    return isinstance(value, list | tuple | dict) or (
        hasattr(value, "keys") and isinstance(value, Mapping)
    )


@public("nest.flatten")
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """List what is in a structure, in order.

    >>> flatten({"b": [1, 2], "a": (3, {"c": 4})})
    [3, 4, 1, 2]
    """
    if not is_nested(structure):
        if expand_composites and is_composite(structure):
            return flatten(_components(structure), True)
        return [structure]
    return [leaf for _, part in _parts(structure) for leaf in flatten(part, expand_composites)]


def is_composite(value: Any) -> bool:
    """Tell whether a value is a composite tensor, or the spec of one."""
    return isinstance(value, CompositeTensor | TypeSpec) and not isinstance(value, TensorSpec)


def spec_of_composite(value: Any) -> Any:
    """Return the type spec of a composite tensor; other values as they are."""
    return value._type_spec if isinstance(value, CompositeTensor) else value


def _components(value: Any) -> Any:
    if isinstance(value, TypeSpec):
        return value._component_specs
    return value._type_spec._to_components(value)


@public("nest.pack_sequence_as")
def pack_sequence_as(
    structure: Any, flat_sequence: Any, expand_composites: bool = False
) -> Any:
    """Put values, in order, into a structure like the one given.

    >>> pack_sequence_as({"a": 0, "b": [0, 0]}, [1, 2, 3])
    {'a': 1, 'b': [2, 3]}
    """
    values = list(flat_sequence)
    n_wanted = len(flatten(structure, expand_composites))
    if len(values) != n_wanted:
        raise ValueError(
            f"The structure has {n_wanted} atoms, but flat_sequence has {len(values)} atoms. "
            f"Structure: {structure}. flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(values), expand_composites)


@public("nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: Any, **options: Any) -> Any:
    """Apply a function to what is in structures that are alike.

    >>> map_structure(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    expands = bool(options.get("expand_composites"))
    for other in structure[1:]:
        assert_same_structure(
            structure[0], other, options.get("check_types", True), expand_composites=expands
        )
    columns = zip(*(flatten(each, expands) for each in structure), strict=True)
    return _packed(structure[0], (func(*column) for column in columns), expands)


@public("nest.assert_same_structure")
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise ValueError unless two structures are alike.

    >>> assert_same_structure([1, (2, 3)], [4, (5, 6)])
    """
    is_alike = is_nested(nest1) == is_nested(nest2)
    if is_alike and is_nested(nest1):
        first, second = list(_parts(nest1)), list(_parts(nest2))
        is_alike = [key for key, _ in first] == [key for key, _ in second]
        if is_alike and check_types and type(nest1) is not type(nest2):
            raise TypeError(
                "The two namedtuples don't have the same sequence type. First structure has "
                f"type {type(nest1).__name__}, while second structure has type "
                f"{type(nest2).__name__}"
            )
        if is_alike:
            for (_, a), (_, b) in zip(first, second, strict=True):
                assert_same_structure(a, b, check_types, expand_composites)
            return
    if is_alike and expand_composites and (is_composite(nest1) or is_composite(nest2)):
        is_alike = is_composite(nest1) and is_composite(nest2)
        first, second = spec_of_composite(nest1), spec_of_composite(nest2)
        is_alike = is_alike and first.most_specific_common_supertype([second]) is not None
    if not is_alike:
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {nest1}\n\nSecond structure: {nest2}"
        )


def _parts(structure: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(structure, Mapping):
        yield from ((key, structure[key]) for key in _sorted(structure))
    else:
        yield from enumerate(structure)


def _sorted(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError(
            f"nest only supports dicts with sortable keys, and not {list(mapping)}"
        ) from None


def _packed(structure: Any, values: Iterator[Any], expands: bool = False) -> Any:
    if not is_nested(structure):
        if expands and is_composite(structure):
            spec = spec_of_composite(structure)
            return spec._from_components(_packed(spec._component_specs, values, True))
        return next(values)
    packed = {key: _packed(part, values, expands) for key, part in _parts(structure)}
    if isinstance(structure, Mapping):
        in_order = {key: packed[key] for key in structure}
        return in_order if type(structure) is dict else type(structure)(in_order)  # type: ignore[call-arg]
    if hasattr(structure, "_fields"):
        return type(structure)(*packed.values())
    return type(structure)(packed.values())
