"""Section 6 (placement in graph mode), and documents 003 and 004.

Rows marked [TF] were also run with TensorFlow 2.21 on two CPU devices.
"""

from __future__ import annotations

import pytest

from berth.plan.placer import place
from berth.plan.walk import document_order
from tests.parity.placements import CPUS, K20, K40, MISSING, PRODUCT, failure, placed
from tests.plan.nodes import colocate, device, machine, program, short_names

# --- the documents ------------------------------------------------------------------------------

INPUTS_ON_CPU = """
with graph.device('/cpu:0'):
    a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
    b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = matmul(a, b)
"""
TOWERS = """
c = []
for d in ['/device:GPU:2', '/device:GPU:3']:
    with graph.device(d):
        a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
        b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
        c.append(matmul(a, b))
with graph.device('/cpu:0'):
    sum = add_n(c)
"""
DOCUMENTS = {
    "GPU by default": (PRODUCT, K40, ["b GPU:0", "a GPU:0", "MatMul GPU:0"]),
    "inputs on the CPU": (INPUTS_ON_CPU, K40, ["b CPU:0", "a CPU:0", "MatMul GPU:0"]),
    "two towers": (
        TOWERS,
        K20,
        [
            "Const_3 GPU:3",
            "Const_2 GPU:3",
            "MatMul_1 GPU:3",
            "Const_1 GPU:2",
            "Const GPU:2",
            "MatMul GPU:2",
            "AddN CPU:0",
        ],
    ),
}


