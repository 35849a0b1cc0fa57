"""Functions of TensorFlow's internals that Keras calls, in terms of berth's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.control_flow.cond import cond
from berth.distribute.replica_context import get_replica_context
from berth.eager.scope import get_static_value
from berth.front.context import reset, trim
from berth.ops.arrays.array import constant
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.grids import meshgrid
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape_v2 as shape_of
from berth.ops.arrays.scattering import tensor_scatter_nd_update
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import clip_by_value
from berth.ops.elementwise.casting import cast

UNSHARDED = "unsharded"
"""The name of a dimension that DTensor does not divide."""


class Layout:
    """How DTensor divides a tensor; berth has no DTensor."""


def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: Any = None) -> Any:
    """Call one of two functions; if the condition is not known yet, by `tf.cond`."""
    known = pred if isinstance(pred, bool | int) else get_static_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name)
    return true_fn() if known else false_fn()


def maybe_merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function in the cross-replica context, once for all replicas."""
    replica = get_replica_context()
    if replica is None:
        return fn(strategy, *args, **kwargs)
    return replica.merge_call(fn, args, kwargs)


def strategy_supports_no_merge_call() -> bool:
    """Tell whether optimizers may do without `maybe_merge_call`: they may not."""
    return False


def dynamic_update_slice(x: Any, update: Any, start_indices: Any) -> Any:
    """Return a tensor with a part replaced; a start that leaves no room is moved, as in XLA."""
    tensor: Any = convert(x)
    part: Any = cast(convert(update), tensor.dtype)
    sizes: Any = shape_of(part)
    most: Any = shape_of(tensor) - sizes
    starts: Any = clip_by_value(cast(convert(start_indices), "int32"), constant(0), most)
    along = [starts[axis] + range_of(sizes[axis]) for axis in range(len(part.shape))]
    where = stack(meshgrid(*along, indexing="ij"), axis=-1)
    return tensor_scatter_nd_update(tensor, where, part)


def async_wait() -> None:
    """Wait for what is being computed: eager operations have finished when they return."""


class EagerContext:
    """The part of TensorFlow's eager context that Keras uses."""

    def clear_kernel_cache(self) -> None:
        """Free the memory that no call is using."""
        trim()


def eager_context() -> EagerContext:
    """Return the eager context."""
    return EagerContext()


def reset_context() -> None:
    """Close all devices: the next use opens them, with other options."""
    reset()


class _Determinism:
    is_asked_for = False


def enable_op_determinism() -> None:
    """Ask for results that do not depend on the order of threads: berth's never do."""
    _Determinism.is_asked_for = True


def disable_op_determinism() -> None:
    """Ask for determinism no more."""
    _Determinism.is_asked_for = False


def is_op_determinism_enabled() -> bool:
    """Tell whether determinism was asked for."""
    return _Determinism.is_asked_for
