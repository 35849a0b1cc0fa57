"""Diagonals of matrices: MatrixDiag, MatrixDiagPart, MatrixSetDiag, MatrixBandPart.

A diagonal has a number: 0 is the main one, those above are positive, those below negative.
Several next to each other are a *band*, packed into rows: the uppermost first, each as long
as the longest of them. `align` says on which side shorter ones are filled up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import ALL, bool_
from berth.ops.arrays.filling import zeros_like
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg import diagonals
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import (
    INDEX,
    ON_DEVICES,
    ShapeMismatch,
    all_devices_but_strings,
    check_again,
    copy_each,
    from_host,
)
from berth.ops.shape import Dims, bracketed, is_known

_ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")

# --- bands --------------------------------------------------------------------------------


class Band(NamedTuple):
    """A band: the diagonals from `lower` to `upper`."""

    lower: int
    upper: int

    @property
    def n_diagonals(self) -> int:
        return self.upper - self.lower + 1


def _read_band(k: Any) -> Band:
    numbers = [int(number) for number in k.reshape(-1)]
    if len(numbers) not in (1, 2):
        raise ValueError(
            f"diag_index must have only one or two elements, received {len(numbers)} elements."
        )
    band = Band(numbers[0], numbers[-1])
    if band.lower > band.upper:
        raise ValueError(
            "lower_diag_index must not be larger than upper_diag_index: "
            f"{band.lower} > {band.upper}"
        )
    return band


def _check_within(band: Band, rows: int | None, columns: int | None) -> None:
    for which, number in (("lower", band.lower), ("upper", band.upper)):
        if (rows is not None and -number >= rows and number) or (
            columns is not None and number >= columns and number
        ):
            raise ValueError(
                f"{which}_diag_index is out of bound: {number}. It must be between "
                f"{'?' if rows is None else -rows} and {'?' if columns is None else columns}"
            )


def _longest(band: Band, rows: int | None, columns: int | None) -> int | None:
    if rows is None or columns is None:
        return None
    return min(rows + min(band.upper, 0), columns - max(band.lower, 0))


def _packed_dims(band: Band, longest: int | None) -> tuple[int | None, ...]:
    return (longest,) if band.n_diagonals == 1 else (band.n_diagonals, longest)


def one_diagonal(matrices: Any, number: int) -> Any:
    """Return one diagonal of each matrix, as a writable view."""
    *batch, rows, columns = matrices.shape
    length = max(min(rows + min(number, 0), columns - max(number, 0)), 0)
    start = number if number >= 0 else -number * columns
    stop = start + (length - 1) * (columns + 1) + 1 if length else start
    return matrices.reshape(*batch, rows * columns)[..., start : stop : columns + 1]


def _pairs(matrices: Any, packed: Any, band: Band, align: str) -> Iterator[tuple[Any, Any]]:
    """Pair each diagonal of matrices with its row in a packed band."""
    above, below = (side == "LEFT" for side in align.split("_"))
    rows = packed if band.n_diagonals > 1 else packed[..., None, :]
    for row, number in enumerate(range(band.upper, band.lower - 1, -1)):
        diagonal = one_diagonal(matrices, number)
        is_left = (number >= 0 and above) or (number <= 0 and below)
        length = diagonal.shape[-1]
        start = 0 if is_left else rows.shape[-1] - length
        yield diagonal, rows[..., row, start : start + length]


def fill_and_copy(copyto: Any, fill: tuple[Any, Any], pairs: Sequence[Any]) -> None:
    """Fill an array with a value, then copy arrays into views of it."""
    copyto(*fill)
    copy_each(copyto, pairs)


def _check_matrices(dims: Dims) -> None:
    if dims is not None and len(dims) < 2:
        raise ValueError(f"input must be at least 2-dim, received shape: {bracketed(dims)}")


def _check_align(op: str, align: str) -> None:
    if align not in _ALIGNMENTS:
        known = ", ".join(f'"{each}"' for each in _ALIGNMENTS)
        raise ShapeMismatch(
            f"Attr 'align' of '{op}' Op passed string '{align}' not in: {known}.",
            f"Value for attr 'align' of \"{align}\" is not in the list of allowed values: "
            f"{known}",
        )


# --- the operations -----------------------------------------------------------------------


def _diagonal_matrices(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    _check_align("MatrixDiagV3", attrs["align"])
    diagonal, k, num_rows, num_cols = inputs[:4]
    dtype, dims = diagonal.dtype.base_dtype, diagonal.dims
    if dims == ():
        raise ValueError("diagonal must be at least 1-dim, received shape: []")
    if dims is None or k.value is None:
        return ((dtype, None),)
    band = _read_band(k.value)
    batch = dims[: -1 if band.n_diagonals == 1 else -2]
    if band.n_diagonals > 1 and dims[len(batch)] not in (None, band.n_diagonals):
        raise ValueError(
            "The number of diagonals provided in the input does not match the "
            "lower_diag_index and upper_diag_index range."
        )
    if dims[-1] is None or num_rows.value is None or num_cols.value is None:
        return ((dtype, (*batch, None, None)),)
    sizes = _matrix_size(band, dims[-1], int(num_rows.value), int(num_cols.value))
    return ((dtype, (*batch, *sizes)),)


def _matrix_size(band: Band, longest: int, num_rows: int, num_cols: int) -> tuple[int, int]:
    least = longest - min(band.upper, 0), longest + max(band.lower, 0)
    if num_rows == -1 and num_cols == -1:
        return max(least), max(least)
    rows = least[0] if num_rows == -1 else num_rows
    columns = least[1] if num_cols == -1 else num_cols
    if rows < least[0]:
        raise ValueError("The number of rows is too small.")
    if columns < least[1]:
        raise ValueError("The number of columns is too small.")
    if rows != least[0] and columns != least[1]:
        raise ValueError(
            "The number of rows or columns is not consistent with the specified d_lower, "
            "d_upper, and diagonal."
        )
    return rows, columns


def _bind_diagonal_matrices(launch: Launch) -> Call:
    diagonal, k, _, _, padding = launch.inputs
    out = launch.outputs[0]
    pairs = tuple(_pairs(out, diagonal, _read_band(k), launch.attrs["align"]))
    return fill_and_copy, (launch.xp.copyto, (out, padding), pairs)


MATRIX_DIAG = OpDef(
    "MatrixDiagV3",
    "diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T",
    _diagonal_matrices,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_diagonal_matrices),
    host_inputs=(1, 2, 3),
    samples=(
        "d(2, 3), at(0), at(-1), at(5), d(), align='RIGHT_LEFT'",
        "d(2, 3, 3), i(-1, 1), at(-1), at(-1), d(), align='RIGHT_LEFT'",
    ),
)


@gradient(MATRIX_DIAG)
def _diag_gradient(op: RecordedOp, grad: Any) -> Any:
    part = diagonals.diag_part(grad, k=op.inputs[1], align=op.attrs["align"])
    return part, None, None, None, None


def _part_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    _check_align("MatrixDiagPartV3", attrs["align"])
    matrices, k = inputs[:2]
    dtype, dims = matrices.dtype.base_dtype, matrices.dims
    _check_matrices(dims)
    if dims is None or k.value is None:
        return ((dtype, None),)
    band = _read_band(k.value)
    _check_within(band, *dims[-2:])
    return ((dtype, (*dims[:-2], *_packed_dims(band, _longest(band, *dims[-2:])))),)


def _bind_part(launch: Launch) -> Call:
    matrices, k, padding = launch.inputs
    out = launch.outputs[0]
    pairs = _pairs(matrices, out, _read_band(k), launch.attrs["align"])
    copies = tuple((place, diagonal) for diagonal, place in pairs)
    return fill_and_copy, (launch.xp.copyto, (out, padding), copies)


MATRIX_DIAG_PART = OpDef(
    "MatrixDiagPartV3",
    "input:T k:int32 padding_value:T",
    _part_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_part),
    host_inputs=(1,),
    samples=(
        "d(2, 3, 4), i(-1, 1), d(), align='RIGHT_LEFT'",
        "d(2, 3, 4), at(1), d(), align='RIGHT_LEFT'",
    ),
    large_samples=("sample('d', (512, 512)), i(-9, 9), d(), align='RIGHT_LEFT'",),
)


@gradient(MATRIX_DIAG_PART)
def _diag_part_gradient(op: RecordedOp, grad: Any) -> Any:
    matrices, k, _ = op.inputs
    return (
        diagonals.set_diag(zeros_like(matrices), grad, k=k, align=op.attrs["align"]),
        None,
        None,
    )


def _set_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    _check_align("MatrixSetDiagV3", attrs["align"])
    matrices, diagonal, k = inputs
    dtype, dims = matrices.dtype.base_dtype, matrices.dims
    _check_matrices(dims)
    if dims is None or k.value is None:
        return ((dtype, dims),)
    band = _read_band(k.value)
    _check_within(band, *dims[-2:])
    wanted = (*dims[:-2], *_packed_dims(band, _longest(band, *dims[-2:])))
    given = diagonal.dims
    if given is not None and is_known(given) and is_known(wanted) and given != wanted:
        raise ValueError(
            "Either first dimensions of diagonal don't match input.shape[:-2], or "
            "diagonal.shape[:-1] is not equal to the longests diagonal in range "
            f"[lower_diag_index:upper_diag_index].\nInput shape: {bracketed(dims)}\n"
            f"Diagonal shape: {bracketed(given)}\nExpected diagonal shape: {bracketed(wanted)}"
        )
    return ((dtype, dims),)


def _bind_set(launch: Launch) -> Call:
    matrices, diagonal, k = launch.inputs
    out = launch.outputs[0]
    check_again(_set_type, launch)
    pairs = tuple(_pairs(out, diagonal, _read_band(k), launch.attrs["align"]))
    return fill_and_copy, (launch.xp.copyto, (out, matrices), pairs)


MATRIX_SET_DIAG = OpDef(
    "MatrixSetDiagV3",
    "input:T diagonal:T k:int32",
    _set_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_set),
    host_inputs=(2,),
    samples=("d(2, 3, 4), d(2, 3), at(0), align='RIGHT_LEFT'",),
    large_samples=(
        "sample('d', (512, 512)), sample('d', (512, 512))[0], at(0), align='RIGHT_LEFT'",
    ),
)


@gradient(MATRIX_SET_DIAG)
def _set_diag_gradient(op: RecordedOp, grad: Any) -> Any:
    _, diagonal, k = op.inputs
    align = op.attrs["align"]
    around = diagonals.set_diag(grad, zeros_like(diagonal), k=k, align=align)
    return around, diagonals.diag_part(grad, k=k, align=align), None


def _band_part_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    matrices, *limits = inputs
    _check_matrices(matrices.dims)
    for limit, name, size, axis in zip(
        limits,
        ("num_lower", "num_upper"),
        (matrices.dims or (None, None))[-2:],
        ("rows", "columns"),
        strict=True,
    ):
        if limit.dims:
            raise ValueError(f"{name} must be scalar, got shape {bracketed(limit.dims)}")
        if limit.value is not None and size is not None and int(limit.value) > size:
            raise ValueError(
                f"{name} must be negative or less or equal to number of {axis} ({size}) "
                f"got: {int(limit.value)}"
            )
    return ((matrices.dtype.base_dtype, matrices.dims),)


def _mask_type(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    dims = outputs[0][1] or ()
    return ((bool_, dims[-2:]),)


def _bind_band_part(launch: Launch) -> Call:
    matrices, lower, upper = launch.inputs
    out, mask = launch.outputs[0], launch.scratch[0]
    rows, columns = out.shape[-2:]
    distance = np.arange(columns) - np.arange(rows)[:, None]
    inside = (lower < 0) | (distance >= -int(lower))
    inside = inside & ((upper < 0) | (distance <= int(upper)))
    draw = from_host(mask, np.broadcast_to(inside, (rows, columns)).copy())
    return _keep_band, (launch.xp.copyto, draw, matrices, out, mask)


def _keep_band(copyto: Any, draw: Call, matrices: Any, out: Any, mask: Any) -> None:
    draw[0](*draw[1])
    out[...] = 0
    copyto(out, matrices, where=mask)


MATRIX_BAND_PART = OpDef(
    "MatrixBandPart",
    "input:T num_lower:Tindex num_upper:Tindex",
    _band_part_type,
    types={"T": ON_DEVICES, "Tindex": INDEX},
    kernels=all_devices(_bind_band_part, ON_DEVICES, _mask_type),
    host_inputs=(1, 2),
    samples=("d(2, 3, 4), at(1), at(-1)",),
    large_samples=("sample('d', (512, 512)), at(1), at(1)",),
)


@gradient(MATRIX_BAND_PART)
def _band_part_gradient(op: RecordedOp, grad: Any) -> Any:
    return diagonals.band_part(grad, *op.inputs[1:]), None, None
