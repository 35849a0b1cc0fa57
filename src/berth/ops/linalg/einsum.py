"""Tensor products: einsum, tensordot, matvec, cross."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from string import ascii_letters
from typing import Any

import numpy as np

from berth.dtypes import REAL
from berth.ops.arrays.array import expand_dims, reshape, squeeze
from berth.ops.arrays.ensure_shape import ensure_shape
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import rank, shape
from berth.ops.arrays.transpose import transpose
from berth.ops.attributes import at_once
from berth.ops.builder import apply
from berth.ops.compose import convert, convert_like, is_eager, is_integer, scope, type_of
from berth.ops.elementwise.arithmetic import mod
from berth.ops.elementwise.compare import not_equal
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.contraction import (
    EINSUM,
    ELLIPSIS,
    Labels,
    read_labels,
    unique,
    without,
    write,
)
from berth.ops.linalg.matmul import matmul
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.reductions.reduction import reduce_all, reduce_prod, reduce_sum
from berth.ops.rules import merge_dims
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1

# --- einsum -------------------------------------------------------------------------------


@public("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Einstein summation: tensor contraction over labelled axes.

    >>> einsum("ij,jk->ik", [[1, 2]], [[3], [4]]).numpy().tolist()
    [[11]]
    >>> einsum("ii", [[1, 2], [3, 4]]).numpy().tolist()
    5
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)  # the order is always greedy: the smallest product first
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for einsum: {', '.join(kwargs)}. Expected: name, "
            "optimize"
        )
    if len(inputs) == 1 and isinstance(inputs[0], list | tuple) and "," in equation:
        inputs = tuple(inputs[0])
    sides, output = _read_equation(equation, len(inputs))
    with scope("einsum", name):
        known = next((t for t in map(type_of, inputs) if t is not None), None)
        operands: list[Operand] = []
        for labels, value in zip(sides, inputs, strict=True):
            tensor = convert(value, None if type_of(value) else known)
            operands.append(_explicit(labels, tensor, len(operands), equation))
        if ELLIPSIS not in output and any(ELLIPSIS in labels for labels, _ in operands):
            raise ValueError(
                "Output contains broadcasting dimensions but no ellipsis (...) was found in "
                "the output subscripts."
            )
        while len(operands) > 1:
            operands = _join_a_pair(operands, output)
        [(labels, tensor)] = operands
        labels, tensor = _prepared(labels, tensor, output)
        return _permuted(labels, tensor, output)


def _read_equation(equation: str, n_tensors: int) -> tuple[list[Labels], Labels]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = [read_labels(text, equation) for text in left.split(",")]
    if len(inputs) != n_tensors:
        raise ValueError(
            f'Got {n_tensors} inputs for equation "{equation}", expecting {len(inputs)}'
        )
    used = [label for labels in inputs for label in labels]
    if arrow:
        output = read_labels(right, equation)
    else:
        once = sorted(x for x in set(used) if used.count(x) == 1 and x != ELLIPSIS)
        output = (ELLIPSIS, *once) if ELLIPSIS in used else tuple(once)
    for label in without(output, ELLIPSIS):
        if output.count(label) > 1:
            raise ValueError(
                f"Output subscripts contain a label appearing more than once: {equation}"
            )
        if label not in used:
            raise ValueError(
                f"Output subscripts contain the label {label} not present in the input "
                "subscripts."
            )
    return inputs, output


Operand = tuple[Labels, Any]


def _explicit(labels: Labels, tensor: Any, number: int, equation: str) -> Operand:
    """Remove an ellipsis that stands for no axis; ValueError if the rank does not fit."""
    named = without(labels, ELLIPSIS)
    if tensor.dims is None:
        is_counted = named == labels
        return labels, ensure_shape(tensor, [None] * len(named)) if is_counted else tensor
    n_axes, wanted = len(tensor.dims), len(named)
    if wanted > n_axes or (named == labels and wanted < n_axes):
        if is_eager():
            message = f"Expected input {number} to have rank {wanted} but got: {n_axes}"
            raise at_once("Einsum", message)
        raise ValueError(
            f"Shape must be rank {wanted} but is rank {n_axes}\n\t for {number}th input and "
            f"equation: {equation}"
        )
    return named if wanted == n_axes else labels, tensor


def _prepared(labels: Labels, tensor: Any, kept: Sequence[str]) -> Operand:
    """Take diagonals of repeated labels, and sum over labels that occur in no other tensor."""
    once = unique(labels)
    tensor = _permuted(labels, tensor, once)
    axes = [position - len(once) for position, x in enumerate(once) if x not in kept]
    if not axes:
        return once, tensor
    left = tuple(label for label in once if label in kept)
    return left, reduce_sum(tensor, np.array(axes, np.int32))


def _permuted(labels: Labels, tensor: Tensor, wanted: Labels) -> Tensor:
    """Permute axes, and place them on diagonals for repeated labels."""
    if ELLIPSIS not in labels:
        wanted = without(wanted, ELLIPSIS)
    if labels == wanted:
        return tensor
    return apply(EINSUM, (tensor,), {"equation": f"{write(labels)}->{write(wanted)}"})


def _join_a_pair(operands: list[Operand], output: Labels) -> list[Operand]:
    """Replace the two tensors whose product is smallest by that product."""
    pairs = list(combinations(range(len(operands)), 2))
    kept = {pair: _kept_of(operands, pair, output) for pair in pairs}
    sizes = _sizes(operands)
    best = min(pairs, key=lambda pair: math.prod(sizes.get(label, 1) for label in kept[pair]))
    rest = [operand for k, operand in enumerate(operands) if k not in best]
    return [_joined(operands[best[0]], operands[best[1]], kept[best]), *rest]


def _kept_of(operands: Sequence[Operand], pair: tuple[int, int], output: Labels) -> Labels:
    """Return the labels of a pair that occur in the output or another tensor."""
    first, second = (operands[k][0] for k in pair)
    others = [labels for k, (labels, _) in enumerate(operands) if k not in pair]
    needed = {*output, *(label for labels in others for label in labels)}
    last = () if others else output  # the last product has the output's order of axes
    return unique([x for x in (*last, *first, *second) if x in needed and x in first + second])


def _sizes(operands: Sequence[Operand]) -> dict[str, int]:
    """Return the sizes of labels, as far as they are known."""
    sizes: dict[str, int] = {}
    for labels, tensor in operands:
        if tensor.dims is not None and ELLIPSIS not in labels:
            known = zip(labels, tensor.dims, strict=False)
            sizes |= {label: size for label, size in known if size is not None}
    return sizes


def _joined(first: Operand, second: Operand, kept: Labels) -> Operand:
    a, x = _prepared(*first, kept=(*kept, *second[0]))
    b, y = _prepared(*second, kept=(*kept, *first[0]))
    equation = f"{write(a)},{write(b)}->{write(kept)}"
    return kept, apply(EINSUM, (x, y), {"equation": equation})


# --- tensordot ----------------------------------------------------------------------------


@public("tensordot", "linalg.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: AxisLike, name: str | None = None) -> Tensor:
    """Tensor contraction of a and b along the given axes, or along a number of axes.

    >>> tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]], 1).numpy().tolist()
    [[1, 2], [3, 4]]
    >>> tensordot([1, 2], [3, 4], [[0], [0]]).numpy().tolist()
    11
    """
    with scope("Tensordot", name):
        a = convert_like(a, type_of(b), "a")
        b = convert_like(b, type_of(a), "b")
        chosen: Any = getattr(axes, "value", axes)
        if not is_integer(chosen):
            chosen = _chosen_axes(chosen)
        if a.dims is None or b.dims is None:
            return _tensordot_of_any_rank(a, b, chosen)
        rank_a, rank_b = len(a.dims), len(b.dims)
        axes_a, axes_b = _axes_in_range(chosen, rank_a, rank_b)
        names = ascii_letters[: rank_a + rank_b]
        labels_a, labels_b = list(names[:rank_a]), list(names[rank_a:])
        for axis_a, axis_b in zip(axes_a, axes_b, strict=True):
            labels_b[axis_b] = labels_a[axis_a]
        free = [x for x in (*labels_a, *labels_b) if x not in {labels_a[k] for k in axes_a}]
        return einsum(f"{write(labels_a)},{write(labels_b)}->{write(free)}", a, b)


def _chosen_axes(axes: Any) -> list[list[int]]:
    """Read the axes of each tensor, the same number for both."""
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    chosen = [[int(axis) for axis in np.reshape(part, -1)] for part in axes]
    if len(chosen[0]) != len(chosen[1]):
        raise ValueError(
            "Different number of contraction axes `a` and `b`, "
            f"{len(chosen[0])} != {len(chosen[1])}."
        )
    return chosen


def _axes_in_range(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    if is_integer(axes):
        n_axes = int(axes)
        if n_axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {n_axes}.")
        for rank, which in ((rank_a, "a"), (rank_b, "b")):
            if n_axes > rank:
                raise ValueError(
                    "`axes` must not be larger than the number of dimensions of tensor "
                    f"{which}. Received {n_axes}, vs tensor dimensions {rank}."
                )
        return list(range(rank_a - n_axes, rank_a)), list(range(n_axes))
    return [axis % rank_a for axis in axes[0]], [axis % rank_b for axis in axes[1]]


def _tensordot_of_any_rank(a: Any, b: Any, axes: Any) -> Tensor:
    """Contract two tensors of unknown rank."""
    if not is_integer(axes):
        a, b = _move_axes(a, axes[0], is_first=False), _move_axes(b, axes[1], is_first=True)
        axes = len(axes[0])
    n_axes = int(axes)
    split = len(a.dims) - n_axes if a.dims is not None else -n_axes
    shape_a, shape_b = shape(a), shape(b)
    free_a = shape_a[:split] if n_axes else shape_a
    n_summed = reduce_prod(shape_b[:n_axes], 0)
    product = matmul(reshape(a, [-1, n_summed]), reshape(b, [n_summed, -1]))
    return reshape(product, concat([free_a, shape_b[n_axes:]], 0))


def _move_axes(tensor: Any, axes: Sequence[int], is_first: bool) -> Any:
    """Move some axes of a tensor of unknown rank to the front or the end."""
    n_axes = rank(tensor)
    chosen = mod(np.array(axes, np.int32), n_axes)
    positions = range_op(n_axes)
    others = boolean_mask(positions, reduce_all(not_equal(positions[:, None], chosen), 1))
    order = concat([chosen, others] if is_first else [others, chosen], 0)
    return transpose(tensor, order)


# --- matrices and vectors -----------------------------------------------------------------


@public("linalg.matvec")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrix-vector product, or a batch of them.

    >>> matvec([[1, 2], [3, 4]], [1, 1]).numpy().tolist()
    [3, 7]
    """
    with scope("MatVec", name):
        b = convert_like(b, type_of(a), "b")
        column = expand_dims(b, axis=-1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return squeeze(product, axis=-1)


def _cross_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    a, b = inputs
    dims = merge_dims(a.dims, b.dims, "Both inputs must be of same shape")
    if dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if dims is not None and dims[-1] not in (3, None):
        raise ValueError("Cross-products are only defined for 3-element vectors.")
    return ((a.dtype.base_dtype, dims),)


def _cross_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    dtype, dims = outputs[0]
    return ((dtype, None if dims is None else dims[:-1]),)


def _bind_cross(launch: Launch) -> Call:
    return _cross, (launch.xp, *launch.inputs, launch.outputs[0], launch.scratch[0])


def _cross(xp: Any, a: Any, b: Any, out: Any, other: Any) -> None:
    for k in range(3):
        one, two = (k + 1) % 3, (k + 2) % 3
        xp.multiply(a[..., two], b[..., one], other)
        xp.multiply(a[..., one], b[..., two], out[..., k])
        xp.subtract(out[..., k], other, out[..., k])


CROSS = OpDef(
    "Cross",
    "a:T b:T",
    _cross_type,
    types={"T": REAL},
    kernels=all_devices(_bind_cross, REAL, _cross_scratch),
    samples=("d(2, 3), d(2, 3)",),
    large_samples=("*[sample('d', (512, 512))[:, :510].reshape(-1, 3)] * 2",),
)


@public("linalg.cross")
@public_v1("cross")
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Pairwise cross product of three-element vectors.

    >>> cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    return apply(CROSS, (a, b), {}, name)


@gradient(CROSS)
def _cross_gradient(op: RecordedOp, grad: Any) -> Any:
    a, b = op.inputs
    return cross(b, grad), cross(grad, a)
