"""Operations that compute each element from those at the same place."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for gradients: see berth.ops.arrays
    from berth.ops.elementwise import casting as casting
    from berth.ops.elementwise import compare as compare
