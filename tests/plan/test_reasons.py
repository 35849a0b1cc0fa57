"""Why operations are where they are, in words; and what is said of broken expectations."""

from __future__ import annotations

from textwrap import dedent

import pytest

from berth.devices.full_name import FullName
from berth.errors import InvalidArgumentError
from berth.graph.expect import Expectation
from berth.plan.placement_errors import check_expectations
from berth.plan.placer import place
from berth.plan.reasons import Cause
from tests.plan.nodes import colocate, machine, program

SERVER = machine(1, 2)


def why(text, name, devices=SERVER, **options):
    graph = program(text)
    return place(graph.ops, devices, **options).why(graph.by_name[name])


# A program, the operation asked about, options, and the answer.
CHAINS = {
    "default": (
        "matmul(constant([[1.0]]), constant([[1.0]]))",
        "MatMul",
        {},
        """
        MatMul (MatMul) at train.py:1 runs on GPU:0
          asked for: nothing
          because: GPU:0 is the first of the devices that can run MatMul (GPU before CPU, lowest number first)
        """,
    ),
    "one sort of device": (
        "negative(placeholder('float32'), name='n')",
        "n",
        {"devices": machine(2)},
        """
        n (Neg) at train.py:1 runs on CPU:0
          asked for: nothing
          because: CPU:0 is the first of the devices that can run Neg (lowest number first)
        """,
    ),
    "one device": (
        "negative(placeholder('float32'), name='n')",
        "n",
        {"devices": machine(1)},
        """
        n (Neg) at train.py:1 runs on CPU:0
          asked for: nothing
          because: CPU:0 is the only device that can run Neg
        """,
    ),
    "no kernel": (
        "apply(HOST_ONLY, (placeholder('float32'),), {}, 'h')",
        "h",
        {},
        """
        h (AsText) at train.py:1 runs on CPU:0
          asked for: nothing
          because: AsText has no kernel for GPU (only for CPU)
        """,
    ),
    "no kernel, several CPUs": (
        "apply(HOST_ONLY, (placeholder('float32'),), {}, 'h')",
        "h",
        {"devices": machine(2, 1)},
        """
        h (AsText) at train.py:1 runs on CPU:0
          asked for: nothing
          because: AsText has no kernel for GPU (only for CPU), and CPU:0 is the first CPU
        """,
    ),
    "granted": (
        "graph.device('/gpu:1').__enter__()\nconstant(1.0, name='c')",
        "c",
        {},
        """
        c (Const) at train.py:2 runs on GPU:1
          asked for: GPU:1, by tf.device('/gpu:1') at train.py:1
          because: that is the device it asked for
        """,
    ),
    "granted, with a choice": (
        "graph.device('/device:GPU:*').__enter__()\nconstant(1.0, name='c')",
        "c",
        {},
        """
        c (Const) at train.py:2 runs on GPU:0
          asked for: GPU, by tf.device('/device:GPU:*') at train.py:1
          because: GPU:0 is the first of the devices it asked for that can run Const
        """,
    ),
    "scopes in scopes": (
        "graph.device('/job:localhost').__enter__()\ngraph.device(None).__enter__()\ngraph.device('/task:0').__enter__()\ngraph.device('/gpu:1').__enter__()\nconstant(1.0, name='c')",
        "c",
        {},
        """
        c (Const) at train.py:5 runs on GPU:1
          asked for: /task:0/device:GPU:1, by tf.device('/gpu:1') at train.py:4 in tf.device('/task:0') at train.py:3
          because: that is the device it asked for
        """,
    ),
    "device function": (
        "def choose(op): return '/gpu:1'\ngraph.device(choose).__enter__()\nconstant(1.0, name='c')",
        "c",
        {},
        """
        c (Const) at train.py:3 runs on GPU:1
          asked for: GPU:1, by tf.device(choose</home/me/train.py, 1>) at train.py:2
          because: that is the device it asked for
        """,
    ),
    "soft, no kernel": (
        "p = placeholder('float32')\ngraph.device('/gpu:1').__enter__()\napply(HOST_ONLY, (p,), {}, 'tower/AsText')",
        "tower/AsText",
        {"soft": True},
        """
        tower/AsText (AsText) at train.py:3 runs on CPU:0
          asked for: GPU:1, by tf.device('/gpu:1') at train.py:2
          but: AsText has no kernel for GPU (only for CPU)
          so: soft placement chose CPU:0
        """,
    ),
    "soft, no device": (
        "graph.device('/gpu:42').__enter__()\nconstant(1.0, name='c')",
        "c",
        {"soft": True},
        """
        c (Const) at train.py:2 runs on GPU:0
          asked for: GPU:42, by tf.device('/gpu:42') at train.py:1
          but: there is no GPU:42, only CPU:0, GPU:0 and GPU:1
          so: soft placement chose GPU:0
        """,
    ),
    "metadata": (
        "scope = graph.device('/gpu:1'); scope.__enter__()\nx = negative(placeholder('float32'), name='x')\nscope.__exit__()\n"
        "apply(SHAPE, (x,), {}, 'sh')",
        "sh",
        {},
        """
        sh (TestShape) at train.py:4 runs on GPU:1
          asked for: nothing
          because: it needs only the shape of x (Neg) at train.py:2, and so runs where that does
          x asked for: GPU:1, by tf.device('/gpu:1') at train.py:1
        """,
    ),
    "identity": (
        "scope = graph.device('/gpu:1'); scope.__enter__()\nv = apply(HANDLE, (), SCALAR, 'v')\nscope.__exit__()\n"
        "r = apply(READ, (v,), {}, 'r')\nidentity(r, name='i')",
        "i",
        {},
        """
        i (Identity) at train.py:5 runs on GPU:1
          asked for: nothing
          because: it only passes on r (ReadVariableOp) at train.py:4, and so runs where that does
          r asked for: nothing
          because: it uses the variable v (VarHandleOp) at train.py:2, and must run where that is
          v asked for: GPU:1, by tf.device('/gpu:1') at train.py:1
        """,
    ),
    "consumers": (
        "c = constant(1.0, name='c')\nscope = graph.device('/gpu:1'); scope.__enter__()\nnegative(c, name='n')\nnegative(c, name='m')",
        "c",
        {},
        """
        c (Const) at train.py:1 runs on GPU:1
          asked for: nothing
          because: all that use it run there, like n (Neg) at train.py:3
          n asked for: GPU:1, by tf.device('/gpu:1') at train.py:2
        """,
    ),
    "variable overrides": (
        "one = graph.device('/gpu:0'); one.__enter__()\nv = apply(HANDLE, (), SCALAR, 'v')\none.__exit__()\ngraph.device('/cpu:0').__enter__()\n"
        "i = apply(PASS_ON, (v,), {}, 'i')\napply(READ, (i,), {}, 'r')",
        "r",
        {},
        """
        r (ReadVariableOp) at train.py:6 runs on GPU:0
          asked for: CPU:0, by tf.device('/cpu:0') at train.py:4
          but: it uses the variable of i (PassOn) at train.py:5, and must run where that is
          i asked for: CPU:0, by tf.device('/cpu:0') at train.py:4
          but: it uses the variable v (VarHandleOp) at train.py:2, and must run where that is
          v asked for: GPU:0, by tf.device('/gpu:0') at train.py:1
        """,
    ),
    "variable without a wish": (
        "v = apply(HANDLE, (), SCALAR, 'v')\napply(READ, (v,), {}, 'r')",
        "r",
        {},
        """
        r (ReadVariableOp) at train.py:2 runs on GPU:0
          asked for: nothing
          because: it uses the variable v (VarHandleOp) at train.py:1, and must run where that is
          v asked for: nothing
          because: GPU:0 is the first of the devices that can run VarHandleOp and what must be with it (GPU before CPU, lowest number first)
        """,
    ),
    "variable read on the CPU": (
        "v = apply(HANDLE, (), SCALAR, 'v')\napply(HOST_READ, (v,), {}, 'r')",
        "v",
        {},
        """
        v (VarHandleOp) at train.py:1 runs on CPU:0
          asked for: nothing
          because: r must share its device, and HostRead has no kernel for GPU (only for CPU)
        """,
    ),
    "variable moved": (
        "scope = graph.device('/gpu:1'); scope.__enter__()\nv = apply(HANDLE, (), SCALAR, 'v')\nscope.__exit__()\napply(HOST_READ, (v,), {}, 'r')",
        "v",
        {"soft": True},
        """
        v (VarHandleOp) at train.py:2 runs on CPU:0
          asked for: GPU:1, by tf.device('/gpu:1') at train.py:1
          but: r (HostRead) at train.py:4 must share its device, and HostRead has no kernel for GPU (only for CPU)
          so: soft placement chose CPU:0
        """,
    ),
    "colocated": (
        "a = negative(placeholder('float32'), name='a')\n"
        "with graph.colocate_with(a): identity(a, name='b')\n",
        "b",
        {},
        """
        b (Identity) at train.py:2 runs on GPU:0
          asked for: nothing
          because: it must share its device with a (Neg) at train.py:1
          a asked for: nothing
          because: GPU:0 is the first of the devices that can run Neg and what must be with it (GPU before CPU, lowest number first)
        """,
    ),
    "colocated, with its wish": (
        "scope = graph.device('/gpu:1'); scope.__enter__()\na = negative(placeholder('float32'), name='a')\nscope.__exit__()\n"
        "with graph.colocate_with(a): identity(a, name='b')\n",
        "b",
        {},
        """
        b (Identity) at train.py:4 runs on GPU:1
          asked for: GPU:1, like a, by tf.device('/gpu:1') at train.py:1
          because: that is the device it asked for
        """,
    ),
}


@pytest.mark.parametrize(("text", "name", "options", "chain"), CHAINS.values(), ids=CHAINS)
def test_chain_of_causes(text, name, options, chain):
    assert why(text, name, **options) == dedent(chain).strip()


def test_requests_of_others_decide_for_a_group():
    graph = program(
        "p = placeholder('float32')\na = negative(p, name='a')\ngraph.device('/gpu:1').__enter__()\nnegative(p, name='b')"
    )
    colocate(graph, "b", "a")
    assert place(graph.ops, SERVER).why(graph.by_name["a"]) == (
        "a (Neg) at train.py:2 runs on GPU:1\n"
        "  asked for: nothing\n"
        "  because: it must share its device with b (Neg) at train.py:4\n"
        "  b asked for: GPU:1, by tf.device('/gpu:1') at train.py:3"
    )


def test_softened_requests_name_each_other():
    graph = program(
        "p = placeholder('float32')\none = graph.device('/gpu:1'); one.__enter__()\nnegative(p, name='a')\none.__exit__()\n"
        "graph.device('/cpu:0').__enter__()\nnegative(p, name='b')"
    )
    colocate(graph, "b", "a")
    placement = place(graph.ops, SERVER, soft=True)
    assert placement.why(graph.by_name["a"]) == (
        "a (Neg) at train.py:3 runs on GPU:0\n"
        "  asked for: GPU:1, by tf.device('/gpu:1') at train.py:2\n"
        "  but: b (Neg) at train.py:6 must share its device, and asked for CPU:0, by tf.device('/cpu:0') at train.py:5\n"
        "  so: soft placement chose GPU:0"
    )


