"""A step as chrome://tracing draws it, event for event as TensorFlow 2.21 does (§8.6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import pytest

import berth.timeline
from berth.session.run_metadata import RunMetadata, StepStats
from berth.session.timeline import AllocationMaximum, Timeline

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
STREAM = "/device:GPU:0/stream:all"
FLOAT = "DT_FLOAT"


class Node(NamedTuple):
    """A node to record. Its outputs are pairs of an allocator and a number of bytes."""

    name: str
    start: int
    duration: int
    label: str = ""
    outputs: Sequence[tuple[str, int]] = ()


def record(stats, device, *nodes):
    """Record what a device ran, each node given by the values of a `Node`."""
    on_device = stats.dev_stats.add(device=device)
    for name, start, duration, label, outputs in (Node(*values) for values in nodes):
        node = on_device.node_stats.add(node_name=name, timeline_label=label, thread_id=77)
        node.all_start_micros, node.all_end_rel_micros = start, duration
        for slot, (allocator, requested_bytes) in enumerate(outputs):
            tensor = node.output.add(slot=slot).tensor_description
            tensor.dtype = FLOAT
            tensor.allocation_description.requested_bytes = requested_bytes
            tensor.allocation_description.allocator_name = allocator
    return stats


MATMUL = {
    CPU: [
        ("_SOURCE", 100, 1, "_SOURCE = NoOp()"),
        ("x", 102, 6, "x = Const()", [("cpu", 8)]),
        ("y", 104, 3, "y = Split(x)", [("cpu", 4), ("cpu", 4)]),
    ],
    GPU: [
        ("RecvTensor", 110, 2, "[8B] x from CPU:0"),
        ("z", 113, 2, "z = MatMul(x/_3, y:1)", [("GPU_0_bfc", 256)]),
        ("odd", 120, 1, "no label at all"),
    ],
    STREAM: [  # the kernels run later than their op
        ("z:MatMul", 130, 5, "sgemm@@z:MatMul#id=4"),
        ("z:MatMul", 140, 9, "bias"),
    ],
}


def matmul_step():
    stats = StepStats()
    for device, nodes in MATMUL.items():
        record(stats, device, *nodes)
    return stats


NAMES = [f"{device} {of}" for device in (CPU, GPU, STREAM) for of in ("Compute", "Tensors")]
PROCESSES = [
    f'{{"name":"process_name","ph":"M","pid":{pid},"args":{{"name":"{name}"}}}}'
    for pid, name in enumerate(["Allocators", *NAMES])
]
BIRTHS = [
    '{"ph":"N","cat":"Tensor","name":"x","pid":2,"tid":0,"ts":102,"id":0}',
    r'{"ph":"O","cat":"Tensor","name":"x","pid":2,"tid":0,"ts":107,"id":0,"args":{"snapshot":{"tensor_description":"dtype: DT_FLOAT\nallocation_description {\n  requested_bytes: 8\n  allocator_name: cpu\n}\n"}}}',
    '{"ph":"N","cat":"Tensor","name":"y","pid":2,"tid":1,"ts":104,"id":1}',
    r'{"ph":"O","cat":"Tensor","name":"y","pid":2,"tid":1,"ts":106,"id":1,"args":{"snapshot":{"tensor_description":"dtype: DT_FLOAT\nallocation_description {\n  requested_bytes: 4\n  allocator_name: cpu\n}\n"}}}',
    '{"ph":"N","cat":"Tensor","name":"y:1","pid":2,"tid":1,"ts":104,"id":2}',
    r'{"ph":"O","cat":"Tensor","name":"y:1","pid":2,"tid":1,"ts":106,"id":2,"args":{"snapshot":{"tensor_description":"dtype: DT_FLOAT\nallocation_description {\n  requested_bytes: 4\n  allocator_name: cpu\n}\n"}}}',
    '{"ph":"N","cat":"Tensor","name":"z","pid":4,"tid":0,"ts":113,"id":3}',
    r'{"ph":"O","cat":"Tensor","name":"z","pid":4,"tid":0,"ts":114,"id":3,"args":{"snapshot":{"tensor_description":"dtype: DT_FLOAT\nallocation_description {\n  requested_bytes: 256\n  allocator_name: GPU_0_bfc\n}\n"}}}',
]
OPS = [
    '{"ph":"X","cat":"Op","name":"NoOp","pid":1,"tid":0,"ts":100,"dur":1,"args":{"name":"_SOURCE","op":"NoOp"}}',
    '{"ph":"X","cat":"Op","name":"Const","pid":1,"tid":0,"ts":102,"dur":6,"args":{"name":"x","op":"Const"}}',
    '{"ph":"X","cat":"Op","name":"Split","pid":1,"tid":1,"ts":104,"dur":3,"args":{"name":"y","op":"Split","input0":"x"}}',
    '{"ph":"s","cat":"DataFlow","name":"x","pid":1,"tid":0,"ts":108,"id":0}',
    '{"ph":"t","cat":"DataFlow","name":"x","pid":1,"tid":1,"ts":104,"id":0}',
    '{"ph":"X","cat":"Op","name":"RecvTensor","pid":3,"tid":0,"ts":110,"dur":2,"args":{"name":"RecvTensor","op":"RecvTensor"}}',
    '{"ph":"X","cat":"Op","name":"MatMul","pid":3,"tid":0,"ts":113,"dur":2,"args":{"name":"z","op":"MatMul","input0":"x/_3","input1":"y:1"}}',
    '{"ph":"s","cat":"DataFlow","name":"x","pid":1,"tid":0,"ts":108,"id":1}',
    '{"ph":"t","cat":"DataFlow","name":"x","pid":3,"tid":0,"ts":113,"id":1}',
    '{"ph":"s","cat":"DataFlow","name":"y:1","pid":1,"tid":1,"ts":107,"id":2}',
    '{"ph":"t","cat":"DataFlow","name":"y:1","pid":3,"tid":0,"ts":113,"id":2}',
    '{"ph":"X","cat":"Op","name":"unknown","pid":3,"tid":0,"ts":120,"dur":1,"args":{"name":"odd","op":"unknown"}}',
    '{"ph":"X","cat":"Op","name":"MatMul","pid":5,"tid":0,"ts":130,"dur":5,"args":{"name":"z","op":"MatMul"}}',
    '{"ph":"X","cat":"Op","name":"MatMul","pid":5,"tid":0,"ts":140,"dur":9,"args":{"name":"z","op":"MatMul"}}',
]
DEATHS = [
    '{"ph":"D","cat":"Tensor","name":"x","pid":2,"tid":0,"ts":114,"id":0}',
    '{"ph":"D","cat":"Tensor","name":"y","pid":2,"tid":0,"ts":107,"id":1}',
    '{"ph":"D","cat":"Tensor","name":"y:1","pid":2,"tid":0,"ts":114,"id":2}',
    '{"ph":"D","cat":"Tensor","name":"z","pid":4,"tid":0,"ts":115,"id":3}',
]
COUNTERS = [
    '{"ph":"C","cat":"Memory","name":"cpu","pid":0,"tid":0,"ts":102,"args":{"cpu":8}}',
    '{"ph":"C","cat":"Memory","name":"cpu","pid":0,"tid":0,"ts":104,"args":{"cpu":12}}',
    '{"ph":"C","cat":"Memory","name":"cpu","pid":0,"tid":0,"ts":104,"args":{"cpu":16}}',
    '{"ph":"C","cat":"Memory","name":"cpu","pid":0,"tid":0,"ts":107,"args":{"cpu":12}}',
    '{"ph":"C","cat":"Memory","name":"cpu","pid":0,"tid":0,"ts":114,"args":{"cpu":4}}',
    '{"ph":"C","cat":"Memory","name":"cpu","pid":0,"tid":0,"ts":114,"args":{"cpu":0}}',
    '{"ph":"C","cat":"Memory","name":"GPU_0_bfc","pid":0,"tid":0,"ts":113,"args":{"GPU_0_bfc":256}}',
    '{"ph":"C","cat":"Memory","name":"GPU_0_bfc","pid":0,"tid":0,"ts":115,"args":{"GPU_0_bfc":0}}',
]
MAXIMUMS = {"cpu": (104, 16, {"x", "y", "y:1"}), "GPU_0_bfc": (113, 256, {"z"})}


def compact(events):
    return f'{{"traceEvents":[{",".join(events)}]}}'


def pretty(events):
    return json.dumps(json.loads(compact(events)), indent=4)


def draw(stats, kind, **options):
    """Return the events of one kind."""
    events = json.loads(Timeline(stats).generate_chrome_trace_format(**options))["traceEvents"]
    return [event for event in events if event["ph"] == kind]


def one_device(*nodes, device=CPU):
    return record(StepStats(), device, *nodes)


def test_drawing_is_tensorflow_s():
    text = Timeline(matmul_step()).generate_chrome_trace_format()
    assert text == pretty(PROCESSES + OPS)


def test_analysis_shows_memory_by_default():
    trace, maximums = Timeline(matmul_step()).analyze_step_stats()

    assert trace.format_to_string() == compact(PROCESSES + BIRTHS + OPS + DEATHS + COUNTERS)
    assert maximums == MAXIMUMS
    assert isinstance(maximums["cpu"], AllocationMaximum)


def test_analysis_without_memory_has_no_maximums():
    analysis = Timeline(matmul_step()).analyze_step_stats(show_memory=False)

    assert analysis.chrome_trace.format_to_string(pretty=True) == pretty(PROCESSES + OPS)
    assert analysis.allocator_maximums == {}


def test_empty_step_has_allocators_only():
    empty = RunMetadata().step_stats
    alone = """{
    "traceEvents": [
        {
            "name": "process_name",
            "ph": "M",
            "pid": 0,
            "args": {
                "name": "Allocators"
            }
        }
    ]
}"""
    assert Timeline(empty).generate_chrome_trace_format(op_time="gpu") == alone
    assert Timeline(empty).analyze_step_stats().allocator_maximums == {}


def test_drawing_changes_nothing():
    stats = matmul_step()
    timeline = Timeline(stats)
    before = repr(stats)
    drawings = [timeline.generate_chrome_trace_format(op_time="all") for _ in range(2)]

    assert drawings[0] == drawings[1]
    assert repr(stats) == before


@pytest.mark.parametrize(
    ("spans", "lanes"),
    [
        ([(10, 5), (16, 5)], [0, 0]),
        ([(10, 5), (15, 5)], [0, 1]),  # an end is not before a start at the same time
        ([(10, 50), (20, 5), (26, 5), (24, 3)], [0, 1, 1, 2]),
        ([(10, 50), (20, 5), (61, 5)], [0, 1, 0]),
        ([(30, 5), (10, 5)], [0, 1]),  # in the order of the records, not of time
        ([(0, 1), (1, 1)], [1, 0]),  # lane 0 is taken at the beginning of time
    ],
)
def test_overlapping_ops_get_lanes(spans, lanes):
    stats = one_device(*((f"n{i}", *span) for i, span in enumerate(spans)))
    assert [event["tid"] for event in draw(stats, "X")] == lanes


def test_times_are_microseconds_since_the_epoch():
    (event,) = draw(one_device(("n", 1_700_000_000_000_005, 9)), "X")
    assert (event["ts"], event["dur"]) == (1_700_000_000_000_005, 9)


@pytest.mark.parametrize(
    ("label", "op", "inputs"),
    [
        ("n = NoOp()", "NoOp", []),
        ("n = AddV2(MatMul, _arg_p_0_0)", "AddV2", ["MatMul", "_arg_p_0_0"]),
        ("n = Assign(v, ^init)", "Assign", ["v", "^init"]),
        ("n = Add(x,y)", "Add", ["x,y"]),
        ("n = Add(x, y) and more", "Add", ["x", "y"]),
        ("", "unknown", []),
        ("n=Add(x)", "unknown", []),
        ("n = Add(x", "unknown", []),
        ("a\nn = Add(x)", "unknown", []),
    ],
)
def test_labels_name_op_and_inputs(label, op, inputs):
    (event,) = draw(one_device(("n", 10, 5, label)), "X")

    assert event["name"] == op
    numbered = {f"input{i}": name for i, name in enumerate(inputs)}
    assert event["args"] == {"name": "n", "op": op, **numbered}


def test_recv_tensor_needs_no_label():
    stats = one_device(
        ("x", 5, 1, "x = Const()", [("cpu", 4)]), ("RecvTensor", 5, 5, "r = A(x)")
    )
    event = draw(stats, "X")[-1]

    assert event["name"] == "RecvTensor"
    assert event["args"] == {"name": "RecvTensor", "op": "RecvTensor"}
    assert draw(stats, "s") == []


@pytest.mark.parametrize(
    "device", [STREAM, "/device:GPU:0/memcpy", "/gpu:0/stream:7<MemcpyH2D>"]
)
@pytest.mark.parametrize(
    ("node_name", "label", "name", "op"),
    [
        ("k", "sgemm@@b:MatMul#id=1", "b", "MatMul"),
        ("k", "sgemm@@b#id=1", "b", "unknown"),
        ("b:Neg", "sgemm", "b", "Neg"),
        ("b:Neg", "sgemm@@c:MatMul", "b", "Neg"),
        ("b:Neg", "sgemm@@#id=1", "b", "Neg"),
        ("b:Neg", "a#@@c:MatMul#", "b", "Neg"),
        ("RecvTensor", "x = Add(y)", "RecvTensor", "unknown"),
    ],
)
def test_kernels_name_their_nodes(device, node_name, label, name, op):
    (event,) = draw(one_device((node_name, 10, 5, label), device=device), "X")

    assert event["name"] == op
    assert event["args"] == {"name": name, "op": op}


def arrows(stats, **options):
    ends = draw(stats, "t", **options)
    return [
        (start["id"], start["name"], (start["pid"], start["tid"]), (end["pid"], end["tid"]))
        for start, end in zip(draw(stats, "s", **options), ends, strict=True)
        if start["id"] == end["id"] and start["name"] == end["name"]
    ]


def test_arrows_join_different_rows():
    stats = one_device(
        ("x", 10, 5, "x = Const()", [("cpu", 4)]),
        ("near", 16, 5, "near = Neg(x)"),
        ("beside", 17, 5, "beside = Neg(x)"),
    )
    record(stats, GPU, ("far", 30, 5, "far = Neg(x)"))

    assert arrows(stats) == [(0, "x", (1, 0), (1, 1)), (1, "x", (1, 0), (3, 0))]
    assert arrows(stats, show_dataflow=False) == []


@pytest.mark.parametrize(
    ("read", "found"),
    [
        ("x", ["x"]),
        ("x:1", ["x:1"]),
        ("x/_3", ["x"]),
        ("x:1/_12", ["x:1"]),
        ("x, x", ["x", "x"]),
        ("x/y", []),
        ("x/", []),
        ("^x", []),
        ("x:2", []),
        ("/_3", []),
        ("stranger", []),
    ],
)
def test_arrows_start_at_recorded_outputs(read, found):
    stats = one_device(
        ("x", 10, 5, "x = Unstack()", [("cpu", 4), ("cpu", 4)]),
        ("", 10, 5, "", [("cpu", 4)]),
        ("reader", 12, 5, f"reader = Add({read})"),
    )
    assert [name for _, name, *_ in arrows(stats)] == found


def counters(stats, allocator):
    drawn = draw(stats, "C", show_memory=True)
    return [(e["ts"], e["args"][allocator]) for e in drawn if e["name"] == allocator]


def test_memory_is_held_until_last_use():
    stats = one_device(
        ("x", 10, 5, "x = Const()", [("cpu", 4)]),
        ("early", 20, 5, "early = Neg(x)"),
        ("late", 30, 5, "late = Neg(x)"),
    )
    assert counters(stats, "cpu") == [(10, 4), (34, 0)]


def test_memory_given_back_counts_first():
    stats = one_device(
        ("x", 10, 5, "x = Const()", [("cpu", 4)]),
        ("y", 15, 5, "y = Const()", [("cpu", 8)]),
    )
    assert counters(stats, "cpu") == [(10, 4), (15, 0), (15, 8), (20, 0)]
    assert Timeline(stats).analyze_step_stats().allocator_maximums == {"cpu": (15, 8, {"y"})}


def test_maximum_is_the_first_of_equals():
    stats = one_device(
        ("x", 10, 5, "x = Const()", [("cpu", 4), ("gpu", 9)]),
        ("y", 30, 5, "y = Const()", [("cpu", 4), ("gpu", 0)]),
    )
    maximums = Timeline(stats).analyze_step_stats().allocator_maximums
    assert maximums == {"cpu": (10, 4, {"x"}), "gpu": (10, 9, {"x:1"})}


def test_empty_tensors_make_no_maximum():
    stats = one_device(("x", 10, 5, "x = Const()", [("cpu", 0)]))

    assert counters(stats, "cpu") == [(10, 0), (15, 0)]
    assert Timeline(stats).analyze_step_stats().allocator_maximums == {"cpu": (0, 0, set())}


def test_later_output_replaces_its_namesake():
    stats = one_device(
        ("x", 10, 5, "x = Next()", [("cpu", 4)]),
        ("x", 20, 5, "x = Next()", [("cpu", 8)]),
    )
    assert counters(stats, "cpu") == [(20, 8), (25, 0)]
    assert [event["id"] for event in draw(stats, "N", show_memory=True)] == [0, 1]
    assert [event["id"] for event in draw(stats, "D", show_memory=True)] == [1]


@pytest.mark.parametrize(
    ("op_time", "start", "duration"), [("schedule", 113, 2), ("gpu", 130, 19), ("all", 113, 36)]
)
def test_op_time_stretches_to_kernels(op_time, start, duration):
    bars = draw(matmul_step(), "X", op_time=op_time)
    (matmul,) = [bar for bar in bars if bar["args"]["name"] == "z" and bar["pid"] == 3]
    assert (matmul["ts"], matmul["dur"]) == (start, duration)


def test_op_time_keeps_a_later_end():
    stats = one_device(("z", 10, 100, "z = MatMul()"), device=GPU)
    record(stats, STREAM, ("z:MatMul", 30, 5))

    assert [(e["ts"], e["dur"]) for e in draw(stats, "X", op_time="gpu")] == [(30, 80), (30, 5)]
    assert [(e["ts"], e["dur"]) for e in draw(stats, "X", op_time="all")] == [
        (10, 100),
        (30, 5),
    ]


def test_op_time_sees_every_gpu():
    stats = StepStats()
    for index in (0, 1):
        gpu = f"/job:localhost/replica:0/task:0/device:GPU:{index}"
        record(stats, gpu, (f"z{index}", 10, 5))
        record(stats, f"/device:GPU:{index}/stream:all", (f"z{index}:MatMul", 30 + index, 5))

    starts = [event["ts"] for event in draw(stats, "X", op_time="gpu")]
    assert starts == [30, 30, 31, 31]


def test_unknown_op_time_is_refused():
    with pytest.raises(ValueError, match="op_time") as refusal:
        Timeline(StepStats()).generate_chrome_trace_format(op_time="scheduled")
    assert str(refusal.value) == (
        "op_time must be 'schedule', 'gpu' or 'all', not 'scheduled'.\n"
        "  Did you mean 'schedule'?"
    )


def test_graph_is_accepted():
    drawn = berth.timeline.Timeline(StepStats(), graph=object())
    assert isinstance(drawn, Timeline)
