"""The number of threads of the matrix library: the smallest share, and afterwards as before."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import numpy as np
import pytest

import berth
from berth.blocks import FunctionBlock
from berth.ops.opdef import Parts
from berth.run.blas import BlasThreads, blas_threads
from berth.run.parts import over_pool
from berth.run.threads import Pool, share_cores
from tests.memory.interrupts import Interrupter


class Library:
    """A matrix library whose number of threads is the process's, as OpenBLAS's is."""

    def __init__(self, number=8):
        self.number = number
        self.threads = BlasThreads(lambda: self.number, self.set)

    def set(self, number):
        self.number = number

    def share(self, number):
        return _Share(self.threads, number)


class _Share(FunctionBlock):
    def __init__(self, threads, number):
        super().__init__(threads.begin, number)
        self.threads = threads

    def _finish(self, use):
        super()._finish(use)
        self.threads.settle()


def test_the_smallest_share_counts():
    library = Library()
    with library.share(4):
        with library.share(1):
            assert library.number == 1
            with library.share(2):
                assert library.number == 1
        assert library.number == 4
    assert library.number == 8


@pytest.mark.parametrize("seed", range(10))
def test_shares_may_end_in_any_order(seed):
    library, rng = Library(), random.Random(seed)
    held = [library.share(number) for number in (1, 2, 3, 1)]
    for share in held:
        share.__enter__()
    rng.shuffle(held)
    for share in held:
        assert library.number <= 3
        share.__exit__()
    assert library.number == 8


def test_the_number_of_the_program_is_kept():
    library = Library()
    with library.share(1):
        pass
    library.number = 5
    with library.share(1):
        assert library.number == 1
    assert library.number == 5


def test_threads_that_overlap_leave_the_number_as_it_was():
    library, meeting = Library(), threading.Barrier(4)

    def work():
        for _ in range(200):
            meeting.wait()
            with library.share(1):
                assert library.number == 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert library.number == 8


def test_the_next_share_mends_what_an_interrupt_left():
    library = Library()
    interrupter, n, is_reached = Interrupter(Path(berth.__file__).parent), 0, True

    def operation():
        with library.share(1):
            pass

    while is_reached:
        n += 1
        is_reached, _ = interrupter.run(operation, n)
        operation()
        assert library.number == 8
    assert n > 10


def test_a_child_holds_no_share_of_its_parent():
    library = Library()
    with library.share(1):
        library.threads.forget_shares()
        assert library.number == 8


@pytest.mark.skipif(blas_threads() is None, reason="NumPy has another matrix library")
def test_parts_leave_the_library_as_it_was():
    blas = blas_threads()
    before = blas._get()
    pool = Pool(2)
    try:
        square = np.ones((8, 8), "f4")
        seen = []

        def work():
            seen.append(blas._get())
            return square @ square

        function, arguments = over_pool(Parts([(work, ()), (work, ())]), pool)
        for _ in range(50):
            function(*arguments)
    finally:
        pool.close()
    assert set(seen) == {1}
    assert blas._get() == before
    with share_cores(1):
        assert blas._get() == 1
