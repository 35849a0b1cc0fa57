"""StepStats: a traced run as TensorFlow's RunMetadata."""

from __future__ import annotations

import threading
from operator import attrgetter
from typing import Any

from berth.graph.node_def import PRODUCER, attr_value, fill_node_def, shape_proto
from berth.plan.plan import Plan, Request
from berth.plan.pruning import needed_ops
from berth.proto.config import RunOptions
from berth.proto.framework import GraphDef
from berth.run.engine import Engine
from berth.run.trace import Event, Recorder
from berth.session.run_metadata import NodeExecStats, RunMetadata


def fill_metadata(
    metadata: RunMetadata,
    options: RunOptions | None,
    recorder: Recorder | None,
    runner: Any,
    engine: Engine,
    request: Request,
) -> None:
    """Fill the caller's RunMetadata."""
    metadata.Clear()
    if recorder is not None:
        events = sorted(
            [*_events_without_work(recorder, engine, request), *recorder.events],
            key=attrgetter("start_ns"),
        )
        _fill_stats(metadata, events, engine)
        if options is not None and options.trace_level >= RunOptions.HARDWARE_TRACE:
            _fill_streams(metadata, recorder.events, engine)
    if options is not None and options.output_partition_graphs and hasattr(runner, "plan"):
        metadata.partition_graphs.extend(_partition_graphs(runner.plan))


def _partition_graphs(plan: Plan) -> list[GraphDef]:
    """Describe what each device does: copies that come in, and its nodes, in order."""
    names = [device.name for device in plan.site.devices]
    graphs: dict[int, GraphDef] = {}
    for stage in plan.stages:
        graph = graphs.setdefault(stage.device, GraphDef(versions={"producer": PRODUCER}))
        for source, _ in stage.arrivals:
            graph.node.add(
                name=f"{source.tensor.op.name}/copy",
                op="Copy",
                input=[source.tensor.name],
                device=names[stage.device],
                attr={"from": attr_value(names[source.device]), "T": attr_value(source.dtype)},
            )
        for step in stage.steps:
            for member in step.members or [step]:
                fill_node_def(graph.node.add(), member.op).device = names[stage.device]
    return [graph for _, graph in sorted(graphs.items())]


def _events_without_work(recorder: Recorder, engine: Engine, request: Request) -> list[Event]:
    """Make events of the operations of a run that take no time: constants, variables, reads.

    Each is noted when the last of those is over that it waits for.
    """
    placement: Any = engine.placement
    positions = {device: k for k, device in enumerate(engine.devices)}
    fed = {feed.tensor.op for feed in request.feeds}
    ended = {event.op: event.end_ns for event in recorder.events if event.copy is None}
    made = []
    for op in needed_ops(request):
        if op in ended or op in fed or op not in placement.devices:
            continue
        before = [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        now = max((ended.get(each, 0) for each in before), default=0) or recorder.start_ns
        ended[op] = now
        device = positions[placement.devices[op]]
        made.append(Event(device, op, now, now, threading.get_ident()))
    return made


def _fill_streams(metadata: RunMetadata, events: list[Event], engine: Engine) -> None:
    """Add what ran on each GPU's stream, under the names of TensorFlow's traces of CUDA."""
    for position, device in enumerate(engine.devices):
        if device.is_host:
            continue
        stream = metadata.step_stats.dev_stats.add(device=f"{device.logical.name}/stream:all")
        for event in events:
            if event.device == position and event.copy is None:
                _fill_kernel(stream.node_stats.add(), event)
        if not stream.node_stats:
            metadata.step_stats.dev_stats.pop()


def _fill_kernel(node: NodeExecStats, event: Event) -> None:
    op, nanos = event.op, event.end_ns - event.start_ns
    node.node_name = f"{op.name}:{op.type}"
    node.timeline_label = f"{op.type} @@{op.name}:{op.type}#"
    _fill_times(node, event.start_ns, nanos)


def _fill_times(node: NodeExecStats, start_ns: int, nanos: int) -> None:
    micros = start_ns // 1000
    node.all_start_micros, node.all_start_nanos = micros, start_ns
    node.scheduled_micros, node.scheduled_nanos = micros, start_ns
    node.op_end_rel_micros = node.all_end_rel_micros = max(1, nanos // 1000)
    node.op_end_rel_nanos = node.all_end_rel_nanos = nanos


def _fill_stats(metadata: RunMetadata, events: list[Event], engine: Engine) -> None:
    by_device: dict[int, list[Event]] = {}
    for event in events:
        by_device.setdefault(event.device, []).append(event)
    for device, own in sorted(by_device.items()):
        stats = metadata.step_stats.dev_stats.add(device=engine.devices[device].name)
        for event in own:
            _fill_node(stats.node_stats.add(), event, engine)


def _fill_node(node: NodeExecStats, event: Event, engine: Engine) -> None:
    op = event.op
    if event.copy is None:
        taken = [tensor.op.name for tensor in op.inputs]
        inputs = ", ".join([*taken, *(f"^{control.name}" for control in op.control_inputs)])
        node.node_name, node.timeline_label = op.name, f"{op.name} = {op.type}({inputs})"
    else:
        source = engine.devices[event.copy.source.device]
        target = engine.devices[event.copy.target.device]
        node.node_name = f"{op.name}/copy_to_{target.short_name.replace(':', '_')}"
        node.timeline_label = (
            f"{node.node_name} = Copy({op.name}) from {source.short_name} to "
            f"{target.short_name}, {event.nbytes} bytes"
        )
    _fill_times(node, event.start_ns, event.end_ns - event.start_ns)
    node.thread_id = event.thread % 2**31
    arena = engine.devices[event.device].arena
    node.memory.add(
        allocator_name=arena.name,
        total_bytes=event.nbytes,
        peak_bytes=event.nbytes,
        allocator_bytes_in_use=arena.stats.in_use_bytes,
    )
    for slot, array_type in enumerate(event.outputs):
        output = node.output.add(slot=slot)
        description = output.tensor_description
        description.dtype = array_type.dtype.as_datatype_enum
        description.shape.CopyFrom(shape_proto(array_type.dims))
        allocation = description.allocation_description
        allocation.requested_bytes = allocation.allocated_bytes = array_type.nbytes
        allocation.allocator_name = arena.name
