"""``tf.train.Scaffold``: the operations that a training session needs besides the model's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.ops.arrays.joining import concat
from berth.ops.flow.control import group
from berth.public import public_v1
from berth.summary.summary_ops import merge_all
from berth.train.saving.saver import Saver
from berth.variables.collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)


@public_v1("train.Scaffold")
class Scaffold:
    """Initializers, checks that all is initialized, summaries and a saver, for one graph.

    What is not given is taken from the graph's collections when the session is created, or
    made for all variables.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is None:
            other: Any = None
        elif isinstance(copy_from_scaffold, Scaffold):
            other = copy_from_scaffold
        else:
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def given(name: str, value: Any) -> Any:
            return getattr(other, name, None) if value is None else value

        self.init_op = given("init_op", init_op)
        self.init_feed_dict = given("init_feed_dict", init_feed_dict)
        self.ready_op = given("ready_op", ready_op)
        self.ready_for_local_init_op = given("ready_for_local_init_op", ready_for_local_init_op)
        self.local_init_op = given("local_init_op", local_init_op)
        self.local_init_feed_dict = given("local_init_feed_dict", local_init_feed_dict)
        self.summary_op = given("summary_op", summary_op)
        self.saver = given("saver", saver)
        self._user_init_fn = given("_user_init_fn", init_fn)
        self.init_fn: Callable[[Any], Any] | None = None
        """The function that initializes a session, called with this scaffold too."""
        if self._user_init_fn is not None:
            self.init_fn = partial(self._user_init_fn, self)

    def finalize(self) -> Scaffold:
        """Make what is missing, and finalize the graph."""
        self._fill("init_op", GraphKeys.INIT_OP, _default_init_op)
        self._fill("ready_op", GraphKeys.READY_OP, _default_ready_op)
        self._fill(
            "ready_for_local_init_op",
            GraphKeys.READY_FOR_LOCAL_INIT_OP,
            _default_ready_for_local_init_op,
        )
        self._fill("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op)
        self._fill("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self.saver is None:
            self.saver = default_saver()
        self.saver.build()
        get_default_graph().finalize()
        logger.info("Graph was finalized.")
        return self

    def _fill(self, name: str, key: str, make: Callable[[], Any]) -> None:
        if getattr(self, name) is None:
            setattr(self, name, self.get_or_default(name, key, make))

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """Return the only item of a collection, or make one and add it."""
        graph = get_default_graph()
        items = graph.get_collection(collection_key)
        if len(items) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate '
                "which one to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if items:
            return items[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Return an operation that initializes local variables and tables."""
        return group(local_variables_initializer(), tables_initializer())


def _default_init_op() -> Any:
    return group(global_variables_initializer())


def _default_ready_op() -> Any:
    return concat([report_uninitialized_variables()], 0)


def _default_ready_for_local_init_op() -> Any:
    return concat([report_uninitialized_variables(global_variables())], 0)


def default_saver() -> Saver:
    """Return the only saver of the default graph, or make one for all its variables."""
    graph = get_default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one "
            "to use by passing it to the constructor."
        )
    if savers:
        saver: Saver = savers[0]
        return saver
    saver = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, saver)
    return saver
