"""Element-wise functions with intermediate results, computed in blocks that fit into the cache.

Intermediate arrays are as large as a block, whatever the size of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.ops.opdef import Attrs

_BLOCK_BYTES = 2**14
"""How large the arrays between are; a step may need a dozen of them."""
_LEAST_BYTES = 4
"""Of an element between: half floats are too short to compute in."""
_ARRAY_BYTES = 2**16
"""How large the one or two arrays of a function of its own may be."""

Step = Callable[..., Any]


def by_blocks(
    step: Step, item_bytes: int = _LEAST_BYTES
) -> Callable[[Any, Attrs], Callable[..., None]]:
    """Make an element-wise function from ``step(xp, *inputs)``, which returns a new array.

    Intermediate elements have `item_bytes` bytes, or as many as the output's if that is more.
    """

    def find(xp: Any, attrs: Attrs) -> Callable[..., None]:
        def function(*arrays: Any) -> None:
            *inputs, out = arrays
            wide = [
                array if array.shape == out.shape else xp.broadcast_to(array, out.shape)
                for array in inputs
            ]
            length = _BLOCK_BYTES // max(out.itemsize, item_bytes)
            _halve(xp, step, length, wide, out)

        return function

    return find


def _halve(xp: Any, step: Step, length: int, inputs: Sequence[Any], out: Any) -> None:
    """Split arrays along their longest axis until they are small, then compute."""
    if out.size <= length:
        out[...] = step(xp, *inputs)
        return
    axis = max(range(out.ndim), key=lambda k: out.shape[k])
    middle = out.shape[axis] // 2
    for half in (slice(None, middle), slice(middle, None)):
        part = (*(slice(None),) * axis, half)
        _halve(xp, step, length, [array[part] for array in inputs], out[part])


def in_blocks(function: Callable[..., None], length: int | None = None) -> Callable[..., None]:
    """Apply an element-wise ``function(*inputs, out)`` to one block of elements at a time.

    All arrays have one shape. The function may make a few arrays of its own (one of these
    fits the cache if no length is given), and writes to `out` when it no longer needs the
    inputs.
    """
    given = length

    def by_block(*arrays: Any) -> None:
        n_elements = arrays[-1].size
        length = given or _ARRAY_BYTES // arrays[-1].itemsize
        if n_elements <= length and arrays[-1].ndim:  # NumPy returns a scalar for rank 0
            function(*arrays)
            return
        flat = [array.reshape(-1) for array in arrays]
        for start in range(0, n_elements, length):
            function(*[array[start : start + length] for array in flat])

    return by_block


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Evaluate the polynomial c₀ xⁿ + … + cₙ by Horner's rule.

    >>> polynomial([1.0, 2.0, 3.0], 10.0)
    123.0
    """
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total *= x
        total += coefficient
    return total
