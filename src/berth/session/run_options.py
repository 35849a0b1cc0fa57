"""RunOptions and RunMetadata: the options of one run, and what was recorded of it.

`session.run` reads a RunOptions and fills a RunMetadata in place. What a traced run
records is a tree: the devices of the step, the nodes each of them ran, and for every node its
times, its memory and its outputs. The names are TensorFlow's.

A node's times count from its ``all_start_micros``, which is since the epoch: the op ran
from ``op_start_rel_micros`` to ``op_end_rel_micros``, and all was done at
``all_end_rel_micros``. The ``nanos`` are the same instants, finer.

TensorFlow's text forms stand for what would need types of their own: a dtype is
``DT_FLOAT``, a shape ``[2,3]``.
"""

from __future__ import annotations

from berth.front.proto import (
    Message,
    bool_field,
    int_field,
    long_field,
    message_field,
    object_field,
    repeated_field,
    str_field,
)
from berth.graph.node_text import GraphDef
from berth.public import public_v1


@public_v1("RunOptions")
class RunOptions(Message):
    """Options of one `Session.run`.

    >>> RunOptions(trace_level=RunOptions.FULL_TRACE, timeout_in_ms=500)
    trace_level: 3
    timeout_in_ms: 500
    <BLANKLINE>
    """

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3

    trace_level = int_field()
    timeout_in_ms = long_field()
    inter_op_thread_pool = int_field()
    output_partition_graphs = bool_field()
    report_tensor_allocations_upon_oom = bool_field()


class AllocationDescription(Message):
    """The memory under a tensor: what was asked for, and what was given."""

    requested_bytes = long_field()
    allocated_bytes = long_field()
    allocator_name = str_field()
    allocation_id = long_field()
    has_single_reference = bool_field()
    ptr = long_field()


class TensorDescription(Message):
    dtype = str_field()
    shape = str_field()
    allocation_description = message_field(AllocationDescription)


class NodeOutput(Message):
    slot = int_field()
    tensor_description = message_field(TensorDescription)


class AllocatorMemoryUsed(Message):
    """What one node took from one allocator while it ran."""

    allocator_name = str_field()
    total_bytes = long_field()
    peak_bytes = long_field()
    live_bytes = long_field()
    allocator_bytes_in_use = long_field()


class NodeExecStats(Message):
    """One node, run once on one device."""

    node_name = str_field()
    all_start_micros = long_field()
    op_start_rel_micros = long_field()
    op_end_rel_micros = long_field()
    all_end_rel_micros = long_field()
    memory = repeated_field(AllocatorMemoryUsed)
    output = repeated_field(NodeOutput)
    timeline_label = str_field()
    scheduled_micros = long_field()
    thread_id = long_field()
    all_start_nanos = long_field()
    op_start_rel_nanos = long_field()
    op_end_rel_nanos = long_field()
    all_end_rel_nanos = long_field()
    scheduled_nanos = long_field()


class DeviceStepStats(Message):
    device = str_field()
    node_stats = repeated_field(NodeExecStats)


class StepStats(Message):
    """What every device did in one run.

    >>> stats = StepStats()
    >>> cpu = stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    >>> _ = cpu.node_stats.add(node_name="a", all_start_micros=100, all_end_rel_micros=7)
    >>> stats
    dev_stats {
      device: "/job:localhost/replica:0/task:0/device:CPU:0"
      node_stats {
        node_name: "a"
        all_start_micros: 100
        all_end_rel_micros: 7
      }
    }
    <BLANKLINE>
    """

    dev_stats = repeated_field(DeviceStepStats)


@public_v1("RunMetadata")
class RunMetadata(Message):
    """Metadata of one run. A run that is not traced leaves `step_stats` empty."""

    step_stats = message_field(StepStats)
    partition_graphs = repeated_field(object_field(GraphDef))

    def Clear(self) -> None:
        """Remove all recorded data."""
        self.CopyFrom(RunMetadata())
