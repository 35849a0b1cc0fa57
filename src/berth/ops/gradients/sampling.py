"""What nothing goes back through: random orders, choices and numbers."""

from __future__ import annotations

from berth.ops.gradient import not_differentiable
from berth.ops.random.sampling import MULTINOMIAL, RANDOM_SHUFFLE
from berth.ops.random.stateless import (
    STATELESS_BITS,
    STATELESS_INTEGERS,
    STATELESS_MULTINOMIAL,
    STATELESS_NORMAL,
    STATELESS_TRUNCATED_NORMAL,
    STATELESS_UNIFORM,
)

not_differentiable(
    MULTINOMIAL,
    RANDOM_SHUFFLE,
    STATELESS_BITS,
    STATELESS_INTEGERS,
    STATELESS_MULTINOMIAL,
    STATELESS_NORMAL,
    STATELESS_TRUNCATED_NORMAL,
    STATELESS_UNIFORM,
)
