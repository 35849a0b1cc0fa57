"""Section 6.5: the errors of placement, and whose failure is told.

Rows marked [TF] were also run with TensorFlow 2.21 on two CPU devices.
"""

from __future__ import annotations

import pytest

from berth.errors import FailedPreconditionError
from berth.plan.placer import place
from tests.parity.placements import CPU_0, CPU_1, CPUS, K40, MISSING, PRODUCT, failure
from tests.plan.nodes import colocate, machine, program, short_names

# --- 6.5: errors ----------------------------------------------------------------------------


def test_missing_gpus_can_be_simulated():
    graph = program(
        "scope = graph.device('/gpu:0'); scope.__enter__()\nconstant(1.0, name='b')"
    )
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
    graph = program(
        f"graph.device('{outer}').__enter__()\ngraph.device('{inner}').__enter__()\nconstant(1.0, name='b')"
    )
    first = failure(graph, K40).splitlines()[0]
    assert first.endswith(f"Could not satisfy explicit device specification '{shown}'")


def test_device_without_kernel_is_e3():
    graph = program(
        "p = placeholder('float32', [], name='p')\n"
        "scope = graph.device('/gpu:0'); scope.__enter__()\n"
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
        "scope = graph.device('/device:*:1'); scope.__enter__()\n"
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


def test_group_with_another_request_is_e4():
    graph = program(
        "p = placeholder('float32', [], name='p')\n"
        "negative(p, name='a')\n"
        "scope = graph.device('/cpu:5'); scope.__enter__()\n"
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
        "def choose(op): return '/foo:0'\nscope = graph.device(choose); scope.__enter__()\nconstant(1.0, name='w')"
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
        "first = graph.device('/cpu:1'); first.__enter__()\n"
        "a = constant(1.0, name='a')\n"
        "first.__exit__()\n"
        "scope = graph.device('/cpu:0'); scope.__enter__()\n"
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
        "first = graph.device('/cpu:0'); first.__enter__()\n"
        "v = apply(HANDLE, (), SCALAR, 'v')\n"
        "first.__exit__()\n"
        "second = graph.device('/cpu:1'); second.__enter__()\n"
        "w = apply(HANDLE, (), SCALAR, 'w')\n"
        "second.__exit__()\n"
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
def test_first_failure_in_order_is_reported(fetch, first):
    assert f"Cannot assign a device to node {first}:" in failure(
        program(MISSING.format("/gpu:9")), K40, fetch
    )


def test_failures_elsewhere_are_reported_too():
    graph = program(PRODUCT + "with graph.device('/gpu:9'): constant(1.0, name='unused')")
    assert "node 'unused'" in failure(graph, K40, "MatMul")


def test_malformed_names_are_reported_in_order():
    graph = program(MISSING.format("/gpu:0"))
    for op in graph.ops:
        op.device = "/foo:0"
    assert failure(graph, K40, "MatMul").startswith(
        "Malformed device specification '/foo:0' in node: {name:'b' id:3 "
    )
