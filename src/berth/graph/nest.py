"""Structures of lists, tuples, namedtuples and dicts, and what is in them.

The keys of a dict are taken in order, so that equal dicts are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
        return [structure]
    return [leaf for _, part in _parts(structure) for leaf in flatten(part)]


@public("nest.pack_sequence_as")
def pack_sequence_as(
    structure: Any, flat_sequence: Any, expand_composites: bool = False
) -> Any:
    """Put values, in order, into a structure like the one given.

    >>> pack_sequence_as({"a": 0, "b": [0, 0]}, [1, 2, 3])
    {'a': 1, 'b': [2, 3]}
    """
    values = list(flat_sequence)
    n_wanted = len(flatten(structure))
    if len(values) != n_wanted:
        raise ValueError(
            f"The structure has {n_wanted} atoms, but flat_sequence has {len(values)} atoms. "
            f"Structure: {structure}. flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(values))


@public("nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: Any, **options: Any) -> Any:
    """Apply a function to what is in structures that are alike.

    >>> map_structure(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    for other in structure[1:]:
        assert_same_structure(structure[0], other)
    columns = zip(*map(flatten, structure), strict=True)
    return _packed(structure[0], (func(*column) for column in columns))


@public("nest.assert_same_structure")
def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
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
                assert_same_structure(a, b, check_types)
            return
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


def _packed(structure: Any, values: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(values)
    packed = {key: _packed(part, values) for key, part in _parts(structure)}
    if isinstance(structure, Mapping):
        in_order = {key: packed[key] for key in structure}
        return in_order if type(structure) is dict else type(structure)(in_order)  # type: ignore[call-arg]
    if hasattr(structure, "_fields"):
        return type(structure)(*packed.values())
    return type(structure)(packed.values())
