"""Finalizers that lose no Ctrl-C: work for when an object is gone, and weak collections.

Python drops what a finalizer or the callback of a weak reference raises, and KeyboardInterrupt
with it ("Exception ignored in …"). Callbacks of C have no moment at which it could be raised.
So the collections here use only those, unlike `weakref.WeakSet` and its like. Where the
work is Python code, the interrupt is raised again after it, in the program that was running.

Invariants:
  1. An interrupt in a `Finalizer` is raised in the main thread when the callback is over, by C
     code that is called when the last variable of the callback is gone.
  2. The work is done to its end: again from its beginning, if it was interrupted. If not even
     that can be begun, the next `Finalizer` to be made does it.
"""

from __future__ import annotations

import _thread
import atexit
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat, starmap
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Finalizer:
    """Calls a function when an object is gone, once; it must be one that may be repeated."""

    __slots__ = ("_at_exit", "_interrupts", "_tie", "_watch", "_work")

    def __init__(
        self, of: object, work: Callable[..., object], *arguments: Any, at_exit: bool = False
    ) -> None:
        """Prepare the call; `at_exit` if it is also to be made when the program ends."""
        for interrupted in list(_begun):
            interrupted()
        self._at_exit = at_exit
        self._work: list[Callable[[], object]] = [partial(work, *arguments)]
        self._interrupts: list[tuple[()]] = []
        """Whether an interrupt has to be raised again when the callback is over."""
        tie = _Tie(self)
        self._tie = ref(tie, partial(next, starmap(_thread.interrupt_main, self._interrupts)))
        ties = [tie]
        del tie
        # C code passes the only reference of the tie on to the callback, having noted that the
        # work has begun; from then on an interrupt counts as lost until the callback says no.
        call = map(
            _finalize,
            map(list.pop, repeat(ties, 1)),
            map(self._interrupts.append, [()]),
            starmap(_begun.__setitem__, [(self, None)]),
        )
        self._watch: ref[Any] | None = ref(of, partial(next, call))
        _awaited[self] = None

    def __call__(self) -> None:
        """Do the work now, unless it was done."""
        for work in list(self._work):
            work()
        self.detach()

    def detach(self) -> None:
        """Let the work be, from now on."""
        self._work.clear()
        _awaited.pop(self, None)
        _begun.pop(self, None)
        self._watch = None  # which refers to this object


_awaited: dict[Finalizer, None] = {}
"""Those whose object lives."""
_begun: dict[Finalizer, None] = {}
"""Those whose work was begun by a callback, and not ended."""


def _end_of_program() -> None:
    for each in list(_awaited):
        if each._at_exit:
            each()
        else:
            each.detach()  # a process that ends frees everything by itself


atexit.register(_end_of_program)


class _Tie:
    """What ends with the callback that has it."""

    __slots__ = ("__weakref__", "finalizer")

    def __init__(self, finalizer: Finalizer) -> None:
        self.finalizer = finalizer


def _finalize(tie: _Tie, *noted: object) -> None:
    """Do the work of a finalizer, through any number of interrupts."""
    finalizer = tie.finalizer
    is_interrupted = False
    while True:
        try:
            finalizer()
            break
        except KeyboardInterrupt:
            is_interrupted = True
        except BaseException:  # Python reports it
            del _begun[finalizer], _awaited[finalizer], finalizer._work[:]
            del finalizer._interrupts[0]
            raise
    if not is_interrupted:
        del finalizer._interrupts[0]  # not by a call: Python raises interrupts after calls


class WeakSet(Generic[T]):
    """A set of objects that leave it when nothing else refers to them."""

    def __init__(self) -> None:
        self._refs: set[ref[T]] = set()

    def add(self, each: T) -> None:
        """Add an object, unless it is there."""
        self._refs.add(ref(each, self._refs.discard))

    def clear(self) -> None:
        """Remove all."""
        self._refs.clear()

    def __len__(self) -> int:
        return len(self._refs)

    def __iter__(self) -> Iterator[T]:
        living = [reference() for reference in list(self._refs)]
        return iter([each for each in living if each is not None])


class WeakKeyDict(Generic[T]):
    """Values for objects, which leave it when nothing else refers to the objects."""

    def __init__(self) -> None:
        self._values: dict[ref[Any], T] = {}

    def get(self, key: object, default: T) -> T:
        """Return the value for an object."""
        return self._values.get(ref(key), default)

    def __getitem__(self, key: object) -> T:
        return self._values[ref(key)]

    def __setitem__(self, key: object, value: T) -> None:
        self._values[ref(key, self._values.pop)] = value

    def __len__(self) -> int:
        return len(self._values)


class WeakValueDict(Generic[T]):
    """Objects by keys, which leave it when nothing else refers to the objects."""

    def __init__(self) -> None:
        self._refs: dict[Any, ref[T]] = {}

    def get(self, key: Any) -> T | None:
        """Return the object of a key, if it is there."""
        found = self._refs.get(key)
        return None if found is None else found()

    def __setitem__(self, key: Any, value: T) -> None:
        self._refs[key] = ref(value, partial(next, starmap(self._refs.pop, [(key, None)])))

    def __len__(self) -> int:
        return len(self._refs)
