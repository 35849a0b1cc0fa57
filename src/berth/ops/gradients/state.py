"""Writing to variables, and asking about them: nothing goes back through that."""

from __future__ import annotations

from berth.ops.gradient import not_differentiable
from berth.ops.state.scatter import SCATTERS
from berth.ops.state.slice_assign import ASSIGN_SLICE
from berth.ops.state.variables import (
    ASSIGNMENTS,
    COUNT_UP_TO,
    HANDLE_IS_INITIALIZED,
    INITIALIZED_HANDLE,
    INITIALIZED_REFERENCE,
    REFERENCE_IS_INITIALIZED,
)

not_differentiable(
    ASSIGN_SLICE,
    HANDLE_IS_INITIALIZED,
    INITIALIZED_HANDLE,
    INITIALIZED_REFERENCE,
    REFERENCE_IS_INITIALIZED,
    *COUNT_UP_TO,
    *(op for write in (*ASSIGNMENTS.values(), *SCATTERS.values()) for op in write),
)
