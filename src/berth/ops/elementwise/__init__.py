"""Element-wise operations: arithmetic, comparisons, mathematical functions, casts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for gradients: see berth.ops.arrays
    from berth.ops.elementwise import casting as casting
    from berth.ops.elementwise import compare as compare
