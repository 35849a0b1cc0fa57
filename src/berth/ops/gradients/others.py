"""What nothing goes back through: text, chance, waiting, and where variables begin."""

from __future__ import annotations

from berth.ops.control import ASSERT, NO_OP
from berth.ops.gradient import not_differentiable
from berth.ops.random import (
    RANDOM_INTEGERS,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
    TRUNCATED_NORMAL,
)
from berth.ops.state import HANDLE, VARIABLE
from berth.ops.strings import ADD, AS_STRING, PY_FUNC, PY_FUNC_STATELESS, STRING_JOIN

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
