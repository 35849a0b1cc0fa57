"""The errors of runs whose session ends meanwhile, in another thread."""

from __future__ import annotations

from berth.errors import CancelledError

CLOSED = "Attempted to use a closed Session."


def error_of_run(gone: str, error: Exception) -> Exception:
    """Return what a run raises whose session ended: that, and not what came of it."""
    if gone == CLOSED:
        if isinstance(error, CancelledError):  # it says what was cancelled
            return error
        return CancelledError(None, None, "Session has been closed.")
    return RuntimeError(gone)
