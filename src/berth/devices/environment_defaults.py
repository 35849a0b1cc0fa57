"""Defaults from the environment for how much memory a program's GPUs take.

BERTH_MEMORY and BERTH_GROWTH (``berth run --memory``, ``--growth``) apply where the program
sets nothing itself. What it does set overrides them, and the log says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from berth.errors import explain
from berth.memory.limits import Limit, environment_limit
from berth.units import parse_share

LogOnce = Callable[[int, str], None]


def is_switched_on(env: Mapping[str, str], name: str) -> bool:
    """Tell whether a variable switches something on: it is set, and neither empty nor 0."""
    return env.get(name, "") not in ("", "0")


def overridden(default: str, choice: str) -> str:
    """Write the message that the program's choice overrides a default."""
    return f"{default} is overridden by {choice}, which the program sets."


class EnvironmentDefaults:
    """How much memory a program takes, where it does not say so itself."""

    def __init__(self, env: Mapping[str, str], log_once: LogOnce) -> None:
        self._log_once = log_once
        self._memory = env.get("BERTH_MEMORY", "").strip()
        self._share = _read(self._memory) if self._memory else None
        self._grows = is_switched_on(env, "BERTH_GROWTH")

    def limit(self, total_bytes: int, chosen: Limit | None) -> Limit | None:
        """Return the default limit of a card; None if the program has set one."""
        if self._share is None:
            return None
        default = f"BERTH_MEMORY={self._memory}"
        if chosen is not None:
            self._log_once(logging.WARNING, overridden(default, chosen.source))
            return None
        return environment_limit(total_bytes, self._share, default)

    def growth(self, chosen: bool | None) -> bool:
        """Tell whether memory grows."""
        if self._grows and chosen is False:
            self._log_once(logging.WARNING, overridden("BERTH_GROWTH", "allow_growth=False"))
        return self._grows if chosen is None else chosen


def _read(text: str) -> int | float:
    try:
        return parse_share(text)
    except ValueError as error:
        raise ValueError(explain(str(error), "It is what BERTH_MEMORY says.")) from None
