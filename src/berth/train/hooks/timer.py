"""``tf.train.SecondOrStepTimer``: when a hook acts, by seconds or by steps."""

from __future__ import annotations

import time
from typing import Any

from berth.public import public_v1

Elapsed = tuple[float | None, int | None]


@public_v1("train.SecondOrStepTimer")
class SecondOrStepTimer:
    """Triggers at the first step, and then once in so many seconds or steps.

    >>> timer = SecondOrStepTimer(every_steps=10)
    >>> timer.should_trigger_for_step(1)
    True
    >>> timer.update_last_triggered_step(1)
    (None, None)
    >>> [step for step in range(1, 25) if timer.should_trigger_for_step(step)][0]
    11
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Start again: the next step triggers."""
        self._last: tuple[Any, float] | None = None

    def should_trigger_for_step(self, step: Any) -> bool:
        """Tell whether the timer triggers at a step."""
        if self._last is None:
            return True
        last_step, last_time = self._last
        if step == last_step:
            return False
        if self._every_secs is not None:
            return time.time() >= last_time + self._every_secs
        return bool(step >= last_step + self._every_steps)

    def update_last_triggered_step(self, step: Any) -> Elapsed:
        """Note that it triggered at a step; return seconds and steps since the last time."""
        before, self._last = self._last, (step, time.time())
        if before is None:
            return None, None
        return self._last[1] - before[1], step - before[0]

    def last_triggered_step(self) -> Any:
        """Return the step at which it triggered last, or None."""
        return None if self._last is None else self._last[0]


class NeverTriggerTimer:
    """A timer that never triggers."""

    def reset(self) -> None:
        """Do nothing."""

    def should_trigger_for_step(self, step: Any) -> bool:
        """Return False."""
        return False

    def update_last_triggered_step(self, step: Any) -> Elapsed:
        """Return that nothing has elapsed."""
        return None, None

    def last_triggered_step(self) -> None:
        """Return None."""
