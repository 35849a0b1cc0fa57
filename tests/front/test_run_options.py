"""RunOptions and RunMetadata behave like the protocol buffers they stand for (§8.5)."""

from __future__ import annotations

import pytest

from berth.proto.config import RunOptions
from berth.proto.framework import GraphDef
from berth.session.run_metadata import NodeExecStats, RunMetadata, StepStats

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def test_trace_levels_are_tensorflow_s():
    levels = [
        RunOptions.NO_TRACE,
        RunOptions.SOFTWARE_TRACE,
        RunOptions.HARDWARE_TRACE,
        RunOptions.FULL_TRACE,
    ]
    assert levels == [0, 1, 2, 3]
    assert RunOptions().FULL_TRACE == 3


def test_options_default_to_nothing():
    options = RunOptions()

    assert options.trace_level == RunOptions.NO_TRACE
    assert options.timeout_in_ms == 0
    assert options.inter_op_thread_pool == 0
    assert options.output_partition_graphs is False
    assert options.report_tensor_allocations_upon_oom is False
    assert repr(options) == ""


def test_options_take_keywords_and_attributes():
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, timeout_in_ms=2**40)
    options.inter_op_thread_pool = -1
    options.output_partition_graphs = True
    options.report_tensor_allocations_upon_oom = True

    assert repr(options) == (
        "trace_level: FULL_TRACE\ntimeout_in_ms: 1099511627776\ninter_op_thread_pool: -1\n"
        "output_partition_graphs: true\nreport_tensor_allocations_upon_oom: true\n"
    )


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (
            {"trace_level": 1.5},
            TypeError,
            "'float' object cannot be interpreted as an integer",
        ),
        (
            {"inter_op_thread_pool": 2**31},
            ValueError,
            "Value out of range: 2147483648",
        ),
        (
            {"timeout": 5},
            ValueError,
            "Protocol message RunOptions has no \"timeout\" field.\n  Did you mean 'timeout_in_ms'?",
        ),
    ],
)
def test_misuse_is_refused(values, error, message):
    with pytest.raises(error) as refusal:
        RunOptions(**values)
    assert str(refusal.value) == message


def test_trace_levels_cannot_be_assigned():
    with pytest.raises(AttributeError, match='has no "FULL_TRACE" field'):
        RunOptions().FULL_TRACE = 4


def fill(stats):
    """Record one node, with every field, as an executor does."""
    node = stats.dev_stats.add(device=CPU).node_stats.add(node_name="add", thread_id=3)
    node.timeline_label = "add = AddV2(x, y)"
    node.scheduled_micros, node.scheduled_nanos = (
        1_700_000_000_000_000,
        1_700_000_000_000_000_001,
    )
    node.all_start_micros, node.all_start_nanos = (
        1_700_000_000_000_005,
        1_700_000_000_000_005_002,
    )
    node.op_start_rel_micros, node.op_start_rel_nanos = 1, 1003
    node.op_end_rel_micros, node.op_end_rel_nanos = 7, 7004
    node.all_end_rel_micros, node.all_end_rel_nanos = 9, 9005
    node.memory.add(
        allocator_name="cpu",
        total_bytes=64,
        peak_bytes=32,
        live_bytes=16,
        allocator_bytes_in_use=128,
    )
    tensor = node.output.add(slot=1).tensor_description
    tensor.dtype = "DT_FLOAT"
    tensor.shape.dim.add(size=2)
    tensor.shape.dim.add(size=2)
    tensor.allocation_description.requested_bytes = 16
    tensor.allocation_description.allocated_bytes = 256
    tensor.allocation_description.allocator_name = "cpu"
    tensor.allocation_description.allocation_id = 5
    tensor.allocation_description.has_single_reference = True
    tensor.allocation_description.ptr = 2**63 + 64
    return node


def test_text_form_has_tensorflow_s_order():
    stats = StepStats()
    node = fill(stats)

    assert repr(node) == (
        'node_name: "add"\n'
        "all_start_micros: 1700000000000005\n"
        "op_start_rel_micros: 1\nop_end_rel_micros: 7\nall_end_rel_micros: 9\n"
        'memory {\n  allocator_name: "cpu"\n  total_bytes: 64\n  peak_bytes: 32\n'
        "  live_bytes: 16\n  allocator_bytes_in_use: 128\n}\n"
        "output {\n  slot: 1\n  tensor_description {\n"
        "    dtype: DT_FLOAT\n    shape {\n      dim {\n        size: 2\n      }\n"
        "      dim {\n        size: 2\n      }\n    }\n"
        "    allocation_description {\n      requested_bytes: 16\n      allocated_bytes: 256\n"
        '      allocator_name: "cpu"\n      allocation_id: 5\n'
        "      has_single_reference: true\n      ptr: 9223372036854775872\n"
        "    }\n  }\n}\n"
        'timeline_label: "add = AddV2(x, y)"\n'
        "scheduled_micros: 1700000000000000\nthread_id: 3\n"
        "all_start_nanos: 1700000000000005002\n"
        "op_start_rel_nanos: 1003\nop_end_rel_nanos: 7004\nall_end_rel_nanos: 9005\n"
        "scheduled_nanos: 1700000000000000001\n"
    )


def test_metadata_is_filled_in_place():
    metadata = RunMetadata()
    stats = metadata.step_stats

    node = fill(metadata.step_stats)
    metadata.partition_graphs.append(GraphDef())

    assert stats is metadata.step_stats
    assert metadata.step_stats.dev_stats[0].device == CPU
    assert metadata.step_stats.dev_stats[0].node_stats[0] is node
    assert list(metadata.partition_graphs) == [GraphDef()]


def test_metadata_takes_whole_step_stats():
    stats = StepStats()
    fill(stats)
    metadata = RunMetadata()
    metadata.step_stats.CopyFrom(stats)

    assert metadata == RunMetadata(step_stats=stats)
    with pytest.raises(AttributeError, match="Assignment not allowed to message field"):
        metadata.step_stats = stats


def test_cleared_metadata_is_like_new():
    metadata = RunMetadata(partition_graphs=[GraphDef()])
    fill(metadata.step_stats)
    metadata.Clear()

    assert metadata == RunMetadata()
    assert repr(metadata) == ""
    fill(metadata.step_stats)
    assert len(metadata.step_stats.dev_stats) == 1


def test_clearing_leaves_what_was_taken_out():
    metadata = RunMetadata()
    fill(metadata.step_stats)
    taken = metadata.step_stats
    metadata.Clear()

    assert len(taken.dev_stats) == 1


def test_metadata_share_nothing():
    one, other = RunMetadata(), RunMetadata()
    fill(one.step_stats)

    assert len(other.step_stats.dev_stats) == 0
    assert NodeExecStats().memory == []
