"""The default session: what `eval` uses where a program names none. One for each thread."""

from __future__ import annotations

import threading
from typing import Any

from berth.blocks import Stack, Use
from berth.public import public_v1


def _nesting_error(session: Any) -> Exception:
    return AssertionError(f"Nesting violated for default stack of {type(session)} objects")


class _Sessions(threading.local):
    def __init__(self) -> None:
        self.blocks: Stack[Any] = Stack(_nesting_error)


_sessions = _Sessions()


def enter_session(use: Use, session: Any) -> Any:
    """Make a session this thread's default, in a block."""
    use.set(_sessions.blocks, session)
    return session


@public_v1("get_default_session")
def get_default_session() -> Any:
    """Return this thread's default session, or None."""
    return _sessions.blocks.innermost if _sessions.blocks else None


def session_for(fetch: Any, session: Any) -> Any:
    """Return the session that ``eval`` or ``run`` uses; ValueError if there is none."""
    # The commas and quotes of each message are TensorFlow's.
    kind, verb, call, block = "tensor", "evaluate", "eval", "with sess.as_default()"
    explicit = "`eval(session=sess)`"
    if not hasattr(fetch, "op"):
        kind, verb, call, block = "operation", "execute", "run", "with sess.as_default():"
        explicit = "run(session=sess)"
    used = get_default_session() if session is None else session
    if used is None:
        raise ValueError(
            f"Cannot {verb} {kind} using `{call}()`: No default session is registered. Use "
            f"`{block}` or pass an explicit session to `{call}(session=sess)`"
        )
    if used.graph is not fetch.graph:
        which = "default" if session is None else "given"
        advice = f" Pass an explicit session to {explicit}."
        raise ValueError(
            f"Cannot use the {which} session to {verb} {kind}: the {kind}'s graph is different "
            f"from the session's graph.{advice if session is None else ''}"
        )
    return used
