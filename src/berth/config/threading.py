"""``tf.config.threading``: how many threads operations may use. 0 lets berth choose."""

from __future__ import annotations

from berth.errors import explain
from berth.front.context import context
from berth.public import public

# --- written by dev/make_api.py: make api
# isort: split

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]
# --- end


@public("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Return how many threads one operation may use."""
    return context().switches.intra_op_threads or 0


@public("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads one operation may use, before the devices are opened."""
    switches = context().switches
    _check(num_threads, switches.intra_op_threads, "Intra")
    switches.intra_op_threads = num_threads


@public("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Return how many operations may run at once."""
    return context().switches.inter_op_threads or 0


@public("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many operations may run at once, before the devices are opened."""
    switches = context().switches
    _check(num_threads, switches.inter_op_threads, "Inter")
    switches.inter_op_threads = num_threads


def _check(new: int, current: int | None, which: str) -> None:
    if not hasattr(new, "__index__"):
        raise TypeError(f"The number of threads must be a whole number, and not {new!r}.")
    opened_by = context().opened_by
    if new != current and opened_by is not None:
        raise RuntimeError(
            explain(
                f"{which} op parallelism cannot be modified after initialization.",
                f"The devices were opened by {opened_by}: set it first.",
            )
        )
