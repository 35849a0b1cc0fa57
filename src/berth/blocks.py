"""Context managers that end with their `with` block, also when Ctrl-C arrives.

Python may raise KeyboardInterrupt at the start of `__exit__`, before its first statement, or
anywhere in it: what the block has set would stay set. Here that is an entry of a `Stack`, which
C code removes when the `with` statement drops the function that it calls at the end. It does so
after the call, whether that returned or was interrupted.

A `with` statement looks `__exit__` up before it calls `__enter__`. So looking it up makes the
function, and `__enter__` ties the entries to it. A block that is entered by calling
`__enter__`, as ExitStack does, ends with the call of `__exit__`.

Invariants:
  1. An entry is in its stack only from the block's start to its end; an interrupt in
     between, or at either, leaves none.
  2. Nothing else holds the function: the frames of a traceback must not, since a traceback
     may be kept for long. Hence `partial`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Stack(dict["Use", T]):
    """What the open blocks have set, the innermost last."""

    __slots__ = ("_error",)

    def __init__(self, error: Callable[[T], Exception] | None = None) -> None:
        """Make an empty one; the error is raised for a block that ends in the wrong order."""
        super().__init__()
        self._error = error

    @property
    def innermost(self) -> T:
        """What the innermost block has set; there must be one."""
        return [*self.values()][-1]

    def remove(self, use: Use) -> None:
        """Remove what a block has set, which must be the innermost if the order counts."""
        if self._error is not None and use in self and self[use] is not self.innermost:
            raise self._error(self[use])
        self.pop(use, None)


class Use:
    """One use of a block, from its start to its end: the key of what it has set."""

    __slots__ = ("_calls", "_stacks", "_ties", "end_function", "is_begun")

    def __init__(self) -> None:
        self.end_function: Callable[[], Any] = _none
        """A weak reference to what the `with` statement calls at the end, if there is one."""
        self.is_begun = False
        self._ties: list[Any] = []
        self._calls: list[Callable[[Any], object]] = []
        self._stacks: list[Stack[Any]] = []

    def set(self, stack: Stack[T], value: T) -> None:
        """Set a value until the block ends."""
        # The function is in no variable here: see invariant 2.
        if self.end_function() is not None:
            self._ties.append(ref(self.end_function(), partial(stack.pop, self)))
        self._stacks.append(stack)
        stack[self] = value

    def enter(self, block: Block[T]) -> T:
        """Enter another block, which ends with this one."""
        return block._begin(self)

    def at_end(self, function: Callable[..., object], arguments: list[Any]) -> None:
        """Call a function of C when the block ends, with the first arguments in a list.

        If the list is empty by then, there is no call. So C code that makes a change may put
        the arguments for undoing it there, without a moment in between for an interrupt.
        """
        call = partial(next, starmap(function, arguments))
        if self.end_function() is None:
            self._calls.append(call)
        else:  # a weak reference gives itself to `call`: the default of `next`
            self._ties.append(ref(self.end_function(), call))

    def end(self) -> None:
        """Remove what was set, the last first."""
        while self._calls:
            self._calls.pop()(None)
        while self._stacks:
            self._stacks[-1].remove(self)
            self._stacks.pop()

    def drop(self) -> None:
        """Remove what was set, in any order."""
        for stack in self._stacks:
            stack.pop(self, None)


def _none() -> None:
    pass


class _Prepared(threading.local):
    def __init__(self) -> None:
        self.use: tuple[Block[Any], Use] | None = None
        """The use that a `with` statement is about to start."""
        self.by_hand: list[tuple[Block[Any], Use]] = []
        """Uses that were started by calling `__enter__`."""


_prepared = _Prepared()


class _Exit:
    """`__exit__`, which makes a function for each `with` statement that looks it up."""

    def __get__(self, block: Block[Any] | None, owner: type) -> Callable[..., Any]:
        if block is None:
            return _exit_by_hand
        use = Use()
        end = partial(_end, block, use)
        use.end_function = ref(end)
        _prepared.use = block, use
        return end


class Block(Generic[T]):
    """Base class of context managers: `_begin` sets values, which are gone at the end."""

    def _begin(self, use: Use) -> T:
        """Start a use: set what the block sets, and return what `as` gets."""
        raise NotImplementedError

    def _finish(self, use: Use) -> None:
        """End a use. What it set is removed also if this is interrupted."""
        use.end()

    def _exit_unentered(self) -> None:
        """Handle a call of `__exit__` without one of `__enter__`: by default an error."""
        raise RuntimeError("This block is not open: it was left already, or never entered.")

    def __enter__(self) -> T:
        prepared, _prepared.use = _prepared.use, None
        if prepared is not None:
            block, use = prepared
            if block is self and use.end_function() is not None:
                use.is_begun = True
                return self._begin(use)
        use = Use()
        begun = self._begin(use)
        _prepared.by_hand.append((self, use))
        return begun

    if TYPE_CHECKING:

        def __exit__(self, *error: object) -> None: ...
    else:
        __exit__ = _Exit()


def _end(block: Block[Any], use: Use, *error: object) -> None:
    if use.is_begun:
        block._finish(use)
        return
    # Looked up, and not for a `with` statement: this is a call by hand.
    by_hand = _prepared.by_hand
    for position in range(len(by_hand) - 1, -1, -1):
        if by_hand[position][0] is block:
            block._finish(by_hand[position][1])
            del by_hand[position]
            return
    block._exit_unentered()


def _exit_by_hand(block: Block[Any], *error: object) -> None:
    block.__exit__(*error)


class FunctionBlock(Block[T], ContextDecorator):
    """A block whose start is a function's call: `begin(use, *arguments)`."""

    def __init__(self, begin: Callable[..., T], *arguments: Any) -> None:
        self._call = begin
        self._arguments = arguments

    def _begin(self, use: Use) -> T:
        return self._call(use, *self._arguments)
