"""Timelines: a traced step as Chrome trace events, for chrome://tracing and Perfetto.

The drawing is made in three stages, each from the settled result of the one before:

1. *bars*: each node of each device gets its time, by `op_time`, and a lane where no other
   bar is in the way;
2. *tensors*: each output of a bar is alive from the bar's start until its last reader is
   done. A later output of the same name takes the place of an earlier;
3. *events*: what the viewer reads. Processes are rows of the picture: 0 for the
   allocators, then two for each device, its ops and its tensors.

All times are microseconds.

Invariants:
1. A `Timeline` draws the same step the same way every time, and changes nothing in it.
2. An arrow joins two different rows; `s` and `t`, its ends, share an id of their own.
3. A counter of an allocator ends at 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

from berth.errors import did_you_mean, explain
from berth.public import public_v2
from berth.session.run_metadata import NodeExecStats, StepStats, TensorDescription

_OP_TIMES = ("schedule", "gpu", "all")
_CATEGORIES = {
    "X": "Op",
    "s": "DataFlow",
    "t": "DataFlow",
    "N": "Tensor",
    "O": "Tensor",
    "D": "Tensor",
    "C": "Memory",
}

_OP_LABEL = re.compile(r".* = (.*)\((.*)\)")
"""``name = Op(in0, in1)``, a node as the executor labels it."""
_KERNEL_LABEL = re.compile(r"[^#]*?@@([^#]+)#")
"""``kernel@@name:Op#id``, a kernel with the node it worked for."""

Event = dict[str, Any]
_Description = tuple[str, str, tuple[str, ...]]  # a node's name, its op and its inputs


class AllocationMaximum(NamedTuple):
    """The moment at which the tensors of an allocator had most bytes, and those tensors."""

    timestamp: int
    num_bytes: int
    tensors: set[str]


class ChromeTrace:
    """A list of events, in the form that chrome://tracing reads."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = list(events)

    def format_to_string(self, pretty: bool = False) -> str:
        trace = {"traceEvents": self._events}
        if pretty:
            return json.dumps(trace, indent=4, separators=(",", ": "))
        return json.dumps(trace, separators=(",", ":"))


class StepStatsAnalysis(NamedTuple):
    """The drawing, and how much memory each allocator's tensors took at most."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


@public_v2("timeline.Timeline")
class Timeline:
    """What each device did in a step, and when.

    >>> stats = StepStats()
    >>> cpu = stats.dev_stats.add(device="/device:CPU:0")
    >>> _ = cpu.node_stats.add(
    ...     node_name="a",
    ...     timeline_label="a = Const()",
    ...     all_start_micros=9,
    ...     all_end_rel_micros=2,
    ... )
    >>> trace = json.loads(Timeline(stats).generate_chrome_trace_format())
    >>> trace["traceEvents"][-1]
    {'ph': 'X', 'cat': 'Op', 'name': 'Const', 'pid': 1, 'tid': 0, 'ts': 9, 'dur': 2,
     'args': {'name': 'a', 'op': 'Const'}}
    """

    def __init__(self, step_stats: StepStats, graph: Any = None) -> None:
        del graph  # accepted and ignored, as in TensorFlow
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Draw the step, as JSON to be opened in chrome://tracing or Perfetto."""
        analysis = self.analyze_step_stats(show_dataflow, show_memory, op_time)
        return analysis.chrome_trace.format_to_string(pretty=True)

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """Draw the step, and with `show_memory` say what the allocators held at most.

        An op lasts for as long as the CPU was busy with it (``"schedule"``), from its first
        kernel on the GPU to the end (``"gpu"``), or from its start on the CPU to the end of
        its last kernel (``"all"``).
        """
        if op_time not in _OP_TIMES:
            raise ValueError(
                explain(
                    f"op_time must be 'schedule', 'gpu' or 'all', not {op_time!r}.",
                    did_you_mean(str(op_time).lower(), _OP_TIMES),
                )
            )
        bars = list(_bars(self._step_stats, op_time))
        outputs = list(_outputs(bars))
        tensors = {tensor.name: tensor for tensor in outputs}
        events = [
            *_process_events(self._step_stats),
            *(_birth_events(outputs) if show_memory else ()),
            *_op_events(bars, tensors, show_dataflow),
        ]
        maximums: dict[str, AllocationMaximum] = {}
        if show_memory:
            ends = _last_uses(bars, tensors)
            events += _death_events(tensors.values(), ends)
            for allocator, changes in _changes(tensors.values(), ends).items():
                events += _counter_events(allocator, changes)
                maximums[allocator] = _maximum(changes)
        return StepStatsAnalysis(ChromeTrace(events), maximums)


