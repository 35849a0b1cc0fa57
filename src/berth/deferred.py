"""Work that may arrive at any moment, to be done under a lock.

Giving memory back is such work. A finalizer does it, and the garbage collector runs
finalizers wherever a thread happens to be: also in the middle of a section that holds
the very lock the work needs. Waiting there would be waiting for oneself, and entering
a second time would find things half changed. So the work is put into a queue, and the thread
that has the lock, or gets it without waiting, does it:

    with lock:
        work.drain()    # first: what follows should see its effects
        ...
    work.flush()        # last, also after an error: see invariant 3

Invariants:
  1. `post` and `flush` never wait for the lock.
  2. Each item is handled once, in the order of posting, with the lock held.
  3. Nothing is left behind. An item posted while the lock was taken is in the queue
     before the lock is released, so it is seen by the holder's `flush`.
  4. An error of the handler comes out of the call that drained. Its item is done with;
     those after it wait for the next drain.
  5. An interrupt never leaves the lock acquired. The item that it interrupts is not handled
     again: a handler that must be whole has to be so by itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class DeferredWork(Generic[T]):
    """A queue of items to handle under a lock that must not be waited for."""

    def __init__(self, lock: threading.Lock, handle: Callable[[T], None]) -> None:
        self._lock = lock
        self._handle = handle
        self.pending: deque[T] = deque()
        """What is not handled yet. Where calls are dear, look here before you make one."""

    def post(self, item: T) -> None:
        """Hand an item over: it is handled now, or by the thread that holds the lock."""
        self.pending.append(item)
        self.flush()

    def flush(self) -> None:
        """Handle all items, unless another thread, or an outer call, is at it."""
        # Again after each release: items may have come while others saw the lock taken.
        while self.pending:
            acquired: list[bool] = []
            try:
                # One C call acquires the lock and notes it. After `lock.acquire()` alone, an
                # interrupt could come before anything releases it.
                acquired.extend(map(self._lock.acquire, (False,)))
                if not acquired[0]:
                    return
                self.drain()
            finally:
                if acquired and acquired[0]:
                    self._lock.release()

    def drain(self) -> None:
        """Handle all items; for the holder of the lock only."""
        while self.pending:
            self._handle(self.pending.popleft())
