"""Laws of device names, for any names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.blocks import Use
from berth.devices.full_name import FullName, OnConflict, merge, parse_full_name
from berth.devices.spec import DeviceSpecV1, DeviceSpecV2
from berth.errors import InvalidArgumentError
from berth.graph.device_scopes import DeviceStack
from tests.properties.strategies import full_names, specs

FIELDS = ("job", "replica", "task", "device_type", "device_index")


class Op:
    device = ""


def as_fields(spec):
    return {name: getattr(spec, name) for name in FIELDS}


@given(specs)
def test_specs_survive_their_text(spec):
    assert DeviceSpecV2.from_string(spec.to_string()) == spec
    assert DeviceSpecV1.from_string(spec.to_string()).to_string() == spec.to_string()


@given(specs, specs, specs)
def test_merge_is_associative(a, b, c):
    left = a.make_merged_spec(b).make_merged_spec(c)
    right = a.make_merged_spec(b.make_merged_spec(c))
    assert as_fields(left) == as_fields(right)


@given(specs)
def test_empty_spec_changes_nothing(spec):
    empty = DeviceSpecV2()
    assert as_fields(spec.make_merged_spec(empty)) == as_fields(spec)
    assert as_fields(empty.make_merged_spec(spec)) == as_fields(spec)


@given(specs, specs)
def test_mutable_and_frozen_specs_merge_alike(a, b):
    mutable = DeviceSpecV1(**as_fields(a))
    mutable.merge_from(b)
    assert as_fields(mutable) == as_fields(a.make_merged_spec(b))


@given(st.lists(specs, max_size=5))
def test_nested_scopes_are_one_merge(scopes):
    stack, op = DeviceStack(), Op()
    for spec in scopes:
        stack.enter(Use(), spec.to_string())
    stack.apply(op)

    merged = DeviceSpecV2()
    for spec in scopes:
        # What is written is all that is left of a scope: an index without a type is not.
        merged = merged.make_merged_spec(DeviceSpecV2.from_string(spec.to_string()))
    assert op.device == merged.to_string()


@given(full_names())
def test_full_names_survive_their_text(name):
    assert parse_full_name(str(name)) == name


@given(full_names(), full_names())
def test_full_names_merge_if_compatible(a, b):
    if a.is_compatible(b):
        assert merge(a, b) == merge(b, a)
        assert a.matches(merge(a, b))
        assert b.matches(merge(a, b))
    else:
        with pytest.raises(InvalidArgumentError):
            merge(a, b)


@given(full_names(), full_names())
def test_softened_merge_never_asks_for_more(a, b):
    try:
        soft = merge(a, b, OnConflict.SOFTEN)
    except InvalidArgumentError:
        assert (a.job, a.replica, a.task) != (b.job, b.replica, b.task)
    else:
        assert soft.matches(
            FullName(a.job or b.job, soft.replica, soft.task, soft.type, soft.index)
        )
        assert soft.type in (None, a.type, b.type)
        assert soft.index in (None, a.index, b.index)


@given(full_names(), full_names())
def test_strict_names_are_read_alike_by_both_parsers(a, b):
    """Where both parsers take a text, they agree on what it means."""
    text = str(a) + str(b)
    strict = parse_full_name(text)
    try:
        lenient = DeviceSpecV2.from_string(text).to_string()
    except ValueError:
        return  # two device parts: the strict parser lets the later win
    if a.type is None or b.type is None:
        assert str(strict) == lenient
