"""Einsum: sums of products over labelled axes, computed as matrix products.

An equation like ``"bij,bjk->bik"`` is read into *labels*, one for each axis; ``...`` is a
label too, for any number of axes, which broadcast. Every contraction is made of steps:

    one tensor     axes in another order, or diagonals taken or spread: operation Einsum
    a sum          over axes that only one tensor has: `reduce_sum`
    two tensors    a product of matrices, or of elements: operation Einsum, where each label
                   is in the output or in both tensors, none twice, and ``...`` comes first

The gradient of a step is such a step again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_letters
from typing import Any, NamedTuple

from berth.dtypes import COMPLEX, FLOATING, int16, int32, int64
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.builder import apply
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.gemm import product
from berth.ops.opdef import (
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Parts,
    Typed,
    all_devices,
    make_calls,
)
from berth.ops.rules import ShapeMismatch, common_dims
from berth.ops.shape import Dims

Labels = tuple[str, ...]
ELLIPSIS = "..."
"""The label of any number of axes."""
_TYPES = (*FLOATING, int16, int32, int64, *COMPLEX)

# --- equations ----------------------------------------------------------------------------


def read_labels(text: str, equation: str | None = None) -> Labels:
    """Parse the labels of one tensor in an equation.

    >>> read_labels("a...b")
    ('a', '...', 'b')
    """
    before, dots, after = text.partition(ELLIPSIS)
    if not all(label in ascii_letters for label in before + after):
        raise ValueError(f"Subscripts have incorrect format: {equation or text}")
    return (*before, dots, *after) if dots else tuple(before)


def write(labels: Sequence[str]) -> str:
    """Format labels as in an equation."""
    return "".join(labels)


def without(labels: Sequence[str], *dropped: str) -> Labels:
    """Return the labels that are not among others."""
    return tuple(label for label in labels if label not in dropped)


def unique(labels: Sequence[str]) -> Labels:
    """Return labels without duplicates, an ellipsis first."""
    once = dict.fromkeys(labels)
    dots = (ELLIPSIS,) if ELLIPSIS in once else ()
    return (*dots, *without(tuple(once), ELLIPSIS))


# --- shapes -------------------------------------------------------------------------------


class _Sizes:
    """The sizes of labels, collected from the shapes of tensors."""

    def __init__(self) -> None:
        self.of: dict[str, int | None] = {}
        self.dots: Dims = ()

    def add(self, labels: Labels, dims: Sequence[int | None]) -> None:
        n_dots = len(dims) - len(without(labels, ELLIPSIS))
        if n_dots < 0 or (n_dots and ELLIPSIS not in labels):
            raise ValueError(
                f"Expected input of subscripts {write(labels)!r} to have rank {len(labels)} "
                f"but got: {len(dims)}"
            )
        axis = 0
        for label in labels:
            if label == ELLIPSIS:
                self.dots = common_dims(self.dots, tuple(dims[axis : axis + n_dots]))
                axis += n_dots
            else:
                self._add_one(label, dims[axis])
                axis += 1

    def _add_one(self, label: str, size: int | None) -> None:
        known = self.of.get(label)
        if None not in (known, size) and known != size:
            message = f"Dimensions must be equal, but are {known} and {size}"
            raise ShapeMismatch(message, f"{message} (label {label!r})")
        self.of[label] = known if size is None else size

    def dims(self, labels: Labels) -> tuple[int | None, ...]:
        sizes: list[int | None] = []
        for label in labels:
            sizes += (self.dots or ()) if label == ELLIPSIS else [self.of[label]]
        return tuple(sizes)


def _contracted_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    left, _, right = attrs["equation"].partition("->")
    sizes, dtype = _Sizes(), inputs[0].dtype.base_dtype
    for text, tensor in zip(left.split(","), inputs, strict=True):
        labels = read_labels(text)
        if tensor.dims is None:
            if ELLIPSIS in labels:
                return ((dtype, None),)
            sizes.add(labels, (None,) * len(labels))
        else:
            sizes.add(labels, tensor.dims)
    return ((dtype, sizes.dims(read_labels(right))),)


# --- kernels ------------------------------------------------------------------------------


class _Matrix(NamedTuple):
    """How a tensor becomes a batch of matrices: as a view, or as a copy if there is none."""

    permutation: tuple[int, ...]
    shape: tuple[int, ...]
    is_copied: bool


class _Product(NamedTuple):
    """How two tensors become matrices, and their product the output."""

    matrices: tuple[_Matrix, _Matrix]
    is_swapped: bool
    """Whether the second tensor is the left one of the matrices."""
    shape: tuple[int, ...]
    parts: tuple[int, ...]
    """The product's shape, and what it was before axes were put together to rows."""
    order: tuple[int, ...] | None
    """The order of those axes in the output, if it is another."""