@pytest.mark.parametrize(("text", "devices", "listed"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_are_placed_as_printed(text, devices, listed):
    graph = program(text)
    placement = place(graph.ops, devices)
    order = document_order(graph.ops[-1:])
    assert [f"{op.name} {placement.device_of(op).short_name}" for op in order] == listed


@pytest.mark.parametrize("written", ["/device:GPU:2", "/gpu:2"], ids=["003", "004"])
def test_missing_device_fails_as_documented(written):
    graph = program(MISSING.format(written))
    assert failure(graph, machine(1, 2), "MatMul") == (
        f"Cannot assign a device to node 'b': Could not satisfy explicit device specification '{written}'\n"
        f'\t [[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, _device="{written}"]()]]\n'
        f"  b was made at train.py:4, under tf.device('{written}') at train.py:2.\n"
        "  The devices are CPU:0, GPU:0 and GPU:1.\n"
        "  Ask for one of these, or let one be chosen: ConfigProto(allow_soft_placement=True)."
    )


@pytest.mark.parametrize("written", ["/device:GPU:2", "/gpu:2"], ids=["003", "004"])
def test_soft_placement_runs_the_documents(written):
    found = placed(MISSING.format(written), machine(1, 2), soft=True)
    assert found == {"MatMul": "GPU:0", "a": "GPU:0", "b": "GPU:0"}


# --- 6.2: order of devices ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "first"),
    [
        (machine(2), "CPU:0"),
        (machine(1, 3), "GPU:0"),
        (machine(1, 3)[::-1], "GPU:0"),
        ([device("CPU", 0), device("GPU", 10), device("GPU", 2)], "GPU:10"),  # by full name
        ([device("CPU", 0), device("TPU", 0)], "CPU:0"),
        ([device("CPU", 1), device("CPU", 0, "a")], "CPU:1"),  # the first device's job is local
    ],
)
def test_first_candidate_is_the_default(devices, first):
    assert placed("negative(placeholder('float32'))", devices)["Neg"] == first


# --- 6.3: the verified table ----------------------------------------------------------------

TABLE = """
with graph.device('/cpu:1'):
    p = placeholder('float32', [], name='p')
    x = negative(p, name='x')
apply(SHAPE, (x,), {}, 'sh')
apply(SHAPE, (x,), {}, 'sz')
idn = identity(x, name='idn')
with graph.device('/cpu:1'):
    negative(idn, name='y')
id2 = identity(x, name='id2')
negative(id2, name='z')
c1 = constant(1.0, name='c1')
c2 = constant(1.0, name='c2')
constant(1.0, name='c3_unused')
with graph.device('/cpu:1'):
    multiply(x, c1, name='m1')
    multiply(x, c2, name='m2')
with graph.device('/cpu:0'):
    multiply(x, c2, name='m3')
with graph.device('/cpu:1'):
    initial = constant(1.0, name='v/Initializer/initial_value')
    v = apply(HANDLE, (), SCALAR, 'v')
    apply(ASSIGN_HANDLE, (v, initial), {}, 'v/Assign')
with graph.device('/cpu:0'):
    read = apply(READ, (v,), {}, 'Read/ReadVariableOp')
    identity(read, name='Identity')
    apply(ASSIGN_ADD_HANDLE, (v, read), {}, 'AssignAddVariableOp')
with graph.device('/cpu:1'):
    rv = apply(VARIABLE, (), SCALAR, 'rv')
with graph.device('/cpu:0'), graph.colocate_with(rv):
    apply(ASSIGN, (rv, read), {}, 'rv/Assign')
    identity(rv, name='rv/read')
    apply(ASSIGN_ADD, (rv, read), {}, 'AssignAdd')
"""

ROWS = {
    "x": "CPU:1",
    "sh": "CPU:1",
    "sz": "CPU:1",
    "idn": "CPU:1",
    "y": "CPU:1",
    "id2": "CPU:0",
    "z": "CPU:0",
    "m1": "CPU:1",
    "m2": "CPU:1",
    "m3": "CPU:0",
    "v/Assign": "CPU:1",
    "Read/ReadVariableOp": "CPU:1",
    "Identity": "CPU:0",
    "AssignAddVariableOp": "CPU:1",
    "rv": "CPU:1",
    "rv/Assign": "CPU:1",
    "rv/read": "CPU:1",
    "AssignAdd": "CPU:1",
    # The second pass.
    "p": "CPU:1",
    "c1": "CPU:1",
    "c2": "CPU:0",
    "c3_unused": "CPU:0",
    "v/Initializer/initial_value": "CPU:1",
    "v": "CPU:1",
}


def test_table_holds_in_its_order():
    assert list(placed(TABLE, CPUS).items()) == list(ROWS.items())


def test_colocation_takes_over_the_request():
    graph = program(TABLE)
    assert graph.by_name["AssignAdd"].device == "/device:CPU:1"


# --- 6.3: rule by rule ----------------------------------------------------------------------

READS = """
with graph.device('/cpu:1'):
    v = apply(HANDLE, (), SCALAR, 'v')
r = apply(READ, (v,), {}, 'r')
"""

RULES = {
    # Step 2 [TF]: what takes a reference as a value is not held to it.
    "value of a reference": (
        """
with graph.device('/cpu:1'):
    v = apply(VARIABLE, (), SCALAR, 'v')
one = placeholder('float32', [], name='one')
a = apply(ASSIGN, (v, one), {}, 'as')
with graph.device('/cpu:0'):
    negative(a, name='n')
negative(a, name='m')
""",
        {"v": "CPU:1", "as": "CPU:1", "n": "CPU:0", "m": "CPU:0", "one": "CPU:1"},
    ),
    "handle that is passed on": (
        READS
        + "with graph.device('/cpu:0'): apply(READ, (apply(PASS_ON, (v,), {}, 'i'),), {}, 's')",
        {"r": "CPU:1", "i": "CPU:1", "s": "CPU:1", "v": "CPU:1"},
    ),
    "the user's device, where the variable asks for none": (
        """
v = apply(HANDLE, (), SCALAR, 'v')
with graph.device('/cpu:1'):
    apply(READ, (v,), {}, 'r')
apply(READ, (v,), {}, 's')
""",
        {"r": "CPU:1", "s": "CPU:1", "v": "CPU:1"},
    ),
    # Step 3: by name, whoever comes first.
    "colocated": (
        """
a = placeholder('float32', [], name='a')
with graph.colocate_with(a):
    negative(a, name='b')
with graph.device('/cpu:1'):
    d = negative(a, name='d')
with graph.colocate_with(d):
    negative(a, name='e')
""",
        {"b": "CPU:0", "d": "CPU:1", "e": "CPU:1", "a": "CPU:0"},
    ),
    "group whose first follows its input": (
        READS
        + """
sh = apply(SHAPE, (r,), {}, 'sh')
p = placeholder('float32', [], name='p')
with graph.colocate_with(sh):
    negative(p, name='n')
""",
        {"r": "CPU:1", "sh": "CPU:1", "n": "CPU:1", "v": "CPU:1", "p": "CPU:1"},
    ),
    # Step 5 [TF]: an identity with one edge in and one out.
    "identity at the end": (
        READS + "identity(r, name='i')",
        {"r": "CPU:1", "i": "CPU:1", "v": "CPU:1"},
    ),
    "identity with one user": (
        READS + "negative(identity(r, name='i'), name='n')",
        {"r": "CPU:1", "i": "CPU:1", "n": "CPU:0", "v": "CPU:1"},
    ),
    "identity used twice by one": (
        READS + "i = identity(r, name='i')\nmultiply(i, i, name='m')",
        {"r": "CPU:1", "i": "CPU:0", "m": "CPU:0", "v": "CPU:1"},
    ),
    "identity that waits": (
        READS + "s = apply(READ, (v,), {}, 's')\n"
        "with graph.control_dependencies([s]): identity(r, name='i')",
        {"r": "CPU:1", "s": "CPU:1", "i": "CPU:0", "v": "CPU:1"},
    ),
    "identity that is waited for": (
        READS + "i = identity(r, name='i')\n"
        "with graph.control_dependencies([i]): apply(READ, (v,), {}, 's')",
        {"r": "CPU:1", "i": "CPU:1", "s": "CPU:1", "v": "CPU:1"},
    ),
    "identity with a wish": (
        READS + "with graph.device('/cpu:0'): identity(r, name='i')",
        {"r": "CPU:1", "i": "CPU:0", "v": "CPU:1"},
    ),
    "metadata with a wish": (
        READS + "with graph.device('/cpu:0'): apply(SHAPE, (r,), {}, 'sh')",
        {"r": "CPU:1", "sh": "CPU:0", "v": "CPU:1"},
    ),
    "metadata of a generator": (
        "with graph.device('/cpu:1'): p = placeholder('float32', name='p')\n"
        "apply(SHAPE, (p,), {}, 'sh')",
        {"sh": "CPU:0", "p": "CPU:1"},
    ),
    # Step 6 [TF]: who only waits for a generator counts as its consumer.
    "generator with a consumer and one who waits": (
        """
a = constant(1.0, name='a')
p = placeholder('float32', [], name='p')
with graph.device('/cpu:1'):
    negative(a, name='n')
with graph.device('/cpu:0'), graph.control_dependencies([a]):
    negative(p, name='d')
""",
        {"n": "CPU:1", "d": "CPU:0", "a": "CPU:0", "p": "CPU:0"},
    ),
    "generator for which a generator waits": (
        """
a = constant(1.0, name='a')
with graph.device('/cpu:1'):
    negative(a, name='n')
with graph.control_dependencies([a]):
    constant(1.0, name='e')
""",
        {"n": "CPU:1", "a": "CPU:0", "e": "CPU:0"},
    ),
    "generator with a wish": (
        "with graph.device('/cpu:0'): c = constant(1.0, name='c')\n"
        "with graph.device('/cpu:1'): negative(c, name='n')",
        {"n": "CPU:1", "c": "CPU:0"},
    ),
    # Requests with open fields.
    "wish for an index [TF]": (
        "with graph.device('/device:*:1'): negative(placeholder('float32', name='p'), name='n')",
        {"n": "CPU:1", "p": "CPU:1"},
    ),
    "wish for a type": (
        "with graph.device('/device:CPU:*'): negative(placeholder('float32', name='p'), name='n')",
        {"n": "CPU:0", "p": "CPU:0"},
    ),
    "wish for a job": (
        "with graph.device('/job:localhost'): negative(placeholder('float32', name='p'), name='n')",
        {"n": "CPU:0", "p": "CPU:0"},
    ),
}


@pytest.mark.parametrize(("text", "expected"), RULES.values(), ids=RULES)
def test_rule_of_placement(text, expected):
    assert list(placed(text, CPUS).items()) == list(expected.items())


def test_colocation_needs_no_node_of_that_name():
    graph = program("for _ in range(3): negative(placeholder('float32'), name='n')")
    with_device = graph.by_name["n_1"]
    with_device.device = "/device:CPU:1"
    for name in ("n", "n_1"):
        colocate(graph, name, "nobody")
    found = short_names(place(graph.ops, CPUS))
    assert (found["n"], found["n_1"], found["n_2"]) == ("CPU:1", "CPU:1", "CPU:0")


def test_group_runs_where_all_its_kernels_are():
    text = """
p = placeholder('float32', name='p')
a = negative(p, name='a')
with graph.colocate_with(a):
    apply(HOST_ONLY, (p,), {}, 'h')
negative(p, name='free')
"""
    assert placed(text, K40) == {"a": "CPU:0", "h": "CPU:0", "free": "GPU:0", "p": "GPU:0"}


def test_pruned_parts_ignore_the_rest():
    graph = program(TABLE)
    wanted = [op for op in graph.ops if op.name in ("p", "x", "id2", "c2", "m3")]
    found = short_names(place(wanted, CPUS))
    # Only m3 is left of c2's consumers. Nothing is left of id2's.
    assert found == {"x": "CPU:1", "id2": "CPU:0", "m3": "CPU:0", "p": "CPU:1", "c2": "CPU:0"}


def test_pinned_operations_stay():
    graph = program(READS + "identity(r, name='i')")
    pinned = {graph.by_name["v"]: CPUS[0]}
    placement = place(graph.ops, CPUS, pinned=pinned)
    # Those that were placed before come in the first pass (7.1).
    assert list(short_names(placement).items()) == [
        ("v", "CPU:0"),
        ("r", "CPU:0"),
        ("i", "CPU:0"),
    ]
