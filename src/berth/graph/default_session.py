"""The default session: what `eval` uses where a program names none. One for each thread."""

from __future__ import annotations

import threading
from typing import Any

from berth.public import public_v1


class _Sessions(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []


_sessions = _Sessions()


def enter_session(session: Any) -> None:
    """Make a session this thread's default."""
    _sessions.stack.append(session)


def leave_session(session: Any) -> None:
    """Undo `enter_session`; the session must be the innermost."""
    stack = _sessions.stack
    if not stack or stack[-1] is not session:
        raise AssertionError(f"Nesting violated for default stack of {type(session)} objects")
    stack.pop()


def remove_session(session: Any) -> None:
    """Undo the last `enter_session` of this session, whatever was entered since."""
    stack = _sessions.stack
    for position in range(len(stack) - 1, -1, -1):
        if stack[position] is session:
            del stack[position]
            return


@public_v1("get_default_session")
def get_default_session() -> Any:
    """Return this thread's default session, or None."""
    return _sessions.stack[-1] if _sessions.stack else None


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