def _plan(equation: str, dims: Sequence[Sequence[int]]) -> _Product:
    """Classify labels as batch, row, column and summed labels."""
    left, _, right = equation.partition("->")
    a, b = (without(read_labels(text), ELLIPSIS) for text in left.split(","))
    output = without(read_labels(right), ELLIPSIS)
    batch = tuple(label for label in output if label in a and label in b)
    rows = tuple(label for label in output if label in a and label not in b)
    columns = tuple(label for label in output if label in b and label not in a)
    is_swapped = output == (*batch, *columns, *rows) != (*batch, *rows, *columns)
    if is_swapped:
        a, b, rows, columns = b, a, columns, rows
        dims = dims[::-1]
    summed = tuple(label for label in a if label in b and label not in output)
    n_dots = max(len(sizes) - len(labels) for sizes, labels in zip(dims, (a, b), strict=True))
    matrices = (
        _as_matrices(a, dims[0], (batch, rows, summed), n_dots),
        _as_matrices(b, dims[1], (batch, summed, columns), n_dots),
    )
    size: dict[str, int] = {}
    for labels, sizes in ((a, dims[0]), (b, dims[1])):
        size |= dict(zip(labels, sizes[len(sizes) - len(labels) :], strict=True))
    dots = zip(*(matrix.shape[:n_dots] for matrix in matrices), strict=True)
    head = (*(y if x == 1 else x for x, y in dots), *(size[label] for label in batch))
    made = (*batch, *rows, *columns)
    order = (*range(n_dots), *(n_dots + made.index(label) for label in output))
    return _Product(
        matrices,
        is_swapped,
        (*head, matrices[0].shape[-2], matrices[1].shape[-1]),
        (*head, *(size[label] for label in (*rows, *columns))),
        None if made == output else order,
    )


def _as_matrices(
    labels: Labels, sizes: Sequence[int], groups: Sequence[Labels], n_dots: int
) -> _Matrix:
    """Put batch axes first, and flatten the two other groups into rows and columns."""
    batch, *matrix = groups
    own_dots = len(sizes) - len(labels)
    size = dict(zip(labels, sizes[own_dots:], strict=True))
    permutation = (own_dots + labels.index(label) for group in groups for label in group)
    front = (1,) * (n_dots - own_dots) + tuple(sizes[:own_dots])
    merged = (math.prod(size[label] for label in group) for group in matrix)
    # Axes that are not adjacent cannot be merged; BLAS needs a matrix axis innermost.
    is_apart = not all(write(group) in write(labels) for group in matrix)
    return _Matrix(
        (*range(own_dots), *permutation),
        (*front, *(size[label] for label in batch), *merged),
        is_apart or labels[-1] in batch,
    )


def _is_product_of_elements(equation: str) -> bool:
    """Return whether nothing is summed."""
    left, _, right = equation.partition("->")
    return set(left) - {","} <= set(right)


