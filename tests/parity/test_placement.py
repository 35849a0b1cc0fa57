"""Section 6 (placement in graph mode), 7.4 (its logs), and documents 003 and 004.

Rows marked [TF] were also run with TensorFlow 2.21 on two CPU devices.
"""

from __future__ import annotations

import logging

import pytest

from berth.errors import FailedPreconditionError, InvalidArgumentError
from berth.plan.placer import place
from berth.plan.walk import document_order
from tests.plan.nodes import colocate, device, machine, program, short_names

CPUS = machine(2)
K40 = machine(1, 1)
K20 = machine(1, 4)
CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
GPU_0 = "/job:localhost/replica:0/task:0/device:GPU:0"


def placed(text, devices, **options):
    """Place a program; return short names by operation, in the order of placing."""
    return short_names(place(program(text).ops, devices, **options))


def failure(graph, devices, fetch=None, **options):
    """Place a graph that cannot be placed; return the error."""
    order = None if fetch is None else document_order([graph.by_name[fetch]])
    with pytest.raises(InvalidArgumentError) as caught:
        place(graph.ops, devices, error_order=order, **options)
    assert caught.value.op in graph.ops
    assert caught.value.error_code == 3
    return caught.value.message


# --- the documents ------------------------------------------------------------------------------

PRODUCT = """
a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = matmul(a, b)
"""
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
MISSING = """
scope = enter('{}')
a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = matmul(a, b)
leave(scope)
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


# --- 6.4: soft placement --------------------------------------------------------------------


def wish(name, op="negative(p, name='n')"):
    return f"p = placeholder('float32', name='p')\nwith graph.device('{name}'): {op}"


ON_HOST = "apply(HOST_ONLY, (p,), {}, 'n')"

SOFT = {
    "missing GPU": (wish("/gpu:42"), K20, "GPU:0"),
    "no GPU kernel": (wish("/gpu:0", ON_HOST), K20, "CPU:0"),
    "no GPU kernel, other GPU": (wish("/gpu:3", ON_HOST), K20, "CPU:0"),
    "no GPU at all": (wish("/gpu:0"), CPUS, "CPU:0"),
    "missing CPU": (wish("/cpu:7"), K20, "GPU:0"),
    "missing CPU, no GPU kernel": (wish("/cpu:7", ON_HOST), K20, "CPU:0"),
    "unknown type": (wish("/device:XPU:0"), K20, "GPU:0"),
    "missing index [TF]": (wish("/device:*:7"), CPUS, "CPU:0"),
    "granted": (wish("/gpu:2"), K20, "GPU:2"),
}


@pytest.mark.parametrize(("text", "devices", "expected"), SOFT.values(), ids=SOFT)
def test_soft_placement_relaxes(text, devices, expected):
    placement = place(program(text).ops, devices, soft=True)
    assert short_names(placement)["n"] == expected
    moved = [] if expected == "GPU:2" else ["n"]
    assert [op.name for op in placement.moved] == moved
    assert placement.messages == []


def test_soft_placement_keeps_the_job():
    graph = program(
        "scope = enter('/job:worker/cpu:0')\nnegative(placeholder('float32'), name='n')"
    )
    assert failure(graph, CPUS, "n", soft=True) == (
        "Cannot assign a device to node 'Placeholder': Could not satisfy explicit device specification '/job:worker/cpu:0'\n"
        '\t [[Node: Placeholder = Placeholder[dtype=DT_FLOAT, shape=<unknown>, _device="/job:worker/cpu:0"]()]]\n'
        "  Placeholder was made at train.py:2, under tf.device('/job:worker/cpu:0') at train.py:1.\n"
        "  The devices are CPU:0 and CPU:1.\n"
        "  Soft placement chooses another type or number, never another job, replica or task."
    )


def test_soft_colocation_gives_up_both_wishes():
    graph = program(
        "with graph.device('/cpu:1'): a = constant(1.0, name='a')\n"
        "with graph.device('/cpu:5'): b = constant(1.0, name='b')\n"
    )
    colocate(graph, "b", "a")
    placement = place(graph.ops, CPUS, soft=True)
    assert short_names(placement) == {"a": "CPU:0", "b": "CPU:0"}
    assert [op.name for op in placement.moved] == ["a", "b"]


def test_soft_placement_moves_variables_last():
    graph = program(
        "with graph.device('/gpu:0'): v = apply(HANDLE, (), SCALAR, 'v')\n"
        "apply(HOST_READ, (v,), {}, 'r')"
    )
    placement = place(graph.ops, K40, soft=True)
    assert short_names(placement) == {"r": "CPU:0", "v": "CPU:0"}
    [message] = placement.messages
    assert message.level == logging.WARNING
    assert message.text == (
        "Failed to place the graph without changing the devices of some resources. Some of the operations (that had to be colocated with resource generating operations) are not supported on the resources' devices. Current candidate devices are [\n"
        f"  {CPU_0}].\n"
        "See below for details of this colocation group:\n"
        "Colocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='/device:GPU:0' assigned_device_name_='' resource_device_name_='/device:GPU:0' supported_device_types_=[CPU] possible_devices_=[]\n"
        "HostRead: CPU \n"
        "VarHandleOp: GPU CPU \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  v (VarHandleOp) /device:GPU:0\n"
        "  r (HostRead) \n"
    )


def test_soft_placement_keeps_a_variable_where_it_can():
    text = """
with graph.device('/gpu:1'):
    v = apply(HANDLE, (), SCALAR, 'v')
with graph.device('/cpu:0'):
    apply(READ, (v,), {}, 'r')
"""
    placement = place(program(text).ops, K20, soft=True)
    assert short_names(placement) == {"r": "GPU:1", "v": "GPU:1"}
    assert placement.moved == []  # it was the variable's doing


# --- 7.4: what is logged --------------------------------------------------------------------


def test_overridden_request_is_logged():
    graph = program(
        "with graph.device('/cpu:1'): v = apply(HANDLE, (), SCALAR, 'v')\n"
        "with graph.device('/gpu:0'): apply(READ, (v,), {}, 'x')"
    )
    assert place(graph.ops, machine(2, 1)).messages == [
        (
            logging.INFO,
            "Ignoring device specification /device:GPU:0 for node 'x' because the input edge from 'v' is a reference connection and already has a device field set to /device:CPU:1",
        )
    ]


def test_ignored_colocation_is_logged():
    # [TF]: what variables ask for does not give way to a colocation.
    graph = program("""
with graph.device('/cpu:0'):
    v = apply(VARIABLE, (), SCALAR, 'v')
with graph.device('/cpu:1'):
    apply(VARIABLE, (), SCALAR, 'w')
    p = placeholder('float32', [], name='p')
    apply(ASSIGN, (v, p), {}, 'as')
""")
    colocate(graph, "as", "w")
    placement = place(graph.ops, CPUS, soft=True)
    assert short_names(placement) == {"v": "CPU:0", "w": "CPU:1", "as": "CPU:0", "p": "CPU:1"}
    assert placement.ignored == {(graph.by_name["as"], "w")}
    assert placement.messages[-1] == (
        logging.INFO,
        "Ignoring request to colocate node 'as' with nodes in colocation group 'w' because soft placement is on and an attempt at doing so resulted in the following error: INVALID_ARGUMENT: Cannot colocate nodes {{colocation_node as}} and {{colocation_node w}}: Cannot merge devices with incompatible ids: '/device:CPU:0' and '/device:CPU:1'\n"
        "\t [[{{node as}}]]",
    )


# --- 6.5: errors ----------------------------------------------------------------------------


def test_missing_gpus_can_be_simulated():
    graph = program("scope = enter('/gpu:0')\nconstant(1.0, name='b')")
    assert failure(graph, machine(1)) == (
        "Cannot assign a device to node 'b': Could not satisfy explicit device specification '/gpu:0'\n"
        '\t [[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [] values: 1>, _device="/gpu:0"]()]]\n'
        "  b was made at train.py:2, under tf.device('/gpu:0') at train.py:1.\n"
        "  The devices are CPU:0.\n"
        "  Ask for one of these, or let one be chosen: ConfigProto(allow_soft_placement=True).\n"
        "  There is no GPU. Simulated GPUs work anywhere: set BERTH_SIM=4xT4, for instance."
    )


@pytest.mark.parametrize(
    ("outer", "inner", "shown"),
    [
        ("/job:localhost", "/gpu:7", "/job:localhost/device:GPU:7"),  # two scopes had a say
        ("", "gpu:7", "/device:GPU:7"),
    ],
)
def test_merged_requests_are_shown_merged(outer, inner, shown):
    graph = program(f"enter('{outer}')\nenter('{inner}')\nconstant(1.0, name='b')")
    first = failure(graph, K40).splitlines()[0]
    assert first.endswith(f"Could not satisfy explicit device specification '{shown}'")


def test_device_without_kernel_is_e3():
    graph = program(
        "p = placeholder('float32', [], name='p')\n"
        "scope = enter('/gpu:0')\n"
        "apply(HOST_ONLY, (p,), {}, 'h')"
    )
    assert failure(graph, K40) == (
        "Cannot assign a device for operation h: Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for GPU devices is available.\n"
        "Colocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='/device:GPU:0' assigned_device_name_='' resource_device_name_='' supported_device_types_=[CPU] possible_devices_=[]\n"
        "AsText: CPU \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  h (AsText) /device:GPU:0\n"
        "\n"
        "Op: AsText\n"
        "Node attrs: T=DT_FLOAT\n"
        "Registered kernels:\n"
        "  device='CPU'\n"
        "\n\t [[{{node h}}]]\n"
        "  h was made at train.py:3, under tf.device('/gpu:0') at train.py:2.\n"
        "  AsText has no kernel for GPU, only for CPU.\n"
        "  Ask for another device, or let one be chosen: ConfigProto(allow_soft_placement=True)."
    )


def test_request_without_type_is_e3b():
    graph = program(
        "p = placeholder('float32', [], name='p')\n"
        "scope = enter('/device:*:1')\n"
        "apply(HOST_ONLY, (p,), {}, 'h')"
    )
    assert failure(graph, machine(1, 2)) == (
        "Cannot assign a device for operation h: Could not satisfy explicit device specification '/device:*:1\n"
        "Colocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='' assigned_device_name_='' resource_device_name_='' supported_device_types_=[CPU] possible_devices_=[]\n"
        "AsText: CPU \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  h (AsText) /device:*:1\n"
        "\n\t [[{{node h}}]]\n"
        "  h was made at train.py:3, under tf.device('/device:*:1') at train.py:2."
    )


def test_group_with_another_wish_is_e4():
    graph = program(
        "p = placeholder('float32', [], name='p')\n"
        "negative(p, name='a')\n"
        "scope = enter('/cpu:5')\n"
        "negative(p, name='b')"
    )
    colocate(graph, "b", "a")
    assert failure(graph, CPUS) == (
        "Cannot assign a device for operation a: Could not satisfy explicit device specification '' because the node {{colocation_node a}} was colocated with a group of nodes that required incompatible device '/device:CPU:5'. "
        f"All available devices [{CPU_0}, {CPU_1}]. \n"
        "Colocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='/device:CPU:5' assigned_device_name_='' resource_device_name_='' supported_device_types_=[CPU] possible_devices_=[]\n"
        "Neg: CPU \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  a (Neg) \n"
        "  b (Neg) /device:CPU:5\n"
        "\n\t [[{{node a}}]]\n"
        "  b was made at train.py:4, under tf.device('/cpu:5') at train.py:3."
    )


def test_no_kernel_anywhere_is_e5():
    graph = program("p = placeholder('float32', [], name='p')\napply(NO_KERNEL, (p,), {}, 'n')")
    assert failure(graph, K40, soft=True) == (
        "No OpKernel was registered to support Op 'NoKernel' used by {{node n}} with these attrs: [T=DT_FLOAT]\n"
        "Registered devices: [CPU, GPU]\n"
        "Registered kernels:\n"
        "  <no registered kernels>\n"
        "\n\t [[n]]\n"
        "  n was made at train.py:2, and asks for no device."
    )


def test_kernels_for_absent_devices_are_e5():
    graph = program("p = placeholder('float32', [], name='p')\napply(GPU_ONLY, (p,), {}, 'n')")
    assert failure(graph, machine(1)) == (
        "No OpKernel was registered to support Op 'Nccl' used by {{node n}} with these attrs: [T=DT_FLOAT]\n"
        "Registered devices: [CPU]\n"
        "Registered kernels:\n"
        "  device='GPU'; T in [DT_FLOAT]\n"
        "\n\t [[n]]\n"
        "  n was made at train.py:2, and asks for no device.\n"
        "  It runs on GPU only. The devices are CPU:0.\n"
        "  There is no GPU. Simulated GPUs work anywhere: set BERTH_SIM=4xT4, for instance."
    )


@pytest.mark.parametrize("soft", [False, True])
def test_malformed_name_is_e6(soft):
    graph = program(
        "def choose(op): return '/foo:0'\nscope = enter(choose)\nconstant(1.0, name='w')"
    )
    assert failure(graph, CPUS, soft=soft) == (
        "Malformed device specification '/foo:0' in node: {name:'w' id:2 op device:{requested: '/foo:0', assigned: ''} "
        'def:{{{node w}} = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [] values: 1>, _device="/foo:0"]()}}\n'
        "\t [[w]]\n"
        "  w was made at train.py:3, under tf.device(choose</home/me/train.py, 1>) at train.py:2.\n"
        "  A device is written like '/device:GPU:0', '/gpu:0' or '/job:worker/task:1/cpu:0'."
    )


def test_colocated_names_clash_is_e7():
    graph = program(
        "first = enter('/cpu:1')\n"
        "a = constant(1.0, name='a')\n"
        "leave(first)\n"
        "scope = enter('/cpu:0')\n"
        "b = constant(1.0, name='b')"
    )
    colocate(graph, "b", "a")
    assert failure(graph, CPUS) == (
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with incompatible ids: '/device:CPU:0' and '/device:CPU:1'\n"
        "\t [[{{node b}}]]\n"
        "  b was made at train.py:5, under tf.device('/cpu:0') at train.py:4.\n"
        "  a was made at train.py:2, under tf.device('/cpu:1') at train.py:1."
    )


def debug_info(op, types):
    return (
        "\nColocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='' assigned_device_name_='' resource_device_name_='' "
        f"supported_device_types_=[{types}] possible_devices_=[]\n"
        f"{op}: {types} \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
    )


def test_colocated_kernels_clash_is_e8():
    graph = program(
        "p = placeholder('float32', [], name='p')\n"
        "apply(HOST_ONLY, (p,), {}, 'y')\n"
        "apply(GPU_ONLY, (p,), {}, 'x')"
    )
    colocate(graph, "x", "y")
    assert failure(graph, K40) == (
        "Cannot colocate nodes {{colocation_node x}} and {{colocation_node y}} because no device type supports both of those nodes and the other nodes colocated with them."
        f"{debug_info('Nccl', 'GPU')}  x (Nccl) \n"
        f"{debug_info('AsText', 'CPU')}  y (AsText) \n"
        "\n\t [[{{node x}}]]\n"
        "  x was made at train.py:3, and asks for no device.\n"
        "  y was made at train.py:2, and asks for no device.\n"
        "  x (Nccl) at train.py:3 runs on GPU only.\n"
        "  y (AsText) at train.py:2 runs on CPU only."
    )
    assert short_names(place(graph.ops, K40, soft=True)) == {
        "y": "CPU:0",
        "x": "GPU:0",
        "p": "GPU:0",
    }


@pytest.mark.parametrize("soft", [False, True])
def test_kernels_along_an_edge_are_e8b(soft):
    graph = program(
        "v = apply(HANDLE, (), SCALAR, 'v')\n"
        "apply(HOST_READ, (v,), {}, 'a')\n"
        "apply(GPU_READ, (v,), {}, 'b')"
    )
    assert failure(graph, K40, soft=soft) == (
        "Nodes were connected by a reference or resource connection (requiring them to be on the same device), but the two nodes were assigned two different devices: "
        "Cannot colocate nodes {{colocation_node v}} and {{colocation_node b}} because no device type supports both of those nodes and the other nodes colocated with them.\n"
        "Colocation Debug Info:\n"
        "Colocation group had the following types and supported devices: \n"
        "Root Member(assigned_device_name_index_=-1 requested_device_name_='' assigned_device_name_='' resource_device_name_='' supported_device_types_=[CPU] possible_devices_=[]\n"
        "HostRead: CPU \n"
        "VarHandleOp: GPU CPU \n"
        "\n"
        "Colocation members, user-requested devices, and framework assigned devices, if any:\n"
        "  v (VarHandleOp) \n"
        "  a (HostRead) \n"
        f"{debug_info('GpuRead', 'GPU')}  b (GpuRead) \n"
        "\n\t [[{{node b}}]]\n"
        "  v was made at train.py:1, and asks for no device.\n"
        "  b was made at train.py:3, and asks for no device.\n"
        "  a (HostRead) at train.py:2 runs on CPU only.\n"
        "  b (GpuRead) at train.py:3 runs on GPU only."
    )


@pytest.mark.parametrize("soft", [False, True])
def test_two_resource_devices_are_e9(soft):
    graph = program(
        "first = enter('/cpu:0')\n"
        "v = apply(HANDLE, (), SCALAR, 'v')\n"
        "leave(first)\n"
        "second = enter('/cpu:1')\n"
        "w = apply(HANDLE, (), SCALAR, 'w')\n"
        "leave(second)\n"
        "apply(TWO_HANDLES, (v, w), {}, 'x')"
    )
    # [TF], with ResourceApplyMomentum.
    assert failure(graph, CPUS, soft=soft) == (
        "Cannot place the graph because a reference or resource edge connects colocation groups with incompatible resource devices: /device:CPU:1 vs /device:CPU:0. "
        "The edge src node is name='w' (op='VarHandleOp'), and the dst node is name='x' (op='Momentum').\n"
        "  x was made at train.py:7, and asks for no device.\n"
        "  v was made at train.py:2, under tf.device('/cpu:0') at train.py:1.\n"
        "  w was made at train.py:5, under tf.device('/cpu:1') at train.py:4."
    )


def test_two_assigned_devices_are_e9():
    graph = program(
        "v = apply(HANDLE, (), SCALAR, 'v')\n"
        "w = apply(HANDLE, (), SCALAR, 'w')\n"
        "apply(TWO_HANDLES, (v, w), {}, 'x')"
    )
    pinned = {graph.by_name["v"]: CPUS[0], graph.by_name["w"]: CPUS[1]}
    first = failure(graph, CPUS, pinned=pinned).splitlines()[0]
    assert first == (
        f"Cannot place the graph because a reference or resource edge connects colocation groups with incompatible assigned devices: {CPU_1} vs {CPU_0}. "
        "The edge src node is name='w' (op='VarHandleOp'), and the dst node is name='x' (op='Momentum')."
    )


def test_pinned_variables_do_not_give_way():
    # [TF]: a node that is colocated later, with another wish.
    graph = program(
        "v = apply(VARIABLE, (), SCALAR, 'v')\n"
        "p = placeholder('float32', [], name='p')\n"
        "apply(ASSIGN, (v, p), {}, 'as')\n"
        "with graph.device('/cpu:1'): negative(p, name='n')"
    )
    colocate(graph, "n", "v")
    first = failure(graph, CPUS, pinned={graph.by_name["v"]: CPUS[0]}).splitlines()[0]
    assert first == (
        "Cannot colocate nodes {{colocation_node n}} and {{colocation_node v}}: "
        f"Cannot merge devices with incompatible ids: '{CPU_0}' and '/device:CPU:1'"
    )


def test_no_devices_is_e11():
    with pytest.raises(FailedPreconditionError) as caught:
        place(program(PRODUCT).ops, [])
    assert caught.value.message == "No devices are registered"


# --- whose failure is told ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fetch", "first"),
    # Creation order is a, b, MatMul; the first pass would meet MatMul first (6.3, 5).
    [(None, "'a'"), ("MatMul", "'b'"), ("a", "'a'")],
)
def test_first_failure_in_order_is_told(fetch, first):
    assert f"Cannot assign a device to node {first}:" in failure(
        program(MISSING.format("/gpu:9")), K40, fetch
    )


def test_failures_elsewhere_are_told_too():
    graph = program(PRODUCT + "with graph.device('/gpu:9'): constant(1.0, name='unused')")
    assert "node 'unused'" in failure(graph, K40, "MatMul")


def test_malformed_names_are_told_in_order():
    graph = program(MISSING.format("/gpu:0"))
    for op in graph.ops:
        op.device = "/foo:0"
    assert failure(graph, K40, "MatMul").startswith(
        "Malformed device specification '/foo:0' in node: {name:'b' id:3 "
    )
