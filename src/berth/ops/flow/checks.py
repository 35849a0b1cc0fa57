"""Assertions on ranks, types and finite values: at once where known, else at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import FLOATING, as_dtype, int32
from berth.errors import InvalidArgumentError
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, is_tensor, scope
from berth.ops.elementwise import compare
from berth.ops.flow.assertions import Holds
from berth.ops.flow.control import Assert, no_op
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Call, Launch, OpDef, all_devices
from berth.ops.reductions.reduction import reduce_any
from berth.ops.rules import like_first
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- ranks and types ------------------------------------------------------------------------


def _check_rank(
    x: Any,
    ranks: Sequence[Any],
    phrase: str,
    holds: Holds,
    message: str | None,
    name: str,
    data: Any = None,
    summarize: int | None = None,
) -> Any:
    with scope(name):
        x = convert(x, None, "x")
        prefix = f"{message}.  " if message else ""
        label = "" if is_eager() else x.name
        known = all(isinstance(rank, int | np.integer) for rank in ranks)
        if x.dims is not None and known:
            if any(holds(len(x.dims), rank) for rank in ranks):
                return no_op()
            wanted = ranks[0] if len(ranks) == 1 and "in" not in phrase else tuple(ranks)
            raise ValueError(
                f"{prefix}Tensor {label} must have rank {phrase}{wanted}.  Received rank "
                f"{len(x.dims)}, shape {x.shape}"
            )
        for rank in filter(is_tensor, ranks):
            assert_type(rank, int32)
        held = reduce_any([holds(rank_of(x), rank) for rank in ranks])
        shown = [prefix, f"Tensor {label} must have rank {phrase}".rstrip(), *ranks]
        shown += ["Received shape: ", shape_of(x)]
        return Assert(held, shown if data is None else data, summarize)


def _is(have: Any, wanted: Any) -> Any:
    """Compare ranks by value: ``==`` compares some tensors by identity."""
    return have == wanted if isinstance(have, int) else compare.equal(have, wanted)


def _is_at_least(have: Any, wanted: Any) -> Any:
    return have >= wanted


@public("debugging.assert_rank")
@public_v2("assert_rank")
def assert_rank(
    x: TensorLike, rank: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Assert that a tensor has a rank.

    >>> assert_rank([1, 2], 1)
    """
    return _check_rank(x, [rank], "", _is, message, name or "assert_rank")


