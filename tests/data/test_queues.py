"""Queues: order, waiting, closing, and errors in TensorFlow's words."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.data import queue_objects
from tests.threads import until


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    n_threads = threading.active_count()
    with tf.Graph().as_default() as graph:
        yield graph
    assert until(lambda: threading.active_count() <= n_threads), "a thread is left"


class Blocked(threading.Thread):
    """A run that is expected to wait, in a thread."""

    def __init__(self, sess: Any, fetches: Any) -> None:
        super().__init__()
        self.result: Any = None
        self.error: Any = None
        self._run = lambda: sess.run(fetches)
        waiting = _waiting(sess)
        n_waiting = len(waiting)
        self.start()
        assert until(lambda: len(waiting) > n_waiting)

    def run(self) -> None:
        try:
            self.result = self._run()
        except tf.errors.OpError as error:
            self.error = error

    def end(self) -> Blocked:
        self.join(5)
        assert not self.is_alive()
        return self


def _waiting(sess: Any) -> Any:
    return sess._engine.state.objects._waiting


def first_line(error: Any) -> str:
    return str(error.message).split("\n")[0]


def failing(function: Callable[[], Any], kind: Any = tf.errors.InvalidArgumentError) -> str:
    with pytest.raises(kind) as caught:
        function()
    return str(getattr(caught.value, "message", caught.value)).split("\n")[0]


def test_operations_have_tensorflows_names_and_shapes() -> None:
    with tf.name_scope("a"):
        queue = tf.FIFOQueue(3, [tf.float32, tf.int32], shapes=[[], [2]])
    made = [
        queue.enqueue((1.0, [1, 2])),
        queue.enqueue_many(([1.0], [[1, 2]])),
        queue.dequeue()[0].op,
        queue.dequeue_many(2)[0].op,
        queue.dequeue_up_to(2)[0].op,
        queue.close(),
        queue.size().op,
        queue.is_closed().op,
    ]
    assert [(op.name, op.type) for op in made] == [
        ("fifo_queue_enqueue", "QueueEnqueueV2"),
        ("fifo_queue_EnqueueMany", "QueueEnqueueManyV2"),
        ("fifo_queue_Dequeue", "QueueDequeueV2"),
        ("fifo_queue_DequeueMany", "QueueDequeueManyV2"),
        ("fifo_queue_DequeueUpTo", "QueueDequeueUpToV2"),
        ("fifo_queue_Close", "QueueCloseV2"),
        ("fifo_queue_Size", "QueueSizeV2"),
        ("fifo_queue_Is_Closed", "QueueIsClosedV2"),
    ]
    assert queue.name == "a/fifo_queue"
    assert [t.shape.as_list() for t in made[3].outputs] == [[2], [2, 2]]
    assert [t.shape.as_list() for t in made[4].outputs] == [[None], [None, 2]]
    assert queue.queue_ref.device == "/device:CPU:*"
    assert queue.dtypes == [tf.float32, tf.int32]
    assert queue.names is None


def test_elements_come_in_order_and_leave_a_closed_queue(graph: Any) -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    put, take, close = queue.enqueue_many([[1, 2, 3]]), queue.dequeue(), queue.close()
    up_to, size = queue.dequeue_up_to(5), queue.size()
    with tf.Session() as sess:
        sess.run(put)
        assert sess.run(take) == 1
        assert sess.run([size, queue.is_closed()]) == [2, False]
        sess.run(close)
        assert sess.run(queue.is_closed())
        assert sess.run(up_to).tolist() == [2, 3]
        name = sess._engine.state.objects.of(queue.queue_ref.value).name
        assert name.endswith("_fifo_queue")
        for fetch, error, words in (
            (take, tf.errors.OutOfRangeError, _insufficient(name, 1)),
            (up_to, tf.errors.OutOfRangeError, _insufficient(name, 5)),
            (put, tf.errors.CancelledError, f"FIFOQueue '{name}' is closed."),
            (close, tf.errors.CancelledError, f"Queue '{name}' is already closed."),
        ):
            assert failing(lambda fetch=fetch: sess.run(fetch), error) == words  # type: ignore[misc]


def _insufficient(name: str, n: int) -> str:
    return (
        f"FIFOQueue '{name}' is closed and has insufficient elements (requested {n}, "
        "current size 0)"
    )


def test_a_blocked_run_lets_others_run() -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    value = tf.placeholder(tf.int32, [])
    take, put = queue.dequeue() * 2, queue.enqueue(value)
    fill = queue.enqueue_many([list(range(7))])
    many = queue.dequeue_many(5)
    with tf.Session() as sess:
        blocked = Blocked(sess, take)
        sess.run(put, {value: 21})
        assert blocked.end().result == 42
        blocked = Blocked(sess, fill)  # more than there is room for
        assert sess.run(many).tolist() == [0, 1, 2, 3, 4]
        assert blocked.end().error is None
        assert sess.run(queue.size()) == 2


def test_one_run_may_take_what_it_puts_itself() -> None:
    first, second = (tf.FIFOQueue(2, tf.int32, shapes=[[]]) for _ in range(2))
    taken = first.dequeue()
    moved = second.dequeue()
    put_first = first.enqueue(moved + 1)
    put_second = second.enqueue(1)
    with tf.Session() as sess:
        assert sess.run([taken, put_first, put_second]) == [2, None, None]


def test_closing_a_session_cancels_its_runs() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue_many([[1, 2]])
    for fetch, words in (
        (take, "Dequeue operation was cancelled"),
        (put, "Enqueue operation was cancelled"),
    ):
        sess = tf.Session()
        blocked = Blocked(sess, fetch)
        sess.close()
        assert isinstance(blocked.end().error, tf.errors.CancelledError)
        assert first_line(blocked.error) == words


def test_a_queue_closed_while_it_is_read() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    two, put, close = queue.dequeue_many(2), queue.enqueue(7), queue.close()
    with tf.Session() as sess:
        blocked = Blocked(sess, two)
        sess.run(put)
        sess.run(close)
        assert isinstance(blocked.end().error, tf.errors.OutOfRangeError)
        assert "(requested 1, current size 0)" in first_line(blocked.error)
        assert sess.run([queue.size(), queue.dequeue()]) in ([1, 7], [0, 7])


def test_close_waits_for_what_came_before_or_cancels_it() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, close, take = queue.enqueue_many([[1, 2]]), queue.close(), queue.dequeue_many(2)
    cancel = queue.close(cancel_pending_enqueues=True)
    with tf.Session() as sess:
        putting, closing = Blocked(sess, put), Blocked(sess, close)
        assert sess.run(take).tolist() == [1, 2]
        assert putting.end().error is None
        assert closing.end().error is None
    with tf.Session() as sess:
        putting = Blocked(sess, put)
        sess.run(cancel)
        assert first_line(putting.end().error) == "Enqueue operation was cancelled"
        assert sess.run(queue.size()) == 1


@pytest.mark.parametrize("by", ["options", "config"])
def test_a_timeout_ends_a_wait_and_takes_nothing(by: str) -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    put, two = queue.enqueue(7), queue.dequeue_many(2)
    config = tf.ConfigProto(operation_timeout_in_ms=3 if by == "config" else 0)
    options = tf.RunOptions(timeout_in_ms=3) if by == "options" else None
    with tf.Session(config=config) as sess:
        sess.run(put)
        message = failing(
            lambda: sess.run(two, options=options), tf.errors.DeadlineExceededError
        )
        assert message == "Timed out waiting for notification"
        assert sess.run(queue.size()) == 1


def test_ctrl_c_ends_a_wait() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue(7)
    with tf.Session() as sess:
        waiting, main = _waiting(sess), threading.main_thread().ident
        assert main is not None

        def interrupt() -> None:
            until(lambda: bool(waiting))
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            sess.run(take)
        thread.join()
        sess.run(put)
        assert sess.run([take, queue.size()])[0] == 7


def test_random_shuffle_draws_as_tensorflow() -> None:
    queue = tf.RandomShuffleQueue(10, 3, tf.int32, shapes=[[]], seed=5)
    fill, take = queue.enqueue_many([list(range(10))]), queue.dequeue()
    three, close, rest = queue.dequeue_many(3), queue.close(), queue.dequeue_up_to(5)
    with tf.Session() as sess:
        sess.run(fill)
        assert [int(sess.run(take)) for _ in range(4)] == [1, 2, 0, 4]
        assert sess.run(three).tolist() == [8, 6, 9]
        blocked = Blocked(sess, take)  # three are kept back
        sess.run(close)
        assert blocked.end().result in (3, 5, 7)
        assert len(sess.run(rest)) == 2
    tf.set_random_seed(3)
    shared = tf.RandomShuffleQueue(20, 2, tf.int32, [[]], shared_name="zz")
    attrs = shared.queue_ref.op.attrs
    assert (attrs["seed"], attrs["seed2"]) == (3, 1571000509)


def test_padding_and_priority() -> None:
    padded = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None], [None]])
    puts = [padded.enqueue(([1, 2], ["a"])), padded.enqueue(([1], ["b", "c"]))]
    batch = padded.dequeue_many(2)
    assert [t.shape.as_list() for t in batch] == [[2, None], [2, None]]
    first = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    put = first.enqueue_many(([3, 1, 2, 1], ["c", "a", "b", "a2"]))
    take = first.dequeue()
    with tf.Session() as sess:
        for op in puts:
            sess.run(op)
        numbers, texts = sess.run(batch)
        assert numbers.tolist() == [[1, 2], [1, 0]]
        assert texts.tolist() == [[b"a", b""], [b"b", b"c"]]
        sess.run(put)
        assert [sess.run(take)[1] for _ in range(4)] == [b"a", b"a2", b"b", b"c"]


def test_named_components_and_a_queue_by_index() -> None:
    queue = tf.FIFOQueue(3, [tf.float32, tf.int32], [[], [2]], names=["a", "b"])
    put, take = queue.enqueue({"a": 1.0, "b": [1, 2]}), queue.dequeue()
    index = tf.placeholder(tf.int32, [])
    one, two = (tf.FIFOQueue(5, [tf.float32], shapes=[[]]) for _ in range(2))
    chosen = tf.QueueBase.from_list(index, [one, two])
    choose = chosen.enqueue(1.0)
    with tf.Session() as sess:
        sess.run(put)
        taken = sess.run(take)
        assert taken["a"] == 1.0
        assert taken["b"].tolist() == [1, 2]
        sess.run(choose, {index: 1})
        assert sess.run([one.size(), two.size()]) == [0, 1]
        assert failing(lambda: sess.run(choose, {index: 5})) == "indices = 5 is not in [0, 2)"


def test_queues_are_shared_by_name_within_a_session() -> None:
    one, two = (tf.FIFOQueue(5, tf.float32, shared_name="sh") for _ in range(2))
    larger = tf.FIFOQueue(7, tf.float32, shared_name="sh")
    other = tf.FIFOQueue(5, tf.int32, shared_name="sh")
    put = one.enqueue(1.0)
    with tf.Session() as sess:
        sess.run(put)
        assert sess.run(two.size()) == 1
        assert failing(lambda: sess.run(larger.size())) == (
            "Shared queue 'sh' has capacity 5 but requested capacity was 7"
        )
        assert failing(lambda: sess.run(other.size())) == (
            "Shared queue 'sh' has component types float but requested component types were int32"
        )
        with tf.Session() as another:
            assert another.run(two.size()) == 0


def test_queues_in_conditionals_and_loops() -> None:
    queue = tf.FIFOQueue(9, tf.int32, shapes=[[]])
    flag = tf.placeholder(tf.bool, [])
    maybe = tf.cond(flag, lambda: tf.group(queue.enqueue(4)), tf.no_op)
    total = tf.while_loop(lambda k, _: k < 3, lambda k, s: (k + 1, s + queue.dequeue()), (0, 0))
    with tf.Session() as sess:
        sess.run(maybe, {flag: False})
        assert sess.run(queue.size()) == 0
        blocked = Blocked(sess, total)
        for _ in range(3):
            sess.run(maybe, {flag: True})
        assert blocked.end().result == (3, 12)


def test_wrong_elements_are_refused() -> None:
    queue = tf.FIFOQueue(3, [tf.float32, tf.int32], [[], [2]])
    plain = tf.FIFOQueue(3, tf.float32)
    fed = tf.placeholder(tf.int32)
    n = tf.placeholder(tf.int32)
    named = tf.FIFOQueue(3, [tf.float32], names=["a"])
    for build, words in (
        (lambda: queue.enqueue((1.0, [1, 2, 3])), "Shapes (3,) and (2,) are incompatible"),
        (lambda: plain.enqueue_many([1.0]), "Shape () must have rank at least 1"),
        (
            lambda: queue.enqueue_many(([1.0], [[1, 2], [3, 4]])),
            "Dimensions 1 and 2 are not compatible",
        ),
        (lambda: named.enqueue(1.0), "You must enqueue a dictionary in a Queue with names"),
        (
            lambda: named.enqueue({"b": 1.0}),
            "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
            "['b'],Queue: ['a']",
        ),
        (lambda: plain.enqueue({"a": 1}), "Queue must have names to enqueue a dictionary"),
        (
            lambda: tf.FIFOQueue(3, [tf.float32], shapes=[[], []]),
            "Queue shapes must have the same length as dtypes, received len(shapes)=2, "
            "len(dtypes)=1",
        ),
    ):
        assert failing(build, ValueError) == words
    with tf.Session() as sess:
        for fetch, value, words in (
            (queue.enqueue((1.0, fed)), [1, 2, 3], "component 1. Expected [2], got [3]"),
            (queue.enqueue_many(([1.0], fed)), [[1]], "component 1. Expected [1,2], got [1,1]"),
        ):
            message = failing(lambda f=fetch, v=value: sess.run(f, {fed: v}))  # type: ignore[misc]
            assert message == f"Shape mismatch in tuple {words}"
        many = queue.dequeue_many(n)
        message = failing(lambda: sess.run(many, {n: -2}))
        assert message == "DequeueManyOp requested -2 < 0 elements"
        assert [a.shape for a in sess.run(many, {n: 0})] == [(0,), (0, 2)]
        message = failing(lambda: sess.run(plain.dequeue_many(1)))
        assert message.startswith("FIFOQueue's DequeueMany and DequeueUpTo require the")


def test_cancelled_batches_give_back_in_order() -> None:
    queue = queue_objects.Queue("q", 9, [tf.int32], [()])
    put = queue_objects.Put(queue, [(np.array(k),) for k in range(3)])
    put.start()
    many = queue_objects.Take(queue, 5)
    many.start()
    assert queue.size == 0
    one = queue_objects.Take(queue, 1)
    one.start()
    assert one.results.empty()
    many.cancel()
    many.cancel()
    _, value, error = one.results.get_nowait()
    assert error is None
    assert int(value[0][0]) == 0
    assert queue.size == 2