def test_pinned_operations_tell_of_earlier_runs():
    graph = program("v = apply(HANDLE, (), SCALAR, 'v')")
    placement = place(graph.ops, SERVER, pinned={graph.ops[0]: SERVER[0]})
    assert placement.why(graph.ops[0]) == (
        "v (VarHandleOp) at train.py:1 runs on CPU:0\n"
        "  asked for: nothing\n"
        "  because: an earlier run put it there, and what it keeps stays in place"
    )


def test_reasons_are_data_too():
    graph = program(
        "c = constant(1.0, name='c')\ngraph.device('/gpu:7').__enter__()\nnegative(c, name='n')\nnegative(c, name='m')"
    )
    placement = place(graph.ops, SERVER, soft=True)
    assert placement.reason(graph.by_name["n"]) == (Cause.DEFAULT, None, True)
    assert placement.reason(graph.by_name["c"]) == (Cause.DEFAULT, None, False)


def test_long_chains_are_cut():
    text = """
scope = graph.device('/gpu:1'); scope.__enter__()
x = negative(placeholder('float32'), name='x')
scope.__exit__()
for _ in range(30): x = apply(SHAPE, (x,), {}, 'sh')
"""
    assert why(text, "sh_29").count("asked for") == 10


# --- expectations -------------------------------------------------------------------------------


def expected(name, where):
    return Expectation(name, FullName(type=name), where)


def test_expected_devices_pass():
    graph = program("p = placeholder('float32')\nnegative(p, name='n')")
    placement = place(graph.ops, SERVER)
    check_expectations(placement, graph.ops)
    check_expectations(placement, graph.ops, expected("GPU", graph.ops[0].where))


def test_broken_expectations_are_reported_at_once():
    graph = program(
        "p = placeholder('float32', name='p')\n"
        "apply(HOST_ONLY, (p,), {}, 'h')\n"
        "graph.device('/cpu:0').__enter__()\n"
        "apply(HOST_ONLY, (p,), {}, 'asked_by_name')"
    )
    graph.by_name["h"].expected = expected("GPU", graph.ops[0].where)
    placement = place(graph.ops, SERVER)
    with pytest.raises(InvalidArgumentError) as caught:
        check_expectations(placement, graph.ops)
    assert caught.value.op is graph.by_name["h"]
    assert caught.value.message == (
        "An operation is not on the expected device\n"
        "  h (AsText) at train.py:2 runs on CPU:0\n"
        "    asked for: nothing\n"
        "    because: AsText has no kernel for GPU (only for CPU)\n"
        "    but expected on: GPU, by expect_device('GPU') at train.py:1"
    )
    with pytest.raises(
        InvalidArgumentError, match=r"^2 operations are not on the expected device"
    ):
        check_expectations(placement, graph.ops, expected("GPU", graph.ops[1].where))


def test_many_broken_expectations_are_counted():
    graph = program(
        "p = placeholder('float32', name='p')\n"
        "for _ in range(12): apply(HOST_ONLY, (p,), {}, 'h')"
    )
    placement = place(graph.ops, SERVER)
    with pytest.raises(InvalidArgumentError) as caught:
        check_expectations(placement, graph.ops[1:], expected("GPU", graph.ops[1].where))
    message = caught.value.message
    assert message.startswith("12 operations are not on the expected device\n")
    assert message.count("but expected on") == 10
    assert message.endswith("\n  and 2 more")
