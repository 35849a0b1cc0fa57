"""The default graph: the one that operations go to while no other is entered."""

from __future__ import annotations

from berth.graph.graph import Graph
from berth.ops import builder
from berth.public import public_v1

_root: list[Graph] = []


@public_v1("get_default_graph")
def get_default_graph() -> Graph:
    """Return the current default graph."""
    entered = builder.entered()
    return entered if isinstance(entered, Graph) else root_graph()


@public_v1("reset_default_graph")
def reset_default_graph() -> None:
    """Replace the default graph by a new one; sessions of the old one keep it."""
    if builder.is_entered():
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    _root.clear()


def root_graph() -> Graph:
    """Return the default graph of the program, outside of all `as_default` blocks."""
    if not _root:
        _root.append(Graph())
    return _root[0]
