"""Input by queues: producers, batches, queue runners, and what becomes of their threads."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import berth.compat.v1 as tf
from tests.threads import until


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    n_threads = threading.active_count()
    with tf.Graph().as_default() as graph:
        yield graph
    assert until(lambda: threading.active_count() <= n_threads), "a thread is left"


def run_all(fetches: Any) -> list[Any]:
    """Run until the input is at its end, as programs do; return what came."""
    coord = tf.train.Coordinator()
    found = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while not coord.should_stop():
                found.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
    return found


def test_producers_give_whole_epochs() -> None:
    names = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    numbers = tf.train.range_input_producer(3, num_epochs=2, seed=3)
    row = tf.train.slice_input_producer([[1, 2], ["x", "y"]], num_epochs=3, shuffle=False)
    found = run_all([names.dequeue(), numbers.dequeue(), *row])
    assert [f[0] for f in found] == [b"a", b"b", b"c"] * 2
    order = [int(f[1]) for f in found]
    assert sorted(order[:3]) == sorted(order[3:]) == [0, 1, 2]
    assert [(int(f[2]), f[3]) for f in found] == [(1, b"x"), (2, b"y")] * 3


def test_names_are_those_of_tensorflow(graph: Any) -> None:
    queue = tf.train.string_input_producer(["a", "b"], num_epochs=2)
    tf.train.batch([queue.dequeue(), tf.constant(1)], 2)
    tf.train.shuffle_batch([tf.zeros([3])], 2, 10, 3)
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert [(r.name, [op.name for op in r.enqueue_ops], r.close_op.name) for r in runners] == [
        (
            "input_producer",
            ["input_producer/input_producer_EnqueueMany"],
            "input_producer/input_producer_Close",
        ),
        ("batch/fifo_queue", ["batch/fifo_queue_enqueue"], "batch/fifo_queue_Close"),
        (
            "shuffle_batch/random_shuffle_queue",
            ["shuffle_batch/random_shuffle_queue_enqueue"],
            "shuffle_batch/random_shuffle_queue_Close",
        ),
    ]
    assert [s.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)] == [
        "input_producer/fraction_of_32_full:0",
        "batch/fraction_of_32_full:0",
        "shuffle_batch/fraction_over_3_of_7_full:0",
    ]
    assert graph.get_operation_by_name("batch").type == "QueueDequeueManyV2"
    [epochs] = tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES)
    assert epochs.name == "input_producer/limit_epochs/epochs:0"
    message = runners[0].to_proto()
    assert message.queue_name == "input_producer"
    again = tf.train.QueueRunner.from_proto(message)
    assert again.enqueue_ops == runners[0].enqueue_ops
    assert again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)


def test_batches_of_every_kind() -> None:
    number = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    plain = tf.train.batch([number], 2, allow_smaller_final_batch=True)
    assert plain.shape.as_list() == [None]
    assert [f.tolist() for f in run_all(plain)] == [[0, 1], [2, 3], [4]]


def test_batches_drop_what_does_not_fill_one_and_keep_dictionaries() -> None:
    number = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    made = tf.train.batch({"n": number, "twice": number * 2}, 2)
    found = run_all(made)
    assert [f["n"].tolist() for f in found] == [[0, 1], [2, 3]]
    assert [f["twice"].tolist() for f in found] == [[0, 2], [4, 6]]


def test_padded_batches() -> None:
    number = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    padded = tf.train.batch([tf.range(number)], 2, dynamic_pad=True)
    assert [f.tolist() for f in run_all(padded)] == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]


def test_batches_keep_what_is_asked_for() -> None:
    number = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
    even = tf.train.maybe_batch([number], tf.equal(number % 2, 0), 2)
    assert [f.tolist() for f in run_all(even)] == [[0, 2], [4, 6]]


def test_masked_and_joined_batches() -> None:
    rows = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue_many(4)
    masked = tf.train.maybe_batch([rows], rows > 1, 2, enqueue_many=True)
    assert [f.tolist() for f in run_all(masked)] == [[2, 3]]


def test_joined_batches_have_a_thread_for_each() -> None:
    queues = [tf.train.range_input_producer(4, num_epochs=1, shuffle=False) for _ in range(2)]
    joined = tf.train.batch_join([[queue.dequeue()] for queue in queues], 4)
    found = [int(n) for f in run_all(joined) for n in f]
    assert sorted(found) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_shuffled_batches_have_all_elements() -> None:
    number = tf.train.range_input_producer(20, num_epochs=1).dequeue()
    shuffled = tf.train.shuffle_batch([number], 5, 12, 4, num_threads=2, seed=1)
    assert sorted(int(n) for f in run_all(shuffled) for n in f) == list(range(20))


def test_an_error_in_a_runner_is_raised_in_the_main_program() -> None:
    number = tf.train.range_input_producer(5, shuffle=False).dequeue()
    checked = tf.debugging.assert_less(number, 3, message="too large")
    with tf.control_dependencies([checked]):
        number = tf.identity(number)
    made = tf.train.batch([number], 2)
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(made).tolist() == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(made)  # the queue is closed with one element in it
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            coord.join(threads)


def test_threads_end_with_their_session() -> None:
    number = tf.train.range_input_producer(5).dequeue()
    made = tf.train.batch([number], 2)
    coord = tf.train.Coordinator()
    sess = tf.Session()
    threads = tf.train.start_queue_runners(sess, coord)
    assert tf.train.start_queue_runners(sess, coord) == []  # they run already
    assert len(sess.run(made)) == 2
    sess.close()
    assert until(lambda: not any(thread.is_alive() for thread in threads))
    with pytest.raises((tf.errors.CancelledError, RuntimeError)):
        coord.join(threads)


def test_bad_arguments_are_refused() -> None:
    queue = tf.FIFOQueue(2, tf.int32)
    for call, words in (
        (
            lambda: tf.train.string_input_producer([]),
            "string_input_producer requires a non-null input tensor",
        ),
        (lambda: tf.train.batch([], 2), "Expected at least one tensor in batch()."),
        (
            lambda: tf.train.batch([tf.placeholder(tf.float32, name="p")], 2),
            'Cannot infer Tensor\'s rank: Tensor("p:0", dtype=float32)',
        ),
        (
            lambda: tf.train.shuffle_batch([tf.zeros(3)], 2, 2, 3),
            "capacity 2 must be bigger than min_after_dequeue 3.",
        ),
        (lambda: tf.train.input_producer(1), "Shape () must have rank at least 1"),
        (
            lambda: tf.train.slice_input_producer([]),
            "Expected at least one tensor in slice_input_producer().",
        ),
        (lambda: tf.train.limit_epochs(1, 0), "num_epochs must be > 0 not 0."),
        (lambda: tf.train.QueueRunner(queue, []), "Must provide queue and enqueue_ops."),
        (
            tf.train.start_queue_runners,
            "Cannot start queue runners: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to "
            "tf.start_queue_runners(sess=sess)",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(words)) as caught:
            call()
        assert str(caught.value) == words
    with pytest.raises(TypeError) as error:
        tf.train.QueueRunner(queue, [tf.no_op()], queue_closed_exception_types=int)
    assert str(error.value) == (
        "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
        "saw: <class 'int'>"
    )
