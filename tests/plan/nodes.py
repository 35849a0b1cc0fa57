"""Graphs and devices for tests of placement: programs as text, and devices as names only."""

from __future__ import annotations

from typing import Any, NamedTuple

from berth.devices.full_name import FullName
from berth.dtypes import float32
from berth.graph.expect import expect_device
from berth.graph.graph import Graph
from berth.ops.arrays.array import constant, identity
from berth.ops.arrays.placeholders import placeholder
from berth.ops.builder import apply
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.unary import negative
from berth.ops.linalg.matmul import matmul
from berth.ops.opdef import CATALOGUE, Access, Kernel, OpDef, all_devices, host_only
from berth.ops.shape import TensorShape
from berth.ops.state import variables as state


class Device(NamedTuple):
    """What the placer sees of a device."""

    full_name: FullName
    priority: int = 0

    @property
    def name(self) -> str:
        return str(self.full_name)

    @property
    def device_type(self) -> str:
        return self.full_name.type

    @property
    def short_name(self) -> str:
        return f"{self.full_name.type}:{self.full_name.index}"


def device(device_type: str, index: int, job: str = "localhost") -> Device:
    return Device(FullName(job, 0, 0, device_type, index))


def machine(n_cpus: int = 1, n_gpus: int = 0) -> list[Device]:
    """Make the devices of a program: CPUs, then GPUs."""
    return [device("CPU", k) for k in range(n_cpus)] + [device("GPU", k) for k in range(n_gpus)]


# --- operations that the library has none of ----------------------------------------------------


def _nothing(launch):
    """Bind no call: nothing is run here."""


def _like_first(inputs, attrs):
    return ((inputs[0].dtype.base_dtype, inputs[0].dims),) if inputs else ((float32, ()),)


def _no_outputs(inputs, attrs):
    return ()


def _define(name: str, arguments: str, kernels, infer=_like_first, **facts: Any) -> OpDef:
    """Define an operation that only these tests know."""
    types = {"T": (float32,)} if ":T" in arguments else {}
    op = OpDef(name, arguments, infer, types=types, kernels=kernels, **facts)
    del CATALOGUE[name]
    return op


BOTH = all_devices(_nothing)
HOST_ONLY = _define("AsText", "x:T", host_only(_nothing))
GPU_ONLY = _define("Nccl", "x:T", (Kernel("GPU", _nothing, (float32,)),))
NO_KERNEL = _define("NoKernel", "x:T", ())
SHAPE = _define("TestShape", "x:T", BOTH, is_metadata=True)
PASS_ON = _define("PassOn", "resource:resource", BOTH)
TWO_HANDLES = _define("Momentum", "var:resource accum:resource", BOTH, _no_outputs)
HOST_READ = _define(
    "HostRead", "resource:resource", host_only(_nothing), _no_outputs, access=Access.READ
)
GPU_READ = _define(
    "GpuRead",
    "resource:resource",
    (Kernel("GPU", _nothing, (float32,)),),
    _no_outputs,
    access=Access.READ,
)

SCALAR = {"dtype": float32, "shape": TensorShape([])}


NAMES = {
    "ASSIGN": state.ASSIGN,
    "ASSIGN_ADD": state.ASSIGN_ADD,
    "ASSIGN_ADD_HANDLE": state.ASSIGN_ADD_HANDLE,
    "ASSIGN_HANDLE": state.ASSIGN_HANDLE,
    "GPU_ONLY": GPU_ONLY,
    "GPU_READ": GPU_READ,
    "HANDLE": state.HANDLE,
    "HOST_ONLY": HOST_ONLY,
    "HOST_READ": HOST_READ,
    "NO_KERNEL": NO_KERNEL,
    "PASS_ON": PASS_ON,
    "READ": state.READ,
    "SCALAR": SCALAR,
    "SHAPE": SHAPE,
    "TWO_HANDLES": TWO_HANDLES,
    "VARIABLE": state.VARIABLE,
    "add_n": add_n,
    "apply": apply,
    "constant": constant,
    "expect_device": expect_device,
    "identity": identity,
    "matmul": matmul,
    "multiply": multiply,
    "negative": negative,
    "placeholder": placeholder,
}


def program(text: str) -> Graph:
    """Run a program that builds `graph`; its lines are those of a file ``train.py``.

    Its device scopes are opened and closed by hand, from the program's own lines.
    """
    graph = Graph()
    with graph.as_default():
        exec(compile(text, "/home/me/train.py", "exec"), {**NAMES, "graph": graph})
    return graph


def colocate(graph: Graph, name: str, *with_names: str) -> None:
    """Set a node's `_class`, as a GraphDef can, whatever it asks for."""
    graph.by_name[name].colocated_with = with_names


def short_names(placement) -> dict[str, str]:
    """Name the device of each operation, in the order of placing."""
    return {op.name: device.short_name for op, device in placement.devices.items()}
