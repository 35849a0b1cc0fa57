"""Old names that still work say so, once in a process."""

from __future__ import annotations

import logging
from functools import cache

_log = logging.getLogger("berth")


@cache
def warn_deprecated(name: str, instead: str) -> None:
    """Log that a function is deprecated, the first time only."""
    _log.warning("%s is deprecated. Use %s instead.", name, instead)