def _contraction_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory for transposed copies, where the axes of a matrix are not adjacent."""
    equation = attrs["equation"]
    if len(inputs) == 1 or _is_product_of_elements(equation):
        return ()
    plan = _plan(equation, [tensor.dims for tensor in inputs])  # type: ignore[misc]
    needed = [matrix.shape for matrix in plan.matrices if matrix.is_copied]
    if plan.order is not None:
        needed.append(plan.shape)
    return tuple((inputs[0].dtype.base_dtype, shape) for shape in needed)


def _bind_contraction(launch: Launch) -> Call | Parts:
    if len(launch.inputs) == 1:
        return _bind_permutation(launch)
    if _is_product_of_elements(launch.attrs["equation"]):
        return _bind_elements(launch)
    xp, out = launch.xp, launch.outputs[0]
    plan = _plan(launch.attrs["equation"], [array.shape for array in launch.inputs])
    operands = launch.inputs[::-1] if plan.is_swapped else launch.inputs
    scratch = list(launch.scratch)
    before: list[Call] = []
    matrices = []
    for array, matrix in zip(operands, plan.matrices, strict=True):
        permuted = array.transpose(matrix.permutation)
        if matrix.is_copied:
            buffer = scratch.pop(0)
            before.append((xp.copyto, (buffer.reshape(permuted.shape), permuted)))
            matrices.append(buffer)
        else:
            matrices.append(permuted.reshape(matrix.shape))
    after: list[Call] = []
    if plan.order is None:
        result = out.reshape(plan.shape)
    else:
        result = scratch.pop(0)
        after.append((xp.copyto, (out, result.reshape(plan.parts).transpose(plan.order))))
    a, b = matrices
    bound = product(xp, a, b, result, launch.n_threads)
    if isinstance(bound, Parts):
        return bound._replace(first=before, then=after)
    return (make_calls, ((*before, bound, *after),)) if before or after else bound


def _bind_elements(launch: Launch) -> Call:
    """Multiply arrays whose axes are in the order of the output, of size 1 where missing."""
    left, _, right = launch.attrs["equation"].partition("->")
    output = without(read_labels(right), ELLIPSIS)
    views = []
    for array, text in zip(launch.inputs, left.split(","), strict=True):
        labels = without(read_labels(text), ELLIPSIS)
        n_dots = array.ndim - len(labels)
        held = [label for label in output if label in labels]
        permuted = array.transpose(*range(n_dots), *(n_dots + labels.index(x) for x in held))
        axes = (slice(None) if label in labels else None for label in output)
        index: tuple[Any, ...] = (Ellipsis, *axes)
        views.append(permuted[index])
    return launch.xp.multiply, (*views, launch.outputs[0])


def _bind_permutation(launch: Launch) -> Call:
    """Permute axes; for repeated labels, take or fill the diagonal."""
    left, _, right = launch.attrs["equation"].partition("->")
    target = read_labels(right)
    once = write(unique(target))
    out = launch.outputs[0]
    taken = launch.xp.einsum(f"{left}->{once}", launch.inputs[0])
    place = launch.xp.einsum(f"{right}->{once}", out)
    is_spread = len(set(target)) < len(target)
    return _permute, (launch.xp.copyto, out if is_spread else None, place, taken)


def _permute(copyto: Any, cleared: Any, place: Any, taken: Any) -> None:
    if cleared is not None:
        cleared[...] = 0
    copyto(place, taken)


def _flops(inputs: Sequence[Typed], outputs: Sequence[Typed]) -> float:
    """Count 2·m·k·n operations, from m·k, k·n and m·n elements."""
    n_elements = [math.prod(t.dims or ()) for t in (*inputs, *outputs)]  # type: ignore[arg-type]
    return 2.0 * math.sqrt(math.prod(n_elements)) if len(inputs) == 2 else 0.0


EINSUM = OpDef(
    "Einsum",
    "inputs:T*",
    _contracted_type,
    types={"T": _TYPES},
    kernels=all_devices(_bind_contraction, _TYPES, _contraction_scratch),
    flops=_flops,
    samples=(
        "d(2, 2, 3), equation='iij->ji'",
        "d(2, 3), equation='i...->...i'",
        "d(2, 3), d(3, 4), equation='ij,jk->ki'",
        "d(3, 2, 4), d(4, 3, 5), equation='jbk,kjl->lb'",
        "d(5, 2, 3), d(3, 4), equation='...ij,jk->...ik'",
    ),
    large_samples=(
        "sample('d', (8, 64, 512)), sample('d', (512, 512)), equation='aib,bk->kia'",
    ),
)


@gradient(EINSUM)
def _einsum_gradient(op: RecordedOp, grad: Any) -> Any:
    left, _, output = op.attrs["equation"].partition("->")
    if len(op.inputs) == 1:
        return apply(EINSUM, (grad,), {"equation": f"{output}->{left}"})
    sides = left.split(",")
    return [
        _by_one(output, sides[1 - k], sides[k], grad, op.inputs[1 - k], op.inputs[k])
        for k in (0, 1)
    ]


def _by_one(output: str, other: str, own: str, grad: Any, factor: Any, tensor: Any) -> Any:
    """Gradient of one factor: `grad` times the other, summed where `tensor` was broadcast."""
    if ELLIPSIS not in output:
        return apply(EINSUM, (grad, conj(factor)), {"equation": f"{output},{other}->{own}"})
    wide = ELLIPSIS + write(without(read_labels(own), ELLIPSIS))
    product = apply(EINSUM, (grad, conj(factor)), {"equation": f"{output},{other}->{wide}"})
    return sum_like(product, tensor)
