"""Blocks end with their `with` statement: also if Ctrl-C arrives at any moment of them."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

import berth
import berth as tf
from berth.blocks import FunctionBlock, Stack, Use
from berth.compat import v1
from berth.front.context import Context, context
from berth.graph.expect import current_expectation
from berth.graph.graph import Graph
from berth.graph.recording import active_tapes, stop_recording
from berth.ops import builder
from berth.run.resources import no_collection
from berth.run.threads import my_threads, share_cores
from berth.summary.writer import state
from berth.variables.store import get_store
from tests.memory.interrupts import Interrupter

BERTH = Path(berth.__file__).parent


def interrupted_everywhere(operation):
    """Run an operation with an interrupt at each of its moments."""
    interrupter, n, is_reached = Interrupter(BERTH), 0, True
    while is_reached:
        n += 1
        is_reached, _ = interrupter.run(operation, n)
        yield


# --- the stack --------------------------------------------------------------------------


def test_innermost_block_counts():
    stack = Stack()
    with FunctionBlock(lambda use: use.set(stack, 1)):
        with FunctionBlock(lambda use: use.set(stack, 2)):
            assert stack.innermost == 2
        assert stack.innermost == 1
    assert not stack


def test_interrupt_leaves_no_entry():
    """A traceback that is kept, as interactive shells do, holds nothing open."""
    stack, kept = Stack(), []

    def operation():
        try:
            with FunctionBlock(lambda use: use.set(stack, 1)):
                pass
        except KeyboardInterrupt as error:
            kept.append(error)
            raise

    for _ in interrupted_everywhere(operation):
        assert not stack
    assert len(kept) > 10


def test_calls_at_the_end_are_made_in_any_case():
    state = {"value": "before"}

    def begin(use):
        use.at_end(state.__setitem__, [("value", "before")])
        state["value"] = "inside"

    def operation():
        with FunctionBlock(begin):
            assert state["value"] == "inside"

    for _ in interrupted_everywhere(operation):
        assert state["value"] == "before"
    by_hand = FunctionBlock(begin)
    by_hand.__enter__()
    assert state["value"] == "inside"
    by_hand.__exit__()
    assert state["value"] == "before"


def test_blocks_by_hand():
    """`__enter__` and `__exit__` may be called, with or without arguments, and in a stack."""
    stack = Stack()
    block = FunctionBlock(lambda use: use.set(stack, 1))
    block.__enter__()
    with block:
        assert len(stack) == 2
    assert len(stack) == 1
    assert hasattr(block, "__exit__")  # looked up, and not called
    block.__enter__()
    block.__exit__(None, None, None)
    block.__exit__()
    assert not stack
    with pytest.raises(RuntimeError, match="not open"):
        block.__exit__()
    with ExitStack() as blocks:
        blocks.enter_context(block)
        assert len(stack) == 1
    assert not stack


def test_one_block_in_several_threads():
    stacks = threading.local()
    both_inside = threading.Barrier(2, timeout=20)
    left: list[bool] = []

    def begin(use):
        stacks.mine = Stack()
        use.set(stacks.mine, 1)

    block = FunctionBlock(begin)

    def enter():
        with block:
            both_inside.wait()
            assert len(stacks.mine) == 1
        left.append(not stacks.mine)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left == [True, True]


def test_block_as_decorator():
    stack = Stack()

    @FunctionBlock(lambda use: use.set(stack, 1))
    def inside():
        return len(stack)

    assert [inside(), inside(), len(stack)] == [1, 1, 0]


def test_order_counts_where_an_error_is_given():
    stack = Stack(lambda value: RuntimeError(f"{value} in order"))
    outer, inner = Use(), Use()
    outer.set(stack, "outer")
    inner.set(stack, "inner")
    with pytest.raises(RuntimeError, match="outer in order"):
        outer.end()
    inner.end()
    outer.end()
    assert not stack
    outer, inner = Use(), Use()
    outer.set(stack, "outer")
    inner.set(stack, "inner")
    outer.drop()
    assert list(stack.values()) == ["inner"]


def test_exceptions_pass_and_blocks_hold_nothing():
    stack, value = Stack(), []
    with pytest.raises(ZeroDivisionError), FunctionBlock(lambda use: use.set(stack, value)):
        raise ZeroDivisionError
    assert sys.getrefcount(value) == 2
    gc.collect()
    assert not [o for o in gc.get_objects() if isinstance(o, Use) and value in o._stacks]


# --- the blocks of programs -----------------------------------------------------------------


def state_of(graph):
    """What the blocks of this thread set."""
    return [
        builder.entered(),
        active_tapes(),
        current_expectation(),
        v1.get_default_session(),
        context(),
        context().eager_scope.device_name,
        graph.names.scope,
        graph.devices.wanted(),
        dict(graph.scopes.waits),
        graph.scopes.colocated,
        get_store(graph).scope.name,
        my_threads(9),
        gc.isenabled(),
        (state.writer, state.step, state.condition),
    ]


GRAPH_BLOCKS = {
    "default graph": lambda graph, op: Graph().as_default(),
    "name scope": lambda graph, op: v1.name_scope("a"),
    "name scope of TensorFlow 2": lambda graph, op: tf.name_scope("a"),
    "device": lambda graph, op: v1.device("/gpu:0"),
    "colocation": lambda graph, op: v1.colocate_with(op),
    "control dependencies": lambda graph, op: v1.control_dependencies([op]),
    "variable scope": lambda graph, op: v1.variable_scope("a"),
    "variable scope without name": lambda graph, op: v1.variable_scope(None, "a", [op]),
    "default session": lambda graph, op: v1.Session(graph=graph).as_default(),
    "session": lambda graph, op: v1.Session(graph=graph),
    "expectation": lambda graph, op: tf.expect_device("GPU"),
    "program": lambda graph, op: Context({}).as_default(),
    "cores": lambda graph, op: share_cores(1),
    "no collection": lambda graph, op: no_collection(),
}


@pytest.mark.parametrize("make", GRAPH_BLOCKS.values(), ids=GRAPH_BLOCKS)
def test_interrupted_block_of_graph_is_closed(make):
    interrupter, n, is_reached = Interrupter(BERTH), 0, True
    while is_reached:
        n += 1
        graph = Graph()
        with graph.as_default():
            op = v1.constant(1.0)
            before = state_of(graph)
            with make(graph, op):
                assert state_of(graph) != before
            block = make(graph, op)
            is_reached, _ = interrupter.run(lambda block=block: _enter(block), n)
            assert state_of(graph) == before
        if isinstance(block, v1.Session):
            block.close()


def _enter(block):
    with block:
        pass


EAGER_BLOCKS = {
    "tape": tf.GradientTape,
    "device": lambda: tf.device("/cpu:0"),
    "no recording": stop_recording,
    "init scope": tf.init_scope,
    "summary writer": lambda: tf.summary.create_noop_writer().as_default(step=1),
    "condition of summaries": lambda: tf.summary.record_if(False),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("make", EAGER_BLOCKS.values(), ids=EAGER_BLOCKS)
def test_interrupted_eager_block_is_closed(make):
    graph = Graph()
    with tf.GradientTape():
        before = state_of(graph)

        def operation():
            with make():
                pass

        operation()
        for _ in interrupted_everywhere(operation):
            assert state_of(graph) == before


@pytest.mark.usefixtures("eager")
def test_interrupted_trace_of_a_function_leaves_nothing():
    """No graph stays entered, and the next call traces it whole."""
    graph, made = Graph(), []

    def double(x):
        with tf.name_scope("inside"), tf.device("/cpu:0"):
            if not made:
                made.append(tf.Variable(2.0))
            return x * made[0]

    tf.function(double)(tf.constant(3.0))  # AutoGraph keeps what it converts
    before = state_of(graph)
    interrupter, n, is_reached = Interrupter(BERTH), 1, True
    while is_reached:
        function = tf.function(double)
        made.clear()
        is_reached, _ = interrupter.run(lambda f=function: f(tf.constant(3.0)), n)
        assert state_of(graph) == before
        n += 499  # there are many
    made.clear()
    assert tf.function(double)(tf.constant(3.0)).numpy() == 6.0


def test_interrupted_operation_is_whole_or_not_there():
    """A graph is the same in all its lists, wherever the making of a node was interrupted."""
    interrupter, n, is_reached = Interrupter(BERTH / "graph"), 0, True
    while is_reached:
        n += 3
        graph = Graph()
        with graph.as_default():
            a = v1.constant(1.0, name="a")
            is_reached, _ = interrupter.run(lambda a=a: v1.add(a, 2.0, name="sum"), n)
        assert list(graph.by_name) == [op.name for op in graph.ops]
        consumers = [op for op in graph.ops for tensor in op.inputs if tensor is a]
        assert a.consumers() == consumers
        assert [op.number for op in graph.ops] == list(range(len(graph.ops)))
        for op in graph.ops:
            assert all(tensor.op in graph.ops for tensor in op.inputs)
