"""RunMetadata: what was recorded of one run.

`session.run` fills a RunMetadata in place. What a traced run
records is a tree: the devices of the step, the nodes each of them ran, and for every node its
times, its memory and its outputs. The names are TensorFlow's.

A node's times count from its ``all_start_micros``, which is since the epoch: the op ran
from ``op_start_rel_micros`` to ``op_end_rel_micros``, and all was done at
``all_end_rel_micros``. The ``nanos`` are the same instants, finer.
"""

from __future__ import annotations

from berth.proto.fields import (
    bool_field,
    enum_field,
    int32_field,
    int64_field,
    message_field,
    repeated_field,
    string_field,
    uint32_field,
    uint64_field,
)
from berth.proto.framework import DataType, GraphDef, TensorShapeProto
from berth.proto.message import Message
from berth.public import public_v1


class AllocationDescription(Message):
    """The memory under a tensor: what was asked for, and what was given."""

    requested_bytes = int64_field(1)
    allocated_bytes = int64_field(2)
    allocator_name = string_field(3)
    allocation_id = int64_field(4)
    has_single_reference = bool_field(5)
    ptr = uint64_field(6)


class TensorDescription(Message):
    dtype = enum_field(1, DataType)
    shape = message_field(2, TensorShapeProto)
    allocation_description = message_field(4, AllocationDescription)


class NodeOutput(Message):
    slot = int32_field(1)
    tensor_description = message_field(3, TensorDescription)


class AllocatorMemoryUsed(Message):
    """What one node took from one allocator while it ran."""

    allocator_name = string_field(1)
    total_bytes = int64_field(2)
    peak_bytes = int64_field(3)
    live_bytes = int64_field(4)
    allocator_bytes_in_use = int64_field(5)


class NodeExecStats(Message):
    """One node, run once on one device."""

    node_name = string_field(1)
    all_start_micros = int64_field(2)
    op_start_rel_micros = int64_field(3)
    op_end_rel_micros = int64_field(4)
    all_end_rel_micros = int64_field(5)
    memory = repeated_field(6, AllocatorMemoryUsed)
    output = repeated_field(7, NodeOutput)
    timeline_label = string_field(8)
    scheduled_micros = int64_field(9)
    thread_id = uint32_field(10)
    all_start_nanos = int64_field(13)
    op_start_rel_nanos = int64_field(14)
    op_end_rel_nanos = int64_field(15)
    all_end_rel_nanos = int64_field(16)
    scheduled_nanos = int64_field(17)


class DeviceStepStats(Message):
    device = string_field(1)
    node_stats = repeated_field(2, NodeExecStats)


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

    dev_stats = repeated_field(1, DeviceStepStats)


@public_v1("RunMetadata")
class RunMetadata(Message):
    """Metadata of one run. A run that is not traced leaves `step_stats` empty."""

    step_stats = message_field(1, StepStats)
    partition_graphs = repeated_field(3, GraphDef)
