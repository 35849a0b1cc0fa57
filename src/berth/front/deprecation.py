"""Old names that still work say so, once in a process."""

from __future__ import annotations

import logging
import threading

from berth.blocks import FunctionBlock, Stack, Use

_log = logging.getLogger("berth")
_warned: set[str] = set()


class _Silenced(threading.local):
    def __init__(self) -> None:
        self.blocks: Stack[bool] = Stack()


_silenced = _Silenced()


def warn_deprecated(name: str, instead: str) -> None:
    """Log that a function is deprecated, the first time only."""
    if name not in _warned and not _silenced.blocks:
        _warned.add(name)
        _log.warning("%s is deprecated. Use %s instead.", name, instead)


def silence() -> FunctionBlock[None]:
    """Log no deprecated names inside of a block: TensorBoard calls this."""
    return FunctionBlock(_begin_silence)


def _begin_silence(use: Use) -> None:
    use.set(_silenced.blocks, True)
