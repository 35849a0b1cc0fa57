"""Operations that wait or object."""

from __future__ import annotations

import numpy as np
import pytest

from berth.errors import InvalidArgumentError
from berth.ops.flow.control import summary
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import make, run_all


def test_a_group_waits_for_its_inputs():
    group, graph = make("tf.group(P(2), [P(2), P()])")
    assert group.control_inputs == tuple(graph.ops[:3])
    assert group.outputs == []


def test_a_group_gathers_each_devices_inputs_there():
    group, graph = make("group_on_devices()")
    assert [op.device for op in graph.ops] == [
        "/device:CPU:0",
        "/device:GPU:0",
        "/device:CPU:0",
        "/device:GPU:0",
        "",
    ]
    assert group.control_inputs == tuple(graph.ops[2:4])


def test_an_assertion_that_holds_says_nothing():
    assert run_all("Assert", True, np.array([b"no"], object), summarize=3) == []


def test_an_assertion_that_fails_shows_its_data():
    data = [
        np.array(b"msg", object),
        np.array([1.5, 2, 3, 4], np.float32),
        np.array(3),
        np.array(True),
        np.array([[1, 2], [3, 4]]),
        np.array([b"x", b"y"], object),
    ]
    with pytest.raises(InvalidArgumentError) as caught:
        run_all("Assert", False, *data, summarize=3)
    assert (
        str(caught.value)
        == "assertion failed: [msg] [1.5 2 3...] [3] [1] [[1 2][3...]...] [x y]"
    )


BLOCK = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("array", "n_shown", "expected"),
    [
        (BLOCK, 5, "[[0 1 2 3][4...]]..."),
        (BLOCK, 4, "[[0 1 2 3]]..."),
        (BLOCK, 12, "[[0 1 2 3][4 5 6 7][8 9 10 11]]..."),
        (
            BLOCK,
            -1,
            "[[0 1 2 3][4 5 6 7][8 9 10 11]][[12 13 14 15][16 17 18 19][20 21 22 23]]",
        ),
        (np.zeros((2, 0)), 3, ""),
        (np.arange(6).reshape(3, 2), 2, "[0 1]..."),
        (np.arange(6).reshape(3, 2), 1, "[0...]..."),
        (np.arange(3), 0, "..."),
        (np.float32(1 / 3), 3, "0.333333343"),
        (np.float64(1 / 3), 3, "0.33333333333333331"),
        (np.float16(1 / 3), 3, "0.333251953"),
        (np.float32(0.1), 3, "0.1"),
        (np.float32(1e10), 3, "1e+10"),
        (np.float64(1e10), 3, "10000000000"),
        (np.float32(123456.789), 3, "123456.789"),
        (np.float32(np.nan), 3, "nan"),
    ],
)
def test_arrays_are_summed_up_as_in_tensorflow(array, n_shown, expected):
    assert summary(np.asarray(array), n_shown) == expected


def test_assertions_run_on_the_cpu():
    assert CATALOGUE["Assert"].device_types(None) == {"CPU"}
    assert CATALOGUE["NoOp"].device_types(None) == {"CPU", "GPU"}


def test_assertions_take_data_of_any_types():
    op, graph = make("tf.Assert(B(), ['text', P(2), 3])")
    assert [tensor.dtype.name for tensor in op.inputs] == ["bool", "string", "float32", "int32"]
    assert op.name == "Assert/Assert"
    assert len(graph.ops) == 5