class _Row(NamedTuple):
    """A line of the picture: a process, and a lane of it."""

    pid: int
    lane: int


_ALLOCATORS = _Row(0, 0)


class _Bar(NamedTuple):
    """One node in the picture: its time, its place, and what it says."""

    node: NodeExecStats
    start: int
    end: int
    row: _Row
    name: str
    op: str
    inputs: tuple[str, ...]

    @property
    def tensors_row(self) -> _Row:
        return _Row(self.row.pid + 1, self.row.lane)


class _Tensor(NamedTuple):
    name: str
    maker: _Bar
    description: TensorDescription
    object_id: int


class _Change(NamedTuple):
    """Bytes taken or given back. At one moment, those given back sort first."""

    time: int
    num_bytes: int
    tensor: str


def _bars(step_stats: StepStats, op_time: str) -> Iterator[_Bar]:
    kernels = {} if op_time == "schedule" else _kernel_times(step_stats)
    pids = {device: pid for pid, device in _compute_pids(step_stats)}
    for stats in step_stats.dev_stats:
        is_stretched = "/job" in stats.device and "/stream:all" not in stats.device
        describe = _describe_kernel if _has_kernels(stats.device) else _describe_op
        lanes = [0]
        for node in stats.node_stats:
            start, end = _span(node)
            if is_stretched and node.node_name in kernels:
                first, last = kernels[node.node_name]
                start, end = first if op_time == "gpu" else start, max(end, last)
            row = _Row(pids[stats.device], _take_lane(lanes, start, end))
            yield _Bar(node, start, end, row, *describe(node))


def _compute_pids(step_stats: StepStats) -> Iterator[tuple[int, str]]:
    """Number the devices; the number after each is that of its tensors."""
    for index, stats in enumerate(step_stats.dev_stats):
        yield 1 + 2 * index, stats.device


def _take_lane(lanes: list[int], start: int, end: int) -> int:
    """Put a bar in the first lane that is free, given when each is; or in a new one."""
    lane = next((i for i, busy_until in enumerate(lanes) if busy_until < start), len(lanes))
    lanes[lane : lane + 1] = [end]
    return lane


def _kernel_times(step_stats: StepStats) -> dict[str, tuple[int, int]]:
    """Tell when the first kernel of each node started and the last ended."""
    times: dict[str, tuple[int, int]] = {}
    for stats in step_stats.dev_stats:
        if "/stream:all" not in stats.device:
            continue
        for kernel in stats.node_stats:
            name, *_ = _describe_kernel(kernel)
            start, end = _span(kernel)
            first, last = times.get(name, (start, end))
            times[name] = min(first, start), max(last, end)
    return times


def _span(node: NodeExecStats) -> tuple[int, int]:
    return node.all_start_micros, node.all_start_micros + node.all_end_rel_micros


def _has_kernels(device: str) -> bool:
    """Tell a pseudo-device of the GPU tracer, such as ``/device:GPU:0/stream:all``."""
    return "/stream:" in device or "/memcpy" in device


def _describe_kernel(node: NodeExecStats) -> _Description:
    """Return the name and the type of the node that a kernel worked for."""
    found = _KERNEL_LABEL.match(node.timeline_label)
    worked_for: str = found[1] if found else node.node_name
    name, op, *_ = [*worked_for.split(":"), "unknown"]
    return name, op, ()


def _describe_op(node: NodeExecStats) -> _Description:
    """Return a node's name, its type and its inputs."""
    if node.node_name == "RecvTensor":  # its label tells of a transfer, not of an op
        return node.node_name, "RecvTensor", ()
    found = _OP_LABEL.match(node.timeline_label)
    if not found:
        return node.node_name, "unknown", ()
    return node.node_name, found[1], tuple(found[2].split(", ")) if found[2] else ()