@public_v1("assert_rank")
def assert_rank_v1(
    x: TensorLike,
    rank: Any,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Assert that a tensor has a rank, with TensorFlow 1's argument names.

    >>> assert_rank_v1([[1]], 2)
    """
    name = name or "assert_rank"
    return _check_rank(x, [rank], "", _is, message, name, data, summarize)


@public("debugging.assert_rank_at_least")
def assert_rank_at_least(
    x: TensorLike, rank: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Assert that a tensor has at least a rank.

    >>> assert_rank_at_least([[1, 2]], 1)
    """
    name = name or "assert_rank_at_least"
    return _check_rank(x, [rank], "at least ", _is_at_least, message, name)


@public_v1("assert_rank_at_least")
def assert_rank_at_least_v1(
    x: TensorLike,
    rank: Any,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Assert that a tensor has at least a rank, with TensorFlow 1's argument names.

    >>> assert_rank_at_least_v1([[1]], 1)
    """
    name = name or "assert_rank_at_least"
    return _check_rank(x, [rank], "at least ", _is_at_least, message, name, data, summarize)


@public("debugging.assert_rank_in")
def assert_rank_in(
    x: TensorLike, ranks: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Assert that a tensor has one of several ranks.

    >>> assert_rank_in([1, 2], [0, 1])
    """
    return _check_rank(x, list(ranks), "in ", _is, message, name or "assert_rank_in")


@public_v1("assert_rank_in")
def assert_rank_in_v1(
    x: TensorLike,
    ranks: Any,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Assert that a tensor has one of several ranks, with TensorFlow 1's argument names.

    >>> assert_rank_in_v1([[1]], [1, 2])
    """
    name = name or "assert_rank_in"
    return _check_rank(x, list(ranks), "in ", _is, message, name, data, summarize)


@public("debugging.assert_type")
@public_v1("assert_type")
def assert_type(
    tensor: TensorLike, tf_type: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Assert that a tensor has a type.

    >>> assert_type(1.0, "float32")
    """
    with scope("assert_type", name):
        tensor, wanted = convert(tensor), as_dtype(tf_type)
        if tensor.dtype.base_dtype is not wanted:
            prefix = f"{message}.  " if message else ""
            label = "tensor" if is_eager() else tensor.name
            raise TypeError(
                f"{prefix}{label} must be of type {wanted!r}; got {tensor.dtype.base_dtype!r}"
            )
        return no_op()


@public("debugging.assert_integer")
@public_v1("assert_integer")
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Any:
    """Assert that a tensor has an integer type.

    >>> assert_integer([1, 2])
    """
    with scope("assert_integer", name):
        x = convert(x, None, "x")
        if not x.dtype.is_integer:
            prefix = f"{message}.  " if message else ""
            label = "tensor" if is_eager() else x.name
            raise TypeError(
                f'{prefix}Expected "x" to be integer type.  Found: {label} of dtype '
                f"<dtype: '{x.dtype.name}'>"
            )
        return no_op()


@public("debugging.assert_scalar")
def assert_scalar(
    tensor: TensorLike, message: str | None = None, name: str | None = None
) -> Any:
    """Assert that a tensor is a scalar, and return it.

    >>> int(assert_scalar(3))
    3
    """
    with scope("assert_scalar", name):
        tensor = convert(tensor)
        if tensor.dims:
            prefix = f"{message or ''}"
            where = "" if is_eager() else f" for {tensor.name}"
            raise ValueError(
                f"{prefix}Expected scalar shape{where}, saw shape: {tensor.shape}."
            )
        return tensor


@public_v1("assert_scalar")
def assert_scalar_v1(
    tensor: TensorLike, name: str | None = None, message: str | None = None
) -> Any:
    """Assert that a tensor is a scalar, with TensorFlow 1's argument names.

    >>> assert_scalar_v1(1.0).numpy().item()
    1.0
    """
    return assert_scalar(tensor, message, name)


# --- finite values --------------------------------------------------------------------------


def _bind_check(launch: Launch) -> Call:
    return _check, (launch.xp, launch.inputs[0], launch.outputs[0], launch.attrs["message"])


def _check(xp: Any, array: Any, out: Any, message: str) -> None:
    xp.copyto(out, array)
    # What is no number is both the least and the greatest.
    if not array.size or all(bool(xp.isfinite(end)) for end in (array.min(), array.max())):
        return
    kinds = [("Inf", xp.isinf), ("NaN", xp.isnan)]
    found = [name for name, is_kind in kinds if bool(is_kind(array).any())]
    raise InvalidArgumentError(
        None, None, f"{message} : Tensor had {' and '.join(found)} values"
    )


CHECK_NUMERICS = OpDef(
    "CheckNumerics",
    "tensor:T",
    like_first,
    types={"T": FLOATING},
    kernels=all_devices(_bind_check, FLOATING),
    is_stateful=True,
    samples=("f(2, 3), message=''",),
    large_samples=("large, message=''",),
)


@public("debugging.check_numerics")
@public_v1("check_numerics")
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Check a tensor for NaN and infinity when it is computed, and return it.

    >>> check_numerics([1.0, 2.0], "oh").numpy().tolist()
    [1.0, 2.0]
    """
    return apply(CHECK_NUMERICS, (tensor,), {"message": message}, name)


@gradient(CHECK_NUMERICS)
def _check_numerics_gradient(op: RecordedOp, grad: Any) -> Any:
    return check_numerics(
        grad, "Not a number (NaN) or infinity (Inf) values detected in gradient."
    )


@public("debugging.assert_all_finite")
def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Assert that all elements of a tensor are finite, and return it.

    >>> assert_all_finite([1.0, 2.0], "oh").numpy().tolist()
    [1.0, 2.0]
    """
    with scope("VerifyFinite", name):
        return check_numerics(x, message)


@public_v1("verify_tensor_all_finite")
def verify_tensor_all_finite(
    t: Any = None,
    msg: Any = None,
    name: str | None = None,
    x: Any = None,
    message: Any = None,
) -> Tensor:
    """Assert that all elements are finite, with TensorFlow 1's argument names.

    >>> verify_tensor_all_finite([1.0, 2.0], "not finite").numpy().tolist()
    [1.0, 2.0]
    """
    tensor, text = x if t is None else t, message if msg is None else msg
    return assert_all_finite(tensor, text, name)
