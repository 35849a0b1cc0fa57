"""``tf.train.QueueRunner``: threads that keep a queue filled while a session is used."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from berth.eager.mode import executing_eagerly
from berth.errors import OpError, OutOfRangeError
from berth.finalizers import WeakKeyDict
from berth.front import logger
from berth.front.graph_scope import add_to_collection
from berth.graph.default_graph import get_default_graph
from berth.graph.default_session import get_default_session
from berth.graph.keys import GraphKeys
from berth.proto.fields import repeated_field, string_field
from berth.proto.kinds import INT32, STRING
from berth.proto.message import Message
from berth.public import public_v1
from berth.session.session import BaseSession
from berth.train.coordinator import Coordinator


class QueueRunnerDef(Message):
    """What a graph's description says of a queue runner."""

    queue_name = string_field(1)
    enqueue_op_name = repeated_field(2, STRING)
    close_op_name = string_field(3)
    cancel_op_name = string_field(4)
    queue_closed_exception_types = repeated_field(5, INT32)


@public_v1("train.QueueRunner")
class QueueRunner:
    """A queue, and the operations that threads run again and again to fill it.

    When the input is at its end the queue is closed; an error stops the coordinator, which
    raises it in the main program.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if executing_eagerly():
            raise RuntimeError(
                "QueueRunners are not supported when eager execution is enabled. Instead, "
                "please use tf.data to get data into your model."
            )
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if queue is None or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue, self._enqueue_ops = queue, list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            if cancel_op is None:
                cancel_op = queue.close(cancel_pending_enqueues=True)
            self._cancel_op = cancel_op
            self._closed_types = _error_types(queue_closed_exception_types)
        self._lock = threading.Lock()
        self._n_running: WeakKeyDict[int] = WeakKeyDict()
        """How many threads of each session are still filling the queue."""
        self._exceptions_raised: list[Exception] = []

    def _read(self, message: QueueRunnerDef, import_scope: str | None) -> None:
        graph = get_default_graph()

        def find(name: str) -> Any:
            return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

        self._queue = find(message.queue_name)
        self._enqueue_ops = [find(name) for name in message.enqueue_op_name]
        self._close_op = find(message.close_op_name)
        self._cancel_op = find(message.cancel_op_name)
        codes = list(message.queue_closed_exception_types)
        known = {each.error_code: each for each in OpError.__subclasses__()}
        self._closed_types = tuple(known[c] for c in codes) or (OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that fill it, one for each thread."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue at the end of the input."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue and cancels what waits for room in it."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type, ...]:
        """The errors by which an operation says that the input is at its end."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of threads that had no coordinator."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name  # type: ignore[no-any-return]

    # --- threads ----------------------------------------------------------------------------

    def create_threads(
        self,
        sess: Any,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Make the threads that fill the queue in a session, unless they are running."""
        with self._lock:
            if self._n_running.get(sess, 0) > 0:
                return []
            self._n_running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        works: list[Any] = [
            (op.name, self._fill, (sess, op, coord)) for op in self._enqueue_ops
        ]
        if coord is not None:
            works.append(("close_on_stop", self._close_on_stop, (sess, coord)))
        threads = [
            threading.Thread(
                target=function,
                args=arguments,
                name=f"QueueRunnerThread-{self.name}-{label}",
                daemon=daemon,
            )
            for label, function, arguments in works
        ]
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _fill(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        """Fill the queue until it is told to stop, or the input is at its end."""
        is_counted = True
        try:
            while coord is None or not coord.should_stop():
                try:
                    sess.run(enqueue_op)
                except self._closed_types:
                    is_counted = False
                    if self._leave(sess):  # the last thread
                        self._run_quietly(sess, self._close_op)
                    return
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
                return
            logger.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if is_counted:
                self._leave(sess)

    def _leave(self, sess: Any) -> bool:
        """Count one thread less; return whether it was the last."""
        with self._lock:
            self._n_running[sess] -= 1
            return self._n_running[sess] == 0

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        """Close the queue when the coordinator stops, so that no thread waits for it."""
        coord.wait_for_stop()
        self._run_quietly(sess, self._cancel_op)

    def _run_quietly(self, sess: Any, op: Any) -> None:
        try:
            sess.run(op)
        except Exception as error:  # the session may be closed
            logger.vlog(1, "Ignored exception: %s", error)

    # --- messages ---------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Describe it in a message."""
        scope = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(scope):
            return None
        return QueueRunnerDef(
            queue_name=self.name[len(scope) :],
            enqueue_op_name=[op.name[len(scope) :] for op in self._enqueue_ops],
            close_op_name=self._close_op.name[len(scope) :],
            cancel_op_name=self._cancel_op.name[len(scope) :],
            queue_closed_exception_types=[each.error_code for each in self._closed_types],
        )

    @staticmethod
    def from_proto(
        queue_runner_def: QueueRunnerDef, import_scope: str | None = None
    ) -> QueueRunner:
        """Make a queue runner of the default graph from its message."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _error_types(types: Any) -> tuple[Any, ...]:
    if types is None:
        return (OutOfRangeError,)
    is_tuple = isinstance(types, tuple) and bool(types)
    if not is_tuple or not all(isinstance(t, type) and issubclass(t, OpError) for t in types):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
            f"but saw: {types}"
        )
    return tuple(types)


@public_v1("train.add_queue_runner")
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a queue runner to a collection of the graph, for `start_queue_runners`."""
    add_to_collection(collection, qr)


@public_v1("train.start_queue_runners")
def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all queue runners of a session's graph; return them."""
    if executing_eagerly():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        # Monitored sessions have started theirs.
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        logger.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. "
            "You can safely remove the call to this deprecated function."
        )
    threads = []
    with sess.graph.as_default():
        for runner in runners:
            threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads
