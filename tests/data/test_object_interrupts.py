"""Ctrl-C at every moment of an operation on a queue, accumulator or reader of a session.

After an interrupt no element is lost or there twice, in the order in which they were put; no
lock is held, and what waits in another thread is served.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import berth
import berth.compat.v1 as tf
from berth.data.queue_objects import Close, Put, Queue, Take
from berth.run import host_calls
from tests.memory.interrupts import Interrupter

BERTH = Path(berth.__file__).parent
FILES = [
    str(BERTH / "data" / name)
    for name in (
        "queue_objects.py",
        "queue_kinds.py",
        "queue_ops.py",
        "accumulator_objects.py",
        "accumulators.py",
        "reader_objects.py",
        "readers.py",
    )
] + [str(BERTH / "run" / "host_calls.py"), str(BERTH / "blocks.py")]


class _AtFiles(Interrupter):
    def _enter(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        frame.f_trace_opcodes = True
        return self._step


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(host_calls, "SERVE_SECONDS", 0.002)
    # Interrupts in finalizers, which a collection may call anywhere, are tested elsewhere.
    gc.disable()
    try:
        with tf.Graph().as_default():
            yield
    finally:
        gc.enable()


def interrupted(operation: Callable[[], Any], look: Callable[[], None]) -> None:
    """Interrupt an operation at its first, second, … bytecode, and look after each."""
    n, n_interrupted = 1, 0
    while True:
        had_so_many, is_over = _AtFiles(BERTH).run(operation, n)
        look()
        if not had_so_many:
            break
        n_interrupted += not is_over
        n += 1
    assert n_interrupted > 50


KINDS: dict[str, Callable[[], Any]] = {
    "fifo": lambda: tf.FIFOQueue(9, tf.int64, shapes=[[]]),
    "shuffle": lambda: tf.RandomShuffleQueue(9, 0, tf.int64, shapes=[[]], seed=1),
    "priority": lambda: tf.PriorityQueue(9, tf.int64, [()]),
}


class Used:
    """A queue of a session."""

    def __init__(self, queue: Any, sess: Any) -> None:
        self.n = tf.placeholder(tf.int32, [])
        n_components = len(queue.dtypes)
        self.put = queue.enqueue_many([[1, 2, 3]] * n_components)
        self.put_one, self.size = queue.enqueue([4] * n_components), queue.size()
        self.take = queue.dequeue_many(self.n)
        if n_components > 1:
            self.take = self.take[0]
        self._sess = sess

    def taken(self, n: int) -> list[int]:
        return sorted(self._sess.run(self.take, {self.n: n}).tolist())

    def all(self) -> list[int]:
        return self.taken(self._sess.run(self.size))


@pytest.fixture
def sess() -> Iterator[Any]:
    with tf.Session() as sess:
        yield sess


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_put_has_put_the_first_elements(kind: str, sess: Any) -> None:
    queue = Used(KINDS[kind](), sess)

    def look() -> None:
        found = queue.all()
        assert found == [1, 2, 3][: len(found)]
        sess.run(queue.put_one)
        assert queue.all() == [4]

    interrupted(lambda: sess.run(queue.put), look)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_take_has_taken_all_or_nothing(kind: str, sess: Any) -> None:
    queue = Used(KINDS[kind](), sess)
    sess.run([queue.put, queue.put_one])

    def look() -> None:
        sess.run(queue.put_one)
        found = queue.all()
        if kind == "shuffle":
            assert len(found) in (3, 5)
        else:
            assert found in ([1, 2, 3, 4, 4], [3, 4, 4])
        sess.run(queue.put)
        sess.run(queue.put_one)

    interrupted(lambda: queue.taken(2), look)


@pytest.mark.parametrize("kind", KINDS)
def test_what_waited_gives_its_elements_back(kind: str, sess: Any) -> None:
    queue = Used(KINDS[kind](), sess)
    sess.run(queue.put)
    patience = tf.RunOptions(timeout_in_ms=1)

    def wait_for_five() -> None:
        with contextlib.suppress(tf.errors.DeadlineExceededError):
            sess.run(queue.take, {queue.n: 5}, options=patience)

    def look() -> None:
        sess.run(queue.put_one)  # which serves what the interrupt left undone
        assert queue.all() == [1, 2, 3, 4]
        sess.run(queue.put)

    interrupted(wait_for_five, look)


def test_who_waits_is_served_after_an_interrupt() -> None:
    queue = Queue("q", 9, [tf.int64], [()])
    takes = [Take(queue, 1)]
    takes[0].start()
    puts = [Put(queue, [(7,)])]

    def look() -> None:
        puts[-1].cancel()
        takes[-1].serve()
        if takes[-1].results.empty():
            assert queue.size == 0
            Put(queue, [(7,)]).start()
        _, value, error = takes[-1].results.get_nowait()
        assert (value, error, queue.size) == ([(7,)], None, 0)
        assert not queue.takes
        takes.append(Take(queue, 1))
        takes[-1].start()
        puts.append(Put(queue, [(7,)]))

    def put() -> None:
        puts[-1].start()

    interrupted(put, look)


@pytest.mark.parametrize("cancels", [False, True])
def test_an_interrupted_close_ends_what_waits(cancels: bool) -> None:
    def begin() -> None:
        queue = Queue("q", 1, [tf.int64], [()])
        scenes.append((queue, Put(queue, [(1,), (2,)]), Take(queue, 3), Close(queue)))
        scenes[-1][1].start()
        scenes[-1][2].start()

    def operation() -> None:
        queue, _, _, close = scenes[-1]
        if cancels:
            queue.cancel_puts()
        else:
            close.start()

    def look() -> None:
        queue, put, take, _ = scenes[-1]
        take.serve()
        if not queue.is_closed:
            Close(queue).start()
        assert queue.is_closed
        assert put.results.get_nowait()[1:] == ((), None)
        error = take.results.get_nowait()[2]
        assert isinstance(error, tf.errors.OutOfRangeError)
        assert (queue.size, len(queue.puts), len(queue.takes)) == (2, 0, 0)
        begin()

    scenes: list[Any] = []
    begin()
    interrupted(operation, look)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_gradients_are_counted_once(is_sparse: bool, sess: Any) -> None:
    if is_sparse:
        acc = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 1])
        apply = acc.apply_grad([1], [[2.0]], local_step=10**6)
        take = acc.take_grad(2)[1]
    else:
        acc = tf.ConditionalAccumulator(tf.float32, shape=[1, 1])
        apply, take = acc.apply_grad([[2.0]], local_step=10**6), acc.take_grad(2)
    count = acc.num_accumulated()

    def both() -> None:
        sess.run(apply)
        sess.run(apply)
        assert sess.run(take).tolist() == [[2.0]]

    def look() -> None:
        n = sess.run(count)
        assert n in (0, 1, 2)
        for _ in range(2 - n):
            sess.run(apply)
        assert sess.run(take).tolist() == [[2.0]]
        assert sess.run(count) == 0

    interrupted(both, look)


def test_readers_lose_at_most_the_record_of_the_interrupted_run(
    sess: Any, tmp_path: Path
) -> None:
    path = tmp_path / "lines"
    path.write_text("".join(f"{k}\n" for k in range(1000)))
    names = tf.FIFOQueue(9, tf.string, shapes=[[]])
    reader = tf.TextLineReader()
    read, count = reader.read(names).value, reader.num_records_produced()
    sess.run(names.enqueue(str(path)))
    seen = [int(sess.run(read))]

    def look() -> None:
        following = int(sess.run(read))
        assert following in (seen[-1] + 1, seen[-1] + 2)
        assert sess.run(count) == following + 1
        seen.append(following)

    interrupted(lambda: sess.run(read), look)
