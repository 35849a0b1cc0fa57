"""``berth.why``: why an operation runs where it does."""

from __future__ import annotations

from typing import Any

from berth.errors import explain
from berth.front.context import context
from berth.graph.default_session import get_default_session
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.plan.placement import Placement
from berth.plan.placer import place
from berth.public import public_v2


@public_v2("why")
def why(tensor_or_op: Any) -> str:
    """Explain where an operation runs, and what made it so.

    The answer is the default session's, or that of the session that last placed the graph.
    If none has, it is what a session without options would do. Of an eager tensor or variable
    it is the device that holds it, and the rule by which that was chosen.
    """
    item = tensor_or_op
    device = getattr(item, "device", None)
    if isinstance(device, str) and not hasattr(item, "graph") and hasattr(item, "numpy"):
        return _why_eager(type(item).__name__, device)
    if hasattr(item, "as_graph_element"):
        item = item.as_graph_element()
    op = item if isinstance(item, Operation) else getattr(item, "op", None)
    if not isinstance(op, Operation):
        raise TypeError(
            f"berth.why() takes a tensor or an operation of a graph, and not {tensor_or_op!r}."
        )
    return _placement(op).why(op)


def _why_eager(kind: str, device: str) -> str:
    what = "variable" if "Variable" in kind else "tensor"
    return explain(
        f"This eager {what} is on {device.partition('/device:')[2]}",
        "An eager operation runs on the device of the variable that it reads or writes, else "
        "on the one that tf.device requests, else on the first with a kernel for it.",
        "tf.debugging.set_log_device_placement(True) logs the device of each operation.",
    )


def _placement(op: Operation) -> Placement:
    graph: Graph = op.graph
    session = get_default_session()
    own = session._engine.placement if session and session.graph is graph else None
    for placement in (own, graph.placement):
        if placement is not None and op in placement.devices:
            return placement  # type: ignore[no-any-return]
    devices = context().devices
    planned = devices.maker.plan(devices.options())
    return place(graph.ops, planned, soft=bool(context().switches.soft_placement))
