"""What nothing goes back through: text, chance, waiting, and where variables begin."""

from __future__ import annotations

from berth.ops.arrays.strings import ADD, AS_STRING, PY_FUNC, PY_FUNC_STATELESS, STRING_JOIN
from berth.ops.flow.control import ASSERT, NO_OP
from berth.ops.gradient import not_differentiable
from berth.ops.random.seeded import (
    RANDOM_INTEGERS,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
    TRUNCATED_NORMAL,
)
from berth.ops.state.variables import HANDLE, VARIABLE

not_differentiable(
    ADD,
    ASSERT,
    AS_STRING,
    HANDLE,
    NO_OP,
    PY_FUNC,
    PY_FUNC_STATELESS,
    RANDOM_INTEGERS,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
    STRING_JOIN,
    TRUNCATED_NORMAL,
    VARIABLE,
)
