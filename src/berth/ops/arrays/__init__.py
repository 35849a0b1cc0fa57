"""Operations that create, reshape, join, index and reorder arrays.

A gradient uses operations of modules that import its own. It reaches them through their
package, ``arrays.metadata.shape(x)``, which needs no import while modules are loaded. What is
used like this is listed here for type checkers.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from berth.ops.arrays import filling as filling
    from berth.ops.arrays import gathering as gathering
    from berth.ops.arrays import indexed_slices as indexed_slices
    from berth.ops.arrays import joining as joining
    from berth.ops.arrays import metadata as metadata
    from berth.ops.arrays import pad as pad
    from berth.ops.arrays import slicing as slicing
