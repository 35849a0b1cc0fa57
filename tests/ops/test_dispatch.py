"""The steps of a dispatch: infer, allocate, bind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from berth.dtypes import float32, int32
from berth.ops.dispatch import bind, known_types, prepare, scratch_types
from berth.ops.evaluate import HostValue
from berth.ops.opdef import Kernel, Launch, OpDef, Parts, in_order
from berth.ops.rules import check_again


class Log(list[Any]):
    """A target that writes down what it is asked for."""

    xp = np
    n_threads = 3

    def empty(self, dtype, dims):
        self.append(("empty", dtype, dims))
        return np.zeros(dims, dtype.np_dtype)

    def join(self, parts):
        self.append(("join", len(parts.calls)))
        return in_order(parts)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    """Let definitions of a test be forgotten with it."""
    monkeypatch.setattr("berth.ops.opdef.CATALOGUE", {})


def like_input(inputs, attrs):
    return ((inputs[0].dtype, inputs[0].dims),)


def negative(launch: Launch):
    return np.negative, (launch.inputs[0], launch.outputs[0])


X = np.float32([1, 2])
SEEN = HostValue(float32, (2,), X)


def prepared(target, kernel, attrs=None, *, infer=like_input, state=None, **options):
    op = OpDef("Test", "x:T", infer, types={"T": (float32,)}, kernels=[kernel], **options)
    types = known_types(op, [SEEN], attrs or {})
    return prepare(op, kernel, target, [X], attrs or {}, types, [SEEN], state)


def test_outputs_are_filled_by_the_call():
    outputs, call = prepared(Log(), Kernel("CPU", negative))
    assert outputs[0].tolist() == [0, 0]  # nothing is computed before the call
    function, arguments = call
    function(*arguments)
    assert outputs[0].tolist() == [-1, -2]


def test_outputs_come_before_scratch():
    target = Log()

    def scratch(inputs, outputs, attrs, n_threads):
        assert inputs == [SEEN]
        assert list(outputs) == [(float32, (2,))]
        return [(int32, (n_threads, attrs["n"]))]

    prepared(target, Kernel("CPU", negative, scratch=scratch), {"n": 5})
    assert target == [("empty", float32, (2,)), ("empty", int32, (3, 5))]


def test_kernels_see_everything():
    seen = []
    attrs, state = {"n": 5}, object()
    outputs, call = prepared(Log(), Kernel("CPU", seen.append), attrs, state=state)
    [launch] = seen
    assert launch.xp is np
    assert launch.inputs[0] is X
    assert launch.outputs is outputs
    assert launch.attrs is attrs
    assert launch.state is state
    assert launch.n_threads == 3
    assert launch.is_checked
    assert call is None  # what the kernel returned: nothing to do


def test_parts_are_joined_by_the_target():
    target, made = Log(), []

    def divide(launch):
        calls = [(made.append, (k,)) for k in range(launch.n_threads)]
        return Parts(calls, then=[(made.append, ("then",))], first=[(made.append, ("first",))])

    _, (function, arguments) = prepared(target, Kernel("CPU", divide))
    assert target[-1] == ("join", 3)
    function(*arguments)
    assert made == ["first", 0, 1, 2, "then"]


def test_aliases_allocate_and_bind_nothing():
    target = Log()
    kernel = Kernel("CPU", lambda launch: pytest.fail("bound"))
    outputs, call = prepared(
        target, kernel, infer=lambda inputs, attrs: ((float32, (2, 1)),), is_alias=True
    )
    assert call is None
    assert target == []
    assert outputs[0].shape == (2, 1)
    assert np.shares_memory(outputs[0], X)


@pytest.mark.parametrize("dims", [None, (None,), (2, None)])
def test_every_size_has_to_be_known(dims):
    with pytest.raises(ValueError, match="every size must be known"):
        prepared(Log(), Kernel("CPU", negative), infer=lambda inputs, attrs: ((float32, dims),))


def test_failures_of_binding_are_raised():
    def refuse(launch):
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        prepared(Log(), Kernel("CPU", refuse))


def test_kernels_without_a_rule_need_no_scratch():
    assert scratch_types(Kernel("CPU", negative), [SEEN], [(float32, (2,))], {}, 8) == ()


def test_calls_are_bound_as_they_are():
    launch = Launch(np, [X], [X], {})
    assert bind(Kernel("CPU", negative), launch, in_order) == (np.negative, (X, X))


@pytest.mark.parametrize(("is_checked", "n_applied"), [(True, 0), (False, 1)])
def test_kernels_check_values_that_no_rule_has_seen(is_checked, n_applied):
    applied = []
    launch = Launch(np, [X], [X], {}, is_checked=is_checked)
    check_again(lambda inputs, attrs: applied.append(inputs), launch)
    assert len(applied) == n_applied
