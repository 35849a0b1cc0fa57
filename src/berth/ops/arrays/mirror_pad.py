"""`mirror_pad`: padding with a tensor's own reflection, and its gradient.

The edge itself is repeated (mode SYMMETRIC) or not (REFLECT). Borders are filled axis by
axis, so that corners are mirrored twice; the gradient folds them in the reverse order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from berth.dtypes import ALL, NUMBERS
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings, check_rank, copy_each
from berth.ops.shape import Dims
from berth.ops.types import Tensor


def _read_paddings(inputs: Sequence[Typed]) -> tuple[Dims, list[list[int]] | None]:
    """Return the shape of the tensor and the widths of the borders, as far as known."""
    tensor, paddings = inputs
    check_rank(paddings.dims, 2)
    n_axes, n_sides = paddings.dims or (None, None)
    if n_sides not in (2, None):
        raise ValueError(f"Dimension must be 2 but is {n_sides}")
    dims = tensor.dims
    if dims is None and n_axes is not None:
        dims = (None,) * n_axes
    if dims is not None and n_axes not in (None, len(dims)):
        raise ShapeMismatch(
            f"Shape must be rank {n_axes} but is rank {len(dims)}",
            "The first dimension of paddings must be the rank of inputs"
            f"[{n_axes},2] {list(dims)}",
        )
    if paddings.value is None:
        return dims, None
    widths = [[int(width) for width in row] for row in paddings.value]
    for before, after in widths:
        if min(before, after) < 0:
            message = "Paddings must be non-negative"
            raise ShapeMismatch(message, f"paddings must be non-negative: {before} {after}")
    return dims, widths


def _padded(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, widths = _read_paddings(inputs)
    return ((inputs[0].dtype.base_dtype, _resized(dims, widths, 1)),)


def _cut(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, widths = _read_paddings(inputs)
    return ((inputs[0].dtype.base_dtype, _resized(dims, widths, -1)),)


def _resized(dims: Dims, widths: list[list[int]] | None, sign: int) -> Dims:
    if dims is None or widths is None:
        return None if dims is None else (None,) * len(dims)
    return tuple(
        None if size is None else size + sign * sum(both)
        for size, both in zip(dims, widths, strict=True)
    )


def _pairs(
    padded: Any, paddings: Any, sizes: Sequence[int], mode: str
) -> Iterator[tuple[Any, Any]]:
    """Go through the borders of a padded array, each with the part that it mirrors."""
    offset = 1 if mode == "REFLECT" else 0
    widths = [(int(before), int(after)) for before, after in paddings]
    whole = [slice(b, b + size) for (b, _), size in zip(widths, sizes, strict=True)]
    for axis, ((before, after), size) in enumerate(zip(widths, sizes, strict=True)):
        _check_widths(before, after, size, offset)
        end = before + size
        for target, source in (
            (slice(0, before), slice(before + offset, 2 * before + offset)),
            (slice(end, end + after), slice(end - offset - after, end - offset)),
        ):
            if target.stop > target.start:
                border = (*whole[:axis], target, *whole[axis + 1 :])
                inside = (*whole[:axis], source, *whole[axis + 1 :])
                turned = (*(slice(None),) * axis, slice(None, None, -1))
                yield padded[border], padded[inside][turned]
        whole[axis] = slice(0, end + after)


def _check_widths(before: int, after: int, size: int, offset: int) -> None:
    if max(before, after) <= size - offset:
        return
    raise InvalidArgumentError(
        None,
        None,
        f"paddings must be less than the dimension size: {before}, {after} not less than {size}"
        if offset
        else f"paddings must be no greater than the dimension size: {before}, {after} greater "
        f"than {size}",
    )


def _inside(padded: Any, paddings: Any, sizes: Sequence[int]) -> Any:
    parts = [slice(int(b), int(b) + n) for (b, _), n in zip(paddings, sizes, strict=True)]
    index = (*parts, ...)  # or a part without axes would be no array
    return padded[index]


def _bind_pad(launch: Launch) -> Call:
    tensor, paddings = launch.inputs
    out = launch.outputs[0]
    borders = _pairs(out, paddings, tensor.shape, launch.attrs["mode"])
    pairs = ((_inside(out, paddings, tensor.shape), tensor), *borders)
    return copy_each, (launch.xp.copyto, pairs)


def _bind_cut(launch: Launch) -> Call:
    padded, paddings = launch.inputs
    out, copy = launch.outputs[0], launch.scratch[0]
    pairs = tuple(_pairs(copy, paddings, out.shape, launch.attrs["mode"]))[::-1]
    return _fold, (launch.xp, copy, padded, pairs, out, _inside(copy, paddings, out.shape))


def _fold(xp: Any, copy: Any, padded: Any, pairs: Any, out: Any, inside: Any) -> None:
    """Add each border to the part that it mirrors, the last axis first."""
    xp.copyto(copy, padded)
    for border, mirrored in pairs:
        xp.add(mirrored, border, mirrored)
    xp.copyto(out, inside)


def _copy_of_first(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    return ((inputs[0].dtype.base_dtype, inputs[0].dims),)


MIRROR_PAD = OpDef(
    "MirrorPad",
    "input:T paddings:Tpaddings",
    _padded,
    types={"T": ALL, "Tpaddings": INDEX},
    kernels=all_devices_but_strings(_bind_pad),
    host_inputs=(1,),
    samples=(
        "f(2, 3), ints([[1, 0], [2, 1]]), mode='REFLECT'",
        "f(2, 3), ints([[1, 0], [2, 1]]), mode='SYMMETRIC'",
    ),
    large_samples=("square, ints([[9, 9], [9, 9]]), mode='REFLECT'",),
)
MIRROR_PAD_GRAD = OpDef(
    "MirrorPadGrad",
    "input:T paddings:Tpaddings",
    _cut,
    types={"T": NUMBERS, "Tpaddings": INDEX},
    kernels=all_devices(_bind_cut, NUMBERS, _copy_of_first),
    host_inputs=(1,),
    samples=(
        "f(3, 6), ints([[1, 0], [2, 1]]), mode='REFLECT'",
        "f(3, 6), ints([[1, 0], [2, 1]]), mode='SYMMETRIC'",
    ),
    large_samples=("square, ints([[9, 9], [9, 9]]), mode='REFLECT'",),
)


def mirror_pad(input: Any, paddings: Any, mode: str, name: str | None = None) -> Tensor:
    """Pad a tensor with its own reflection at each edge.

    >>> mirror_pad([1, 2, 3], [[2, 1]], "REFLECT").numpy().tolist()
    [3, 2, 1, 2, 3, 2]
    >>> mirror_pad([1, 2, 3], [[2, 1]], "SYMMETRIC").numpy().tolist()
    [2, 1, 1, 2, 3, 3]
    """
    return apply(MIRROR_PAD, (input, paddings), {"mode": mode}, name)


def fold_mirrors(input: Any, paddings: Any, mode: str, name: str | None = None) -> Any:
    """Add the borders that `mirror_pad` made to the elements they reflect: its gradient.

    >>> fold_mirrors([1, 10, 100], [[1, 0]], "SYMMETRIC").numpy().tolist()
    [11, 100]
    """
    return apply(MIRROR_PAD_GRAD, (input, paddings), {"mode": mode}, name)


@gradient(MIRROR_PAD)
def _mirror_pad_gradient(op: RecordedOp, grad: Any) -> Any:
    return fold_mirrors(grad, op.inputs[1], op.attrs["mode"]), None


@gradient(MIRROR_PAD_GRAD)
def _mirror_pad_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    return mirror_pad(grad, op.inputs[1], op.attrs["mode"]), None
