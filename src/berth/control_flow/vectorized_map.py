"""`tf.vectorized_map`: a function of one element, for all elements of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.control_flow.map_fn import EachElement
from berth.graph.nest import flatten, map_structure, pack_sequence_as
from berth.ops.compose import convert
from berth.public import public


@public("vectorized_map")
def vectorized_map(
    fn: Callable[[Any], Any],
    elems: Any,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> Any:
    """Apply a function to the elements of tensors along their first axis; stack the results.

    They may be of other types, and in another structure, than the elements. A tensor with one
    element is used for all of the others' elements. In a graph the function is traced once.

    >>> import berth as tf
    >>> rows = tf.constant([[1, 2], [3, 4]])
    >>> vectorized_map(lambda row: {"sum": tf.reduce_sum(row)}, rows)["sum"].numpy().tolist()
    [3, 7]
    """
    tensors: list[Any] = [convert(leaf) for leaf in flatten(elems)]
    counts = [tensor.dims and tensor.dims[0] for tensor in tensors]
    is_repeated = [count == 1 and any(other != 1 for other in counts) for count in counts]
    results: list[Any] = []

    def step(variables: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
        given = iter(elements)
        leaves = [
            tensor[0] if repeated else next(given)
            for tensor, repeated in zip(tensors, is_repeated, strict=True)
        ]
        results.append(map_structure(convert, fn(pack_sequence_as(elems, leaves))))
        return [], flatten(results[-1])

    varied = [t for t, repeated in zip(tensors, is_repeated, strict=True) if not repeated]
    _, columns = EachElement(varied, False, "pfor").run(step, [])
    return pack_sequence_as(results[0], columns)
