"""Plans for other feed shapes: the structure is kept, and the types of its values follow.

The operations of a request, their order, devices, copies and lifetimes are the same whatever
the shapes of its feeds; so are the types of all that does not depend on a feed (variables, what
is read from them). What is left is to apply the shape rules of the other operations, once for
operations that are alike: the layers of a network mostly are.

A structure does not fit if other shapes leave a shape open, make a folded constant too large,
or decide differently what is fused. Then the request is planned from the beginning.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from berth.ops.shape import is_known
from berth.plan.fuse import is_fused_alike
from berth.plan.infer import SharedTypes, fold, infer_types, is_small_constant
from berth.plan.plan import Request
from berth.plan.structure import ArrayType, Rule, Structure

Types = tuple[ArrayType, ...]


def resized_types(structure: Structure, request: Request) -> list[ArrayType] | None:
    """Return the types of a structure's values for a request; None if it does not fit."""
    types = structure.types.copy()
    changed: set[int] = set()
    shared = SharedTypes()
    for number, feed in enumerate(request.feeds):  # feeds have the first numbers
        if types[number].dims != feed.dims:
            types[number] = shared.get(types[number].dtype, feed.dims)
            changed.add(number)
    is_unchanged = changed.isdisjoint
    applied: dict[tuple[int, Types], Types] = {}
    for rule, kind in zip(structure.rules, _kinds_of(structure), strict=True):
        if is_unchanged(rule.inputs):
            continue
        inputs = tuple([types[number] for number in rule.inputs])
        outputs = applied.get((kind, inputs))
        if outputs is None:
            outputs = _fold(rule, inputs) if rule.is_folded else _infer(rule, inputs, shared)
            if outputs is None:
                return None
            applied[kind, inputs] = outputs
        for number, output in zip(rule.outputs, outputs, strict=True):
            if types[number].dims != output.dims or output.value is not None:
                types[number] = output
                changed.add(number)
    for source, target in structure.copies:
        types[target.number] = types[source.number]
    return types if is_fused_alike(structure, types) else None


def _infer(rule: Rule, inputs: Types, shared: SharedTypes) -> Types | None:
    """Apply a shape rule; None if it leaves a size open."""
    outputs = []
    inferred = infer_types(rule.op, inputs)
    for (dtype, dims), declared in zip(inferred, rule.declared, strict=True):
        known = dims if is_known(dims) else declared
        if not is_known(known):
            return None
        outputs.append(shared.get(dtype.base_dtype, known))
    return tuple(outputs)


def _fold(rule: Rule, inputs: Types) -> Types | None:
    """Compute an operation; None if its outputs are too large for that."""
    op = rule.op
    if not op.definition.is_metadata:
        types = infer_types(op, inputs)
        known = [(dtype, dims) for dtype, dims in types if is_known(dims)]
        if len(known) < len(types) or not is_small_constant(known):
            return None
    arrays = zip(op.outputs, fold(op, inputs), strict=True)
    return tuple([ArrayType(t.dtype.base_dtype, array.shape, array) for t, array in arrays])


def _kinds_of(structure: Structure) -> Sequence[int]:
    """Number the rules of a structure: alike rules, which give the same for the same inputs,
    have the same number. It is done when the second shape comes."""
    if structure.kinds is None:
        numbers: dict[Hashable, int] = {}
        structure.kinds = [
            numbers.setdefault(_kind_of(rule), position)
            for position, rule in enumerate(structure.rules)
        ]
    return structure.kinds


def _kind_of(rule: Rule) -> Hashable:
    definition, attrs = rule.op.definition, rule.op.attrs
    if rule.is_folded and not definition.is_metadata:
        return rule.op  # 1 and True are alike for a shape, and not for a value
    kind = (definition, tuple(attrs.items()), rule.declared)
    try:
        hash(kind)
    except TypeError:  # an attribute is an array, or a list
        return rule.op
    return kind
