"""What a `tf.train.Supervisor` finds in a graph or adds: initializers, checks, a saver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.summary.summary_ops import merge_all
from berth.train.saving.saver import Saver
from berth.train.scaffold import Scaffold
from berth.variables.collections import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)

USE_DEFAULT = 0
"""Given as an argument: find it in the graph, or make it."""


def chosen(given: Any, key: str, make: Callable[[], Any]) -> Any:
    """Return what was given, the first of a collection, or what is made and added to it."""
    if given is not USE_DEFAULT:
        return given
    graph = get_default_graph()
    found = graph.get_collection(key)
    if len(found) > 1:
        logger.info("Found %d %s operations. Returning the first one.", len(found), key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


def chosen_ready_op(given: Any) -> Any:
    """Return the operation that names the variables that are not initialized."""
    return chosen(given, GraphKeys.READY_OP, report_uninitialized_variables)


def chosen_ready_for_local_init_op(given: Any) -> Any:
    """Return the operation that says whether local variables can be initialized, or None."""
    return chosen(given, GraphKeys.READY_FOR_LOCAL_INIT_OP, _nothing)


def chosen_init_op(given: Any) -> Any:
    """Return the operation that initializes the global variables."""
    return chosen(given, GraphKeys.INIT_OP, global_variables_initializer)


def chosen_local_init_op(given: Any) -> Any:
    """Return the operation that initializes local variables and tables."""
    return chosen(given, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)


def chosen_saver(given: Any) -> Any:
    """Return the saver; None if there is nothing to save."""
    return chosen(given, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)


def chosen_summary_op(given: Any) -> Any:
    """Return the operation that merges all summaries; None if there are none."""
    return chosen(given, GraphKeys.SUMMARY_OP, merge_all)


def chosen_global_step(given: Any) -> Any:
    """Return the global step: that of the collection, or what has its name; or None."""
    return chosen(given, GraphKeys.GLOBAL_STEP, _named_global_step)


def _nothing() -> None:
    return None


def _named_global_step() -> Any:
    op = get_default_graph().by_name.get("global_step")
    if op is None or not op.outputs:
        return None
    step = op.outputs[0]
    if step.dtype.base_dtype.name in ("int32", "int64"):
        return step
    logger.warning("Found 'global_step' is not an int type: %s", step.dtype)
    return None
