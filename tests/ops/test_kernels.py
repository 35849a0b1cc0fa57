"""What kernels promise the executor: to fill their outputs, and to allocate next to nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from berth.ops.opdef import CATALOGUE, Access
from tests.ops.calls import bind_seen
from tests.ops.cases import EVERY, LARGE
from tests.ops.formulas import FORMULAS, dtypes_of, operands
from tests.ops.samples import Held, Slot
from tests.ops.test_shape_rules import known

LEAST = 2**18
"""How many bytes count."""


def is_computed(case):
    """Tell whether it is a kernel that gives the values, and not others."""
    op = CATALOGUE[case[0]]
    is_there = op.is_alias or op.is_source or op.access is Access.READ
    return not (is_there or op.is_call or op.name.startswith("PyFunc"))


def is_repeatable(case):
    """Tell whether the same inputs give the same again: no state, nothing random."""
    op = CATALOGUE[case[0]]
    return not op.is_stateful or op.access is Access.QUERY


COMPUTED = [case for case in EVERY if is_computed(case)]
REPEATABLE = [case for case in COMPUTED if is_repeatable(case)]
BOUND = [case for case in COMPUTED if is_repeatable(case) or CATALOGUE[case[0]].access]


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case[0])


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


def arrays_of(inputs):
    return [given.array if isinstance(given, Held) else given for given in inputs]


def prepare(case, arrays):
    """Bind a case to arrays like its own; return what makes the call, and the outputs."""
    name, inputs, attrs = case
    seen = [known(given) for given in inputs]
    call, outputs = bind_seen(CATALOGUE[name], seen, arrays, attrs, Slot())
    function, arguments = call or (lambda: None, ())
    return lambda: function(*arguments), outputs


def is_written(op, position):
    return position < op.n_variables and op.access in (Access.ASSIGN, Access.UPDATE)


def assert_equal(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@by_name(REPEATABLE)
def test_running_twice_gives_the_same(case):
    run, outputs = prepare(case, arrays_of(case[1]))
    results = []
    for before in (1, 0):  # what was there does not matter
        for output in outputs:
            output.reshape(-1)[:] = np.array(before, output.dtype)
        run()
        results.append([output.copy() for output in outputs])
    assert_equal(*results)


@by_name(COMPUTED)
def test_inputs_are_left_as_they_are(case):
    op, arrays = CATALOGUE[case[0]], arrays_of(case[1])
    copies = [array.copy() for array in arrays]
    run, _ = prepare(case, copies)
    run()
    for position, (array, copy) in enumerate(zip(arrays, copies, strict=True)):
        if not is_written(op, position):
            np.testing.assert_array_equal(array, copy)


@by_name(BOUND)
def test_calls_see_what_inputs_hold_then(case):
    """A call is bound once, and made when its inputs have other values."""
    op, arrays = CATALOGUE[case[0]], arrays_of(case[1])
    hosts = op.host_positions(len(arrays))
    later = [
        array
        if position in hosts or array.dtype.kind not in "fc"
        else np.asarray(array * array.dtype.type(0.75))
        for position, array in enumerate(arrays)
    ]
    then, room = [array.copy() for array in later], [array.copy() for array in arrays]
    run, expected = prepare(case, then)
    run()
    run, outputs = prepare(case, room)
    for array, value in zip(room, later, strict=True):
        array[...] = value
    run()
    if op.access in (Access.ASSIGN, Access.UPDATE):
        np.testing.assert_array_equal(room[0], then[0])
    else:
        assert_equal(outputs, expected)


def peak_of(name, inputs, attrs):
    arrays = arrays_of(inputs)
    run, outputs = prepare((name, inputs, attrs), arrays)
    assert max(array.nbytes for array in (*arrays, *outputs)) >= LEAST
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@by_name(LARGE)
def test_running_allocates_next_to_nothing(case):
    name, inputs, attrs = case
    assert peak_of(name, inputs, attrs) < LEAST


@pytest.mark.parametrize("end", [0, -1], ids=["short", "long"])
@pytest.mark.parametrize("name", FORMULAS)
def test_functions_allocate_next_to_nothing(name, end):
    dtype = dtypes_of(name)[end]
    inputs = operands(name, dtype, (LEAST // dtype.itemsize,))
    assert peak_of(name, inputs, FORMULAS[name].attrs) < LEAST
