"""Computing along one axis of a tensor of unknown rank.

The axes before it are flattened into one, and those after it into another: a computation
along the middle axis of such a *block* needs no other rank. The result is then reshaped to
the original axes.

    around = Around.of(tensor, axis)
    result = around.restored(compute(around.block, axis=1))
"""

from __future__ import annotations

from typing import Any, NamedTuple

from berth.ops.arrays.array import reshape
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape
from berth.ops.reductions.reduction import reduce_prod
from berth.ops.types import Tensor


class Around(NamedTuple):
    """A tensor as a block, and the shapes of what is before and after its middle axis."""

    block: Tensor
    before: Tensor
    after: Tensor

    @classmethod
    def of(cls, tensor: Any, axis: int) -> Around:
        """Flatten all axes but one into two."""
        sizes = shape(tensor)
        before, after = sizes[:axis], sizes[axis:][1:]
        block = reshape(tensor, [reduce_prod(before), sizes[axis], reduce_prod(after)])
        return cls(block, before, after)

    @classmethod
    def between(cls, tensor: Any, axis: int) -> Around:
        """Flatten all axes into two, with a new one of size 1 where `axis` will be."""
        sizes = shape(tensor)
        cut = axis if axis >= 0 else axis + 1 + shape(sizes)[0]
        before, after = sizes[:cut], sizes[cut:]
        block = reshape(tensor, [reduce_prod(before), 1, reduce_prod(after)])
        return cls(block, before, after)

    def restored(self, block: Tensor) -> Tensor:
        """Reshape a result, whose middle axis may have another size, to the axes around it."""
        return reshape(block, concat([self.before, shape(block)[1:2], self.after], 0))

    def without_axis(self, matrix: Tensor) -> Tensor:
        """Reshape a result that lacks the middle axis to the axes around it."""
        return reshape(matrix, concat([self.before, self.after], 0))
