"""What whoever starts a program wishes of its GPUs, beside what the program says.

BERTH_MEMORY and BERTH_GROWTH (``berth run --memory``, ``--growth``) count where the program
says nothing itself. Where it does, the wish gives way, and the log tells of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from berth.errors import explain
from berth.memory.limits import Limit, wished_limit
from berth.units import parse_share

Say = Callable[[int, str], None]


def is_wished(env: Mapping[str, str], name: str) -> bool:
    """Tell whether a variable switches something on: it is there, and neither empty nor 0."""
    return env.get(name, "") not in ("", "0")


def gives_way(wish: str, said: str) -> str:
    """Say that what the program asks for counts, and not what was wished of it."""
    return f"{wish} gives way to {said}, which the program asks for."


class EnvironmentDefaults:
    """How much memory a program is to take, if it does not say so itself."""

    def __init__(self, env: Mapping[str, str], say: Say) -> None:
        self._say = say
        self._memory = env.get("BERTH_MEMORY", "").strip()
        self._share = _read(self._memory) if self._memory else None
        self._grows = is_wished(env, "BERTH_GROWTH")

    def limit(self, total_bytes: int, said: Limit | None) -> Limit | None:
        """Return the limit that is wished of a card, unless the program has said one."""
        if self._share is None:
            return None
        wish = f"BERTH_MEMORY={self._memory}"
        if said is not None:
            self._say(logging.WARNING, gives_way(wish, said.source))
            return None
        return wished_limit(total_bytes, self._share, wish)

    def growth(self, said: bool | None) -> bool:
        """Tell whether memory is to grow."""
        if self._grows and said is False:
            self._say(logging.WARNING, gives_way("BERTH_GROWTH", "memory that does not grow"))
        return self._grows if said is None else said


def _read(text: str) -> int | float:
    try:
        return parse_share(text)
    except ValueError as error:
        raise ValueError(explain(str(error), "It is what BERTH_MEMORY says.")) from None
