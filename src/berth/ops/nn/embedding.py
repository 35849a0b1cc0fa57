"""Embeddings: rows of tables looked up by id."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from berth.dtypes import int32
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import gather, where_v2
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import rank, shape, size
from berth.ops.arrays.partitions import dynamic_partition, dynamic_stitch
from berth.ops.compose import convert, scope
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import floordiv, maximum, mod
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import less
from berth.ops.reductions.norms import clip_by_norm
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2


class TableInParts(ABC):
    """A table that is one tensor, made of parts: a partitioned variable."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the parts."""


@public_v2("nn.embedding_lookup")
def embedding_lookup(
    params: TensorLike, ids: Any, max_norm: Any = None, name: str | None = None
) -> Tensor:
    """Look up embeddings: the rows of a table at ids, clipped to `max_norm`.

    A list has the parts of one table: the first rows in the first part, and so on.

    >>> table = [[1.0, 2.0], [3.0, 4.0]]
    >>> embedding_lookup([table], [1, 0, 1]).numpy().tolist()
    [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    """
    return embedding_lookup_v1(params, ids, "div", name, max_norm=max_norm)


@public_v1("nn.embedding_lookup")
def embedding_lookup_v1(
    params: TensorLike,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Look up embeddings in a table, or in several that share the ids between them.

    Of n tables, row `id` is in table id % n for the strategy "mod"; for "div" the first table
    has the first rows, and so on.

    >>> tables = [[[1.0], [3.0]], [[2.0], [4.0]]]
    >>> embedding_lookup_v1(tables, [0, 1, 2, 3]).numpy().tolist()
    [[1.0], [2.0], [3.0], [4.0]]
    """
    if params is None:
        raise ValueError("params must be specified")
    tables = [params]
    if isinstance(params, list | tuple | TableInParts):
        tables = list(params)
    if not tables:
        raise ValueError("Length of params is currently 0. Need at least one param.")
    with scope("embedding_lookup", name) as inner:
        ids = convert(ids, None, "ids")
        if len(tables) == 1:
            found = gather(tables[0], ids, name=inner)
        else:
            found = _from_several([convert(t) for t in tables], ids, partition_strategy)
        return found if max_norm is None else _shortened(found, ids, max_norm)


def _from_several(tables: list[Any], ids: Any, strategy: str) -> Any:
    flat = reshape(ids, [-1])
    if strategy == "mod":
        table, row = mod(flat, len(tables)), floordiv(flat, len(tables))
    elif strategy == "div":
        table, row = _divided(tables, flat)
    else:
        raise ValueError(
            f"Unrecognized partition strategy: {strategy}.Must be one of either `mod` or `div`."
        )
    table = cast(table, int32)
    rows = dynamic_partition(row, table, len(tables))
    places = dynamic_partition(range_op(size(flat)), table, len(tables))
    found = [gather(t, r) for t, r in zip(tables, rows, strict=True)]
    stitched = dynamic_stitch(places, found)
    output = reshape(stitched, concat([shape(ids), shape(tables[0])[1:]], 0))
    if ids.dims is not None and tables[0].dims is not None:
        output.set_shape(ids.dims + tables[0].dims[1:])
    return output


def _divided(tables: list[Any], ids: Any) -> tuple[Any, Any]:
    """Return the table and row of each id for the strategy "div": contiguous ids per table.

    All have the same number of rows; if the total is not divisible, the first have one more.
    """
    lengths = [None if t.dims is None else t.dims[0] for t in tables]
    dtype = ids.dtype.base_dtype
    total: Any
    if None in lengths:
        total = cast(add_n([shape(t)[0] for t in tables]), dtype)
    else:
        total = convert(sum(lengths), dtype)
    each, extra = floordiv(total, len(tables)), mod(total, len(tables))
    table = maximum(floordiv(ids, each + 1), floordiv(ids - extra, each))
    row = where_v2(less(table, extra), mod(ids, each + 1), mod(ids - extra, each))
    return table, row


def _shortened(rows: Any, ids: Any, max_norm: Any) -> Any:
    if ids.dims is not None and rows.dims is not None:
        return clip_by_norm(rows, max_norm, list(range(len(ids.dims), len(rows.dims))))
    return clip_by_norm(rows, max_norm, range_op(rank(ids), rank(rows)))
