"""``tf.debugging``: say where each operation runs, and what must be true of tensors."""

from __future__ import annotations

from berth.front.context import context
from berth.public import public

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.flow.assertions import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
)
from berth.ops.flow.checks import (
    assert_all_finite,
    assert_integer,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_scalar,
    assert_type,
    check_numerics,
)
from berth.ops.flow.control import Assert

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
    "assert_type",
    "check_numerics",
    "get_log_device_placement",
    "set_log_device_placement",
]
# --- end


@public("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Tell whether placements are logged."""
    return context().logs_placement


@public("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Log the device of each operation when it runs."""
    program = context()
    program.log_override("BERTH_LOG_PLACEMENT", enabled, "set_log_device_placement(False)")
    program.switches.log_placement = enabled
