"""``tf.train.MonitoredTrainingSession``: a MonitoredSession with hooks for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.public import public_v1
from berth.train.hooks.checkpoint_saver import CheckpointSaverHook
from berth.train.hooks.session_run_hook import SessionRunHook
from berth.train.hooks.step_counter import StepCounterHook
from berth.train.hooks.summary_saver import SummarySaverHook
from berth.train.monitored_session import MonitoredSession
from berth.train.scaffold import Scaffold
from berth.train.session_creator import ChiefSessionCreator, WorkerSessionCreator

USE_DEFAULT: Any = object()


@public_v1("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Session for training that saves checkpoints and summaries, and logs its speed.

    By default there is a checkpoint every 600 seconds, and summaries every 100 steps. If the
    folder has a checkpoint, training goes on from there.
    """
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        rate = _rate(save_summaries_steps, save_summaries_secs, (100, None))
        all_hooks += _summary_hooks(summary_dir, scaffold, log_step_count_steps, rate)
    steps, secs = _rate(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    if checkpoint_dir and (_is_wanted(steps) or _is_wanted(secs)):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                secs,
                steps,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, [*all_hooks, *(hooks or ())], stop_grace_period_secs)


def _summary_hooks(
    folder: Any, scaffold: Scaffold, count_steps: int | None, rate: tuple[Any, Any]
) -> list[SessionRunHook]:
    """Return the hooks that write to a folder of summaries."""
    made: list[SessionRunHook] = []
    if _is_wanted(count_steps):
        made.append(StepCounterHook(count_steps, output_dir=folder))
    steps, secs = rate
    if _is_wanted(steps) or _is_wanted(secs):
        made.append(SummarySaverHook(steps, secs, output_dir=folder, scaffold=scaffold))
    return made


def _is_wanted(every: float | None) -> bool:
    return every is not None and every > 0


def _rate(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return in how many steps or seconds something is done; what is not given is None."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return tuple(None if every is USE_DEFAULT else every for every in (steps, secs))  # type: ignore[return-value]