def _outputs(bars: Iterable[_Bar]) -> Iterator[_Tensor]:
    names: set[str] = set()
    for bar in bars:
        for index, output in enumerate(bar.node.output):
            name = f"{bar.node.node_name}:{index}" if index else bar.node.node_name
            yield _Tensor(name, bar, output.tensor_description, object_id=len(names))
            names.add(name)


def _inputs(bar: _Bar, tensors: Mapping[str, _Tensor]) -> Iterator[_Tensor]:
    """Find the tensors that a bar reads. One that crossed devices is ``name/_3``."""
    for name in bar.inputs:
        original = name if name in tensors else name.rpartition("/_")[0] or name
        if original in tensors:
            yield tensors[original]


def _last_uses(bars: Iterable[_Bar], tensors: Mapping[str, _Tensor]) -> dict[str, int]:
    ends = {tensor.name: tensor.maker.end for tensor in tensors.values()}
    for bar in bars:
        for tensor in _inputs(bar, tensors):
            ends[tensor.name] = max(ends[tensor.name], bar.end - 1)
    return ends


def _event(kind: str, name: str, row: _Row, time: int, **more: Any) -> Event:
    where = {"pid": row.pid, "tid": row.lane, "ts": time}
    return {"ph": kind, "cat": _CATEGORIES[kind], "name": name, **where, **more}


def _process_events(step_stats: StepStats) -> Iterator[Event]:
    yield _process_event(_ALLOCATORS.pid, "Allocators")
    for pid, device in _compute_pids(step_stats):
        yield _process_event(pid, f"{device} Compute")
        yield _process_event(pid + 1, f"{device} Tensors")


def _process_event(pid: int, name: str) -> Event:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def _op_events(
    bars: Iterable[_Bar], tensors: Mapping[str, _Tensor], show_dataflow: bool
) -> Iterator[Event]:
    """Draw every bar and, after it, the arrows from the bars whose outputs it reads."""
    arrow_ids = count()
    for bar in bars:
        inputs = {f"input{i}": name for i, name in enumerate(bar.inputs)}
        args = {"name": bar.name, "op": bar.op, **inputs}
        duration = bar.end - bar.start
        yield _event("X", bar.op, bar.row, bar.start, dur=duration, args=args)
        for name, maker, *_ in _inputs(bar, tensors) if show_dataflow else ():
            if maker.row != bar.row:
                arrow = next(arrow_ids)
                yield _event("s", name, maker.row, maker.end, id=arrow)
                yield _event("t", name, bar.row, bar.start, id=arrow)


def _birth_events(outputs: Iterable[_Tensor]) -> Iterator[Event]:
    for name, bar, description, number in outputs:
        shown = {"snapshot": {"tensor_description": str(description).replace('"', "")}}
        yield _event("N", name, bar.tensors_row, bar.start, id=number)
        yield _event("O", name, bar.tensors_row, bar.end - 1, id=number, args=shown)


def _death_events(tensors: Iterable[_Tensor], ends: Mapping[str, int]) -> Iterator[Event]:
    for name, bar, _, number in tensors:
        yield _event("D", name, _Row(bar.tensors_row.pid, 0), ends[name], id=number)


def _changes(tensors: Iterable[_Tensor], ends: Mapping[str, int]) -> dict[str, list[_Change]]:
    """List what each allocator gave and took back, in the order of time."""
    changes: dict[str, list[_Change]] = {}
    for name, bar, description, _ in tensors:
        allocation = description.allocation_description
        num_bytes = allocation.requested_bytes
        changes.setdefault(allocation.allocator_name, []).extend(
            [_Change(bar.start, num_bytes, name), _Change(ends[name], -num_bytes, name)]
        )
    return {allocator: sorted(of_one) for allocator, of_one in changes.items()}


def _counter_events(allocator: str, changes: Iterable[_Change]) -> Iterator[Event]:
    total = 0
    for change in changes:
        total += change.num_bytes
        yield _event("C", allocator, _ALLOCATORS, change.time, args={allocator: total})


def _maximum(changes: Iterable[_Change]) -> AllocationMaximum:
    most = AllocationMaximum(timestamp=0, num_bytes=0, tensors=set())
    total, alive = 0, set[str]()
    for time, num_bytes, tensor in changes:
        total += num_bytes
        if num_bytes < 0:
            alive.discard(tensor)
        else:
            alive.add(tensor)
        if total > most.num_bytes:
            most = AllocationMaximum(time, total, set(alive))
    return most
