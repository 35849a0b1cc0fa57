"""Bytes as numbers: `tf.io.decode_raw`, `tf.io.decode_csv`, tensors in strings and back."""

from __future__ import annotations

import base64
import csv
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from berth.data.file_ops import Arrays, performed
from berth.dtypes import ALL, DType, as_dtype, float32, float64, string
from berth.errors import InvalidArgumentError
from berth.front.graph_scope import convert_to_tensor
from berth.graph.tensor_proto import make_ndarray, make_tensor_proto
from berth.ops.builder import apply, apply_list
from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, OpDef, OutputType, Typed, host_only
from berth.ops.types import Tensor, TensorLike
from berth.proto.framework import TensorProto
from berth.public import public, public_v1, public_v2

# --- raw bytes ------------------------------------------------------------------------------


def _raw_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, known = inputs[0].dims, [each.value for each in inputs]
    if all(value is not None for value in known):
        compute = _decode_raw if len(inputs) == 1 else _decode_padded
        return ((attrs["out_type"], compute(known, attrs)[0].shape),)
    return ((attrs["out_type"], None if dims is None else (*dims, None)),)


def _decode_raw(inputs: Arrays, attrs: Attrs) -> list[Any]:
    texts, dtype = inputs[0], attrs["out_type"]
    flat = texts.reshape(-1).tolist()
    size = len(flat[0]) if flat else 0
    for position, text in enumerate(flat):
        if len(text) != size:
            raise InvalidArgumentError(
                None,
                None,
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{position} has size {size} != {len(text)}",
            )
    if size % dtype.itemsize:
        raise InvalidArgumentError(
            None,
            None,
            f"Input to DecodeRaw has length {size} that is not a multiple of "
            f"{dtype.itemsize}, the size of {dtype.type_string}",
        )
    order = "<" if attrs["little_endian"] else ">"
    numbers = np.frombuffer(b"".join(flat), dtype.np_dtype.newbyteorder(order))
    shape = (*texts.shape, size // dtype.itemsize)
    return [numbers.astype(dtype.np_dtype).reshape(shape)]


DECODE_RAW = OpDef(
    "DecodeRaw",
    "bytes:string",
    _raw_type,
    kernels=host_only(performed(_decode_raw)),
    shape_inputs=(0,),
    gradient=NOT_DIFFERENTIABLE,
)


def _decode_padded(inputs: Arrays, attrs: Attrs) -> list[Any]:
    """Decode strings that are cut, or filled up with zeros, to one length."""
    texts, size = inputs[0], int(inputs[1])
    if size <= 0 or size % attrs["out_type"].itemsize:
        raise InvalidArgumentError(
            None,
            None,
            f"fixed_length ({size}) must be a multiple of the size of out_type "
            f"({attrs['out_type'].itemsize})",
        )
    cut = np.empty(texts.size, object)
    cut[:] = [text[:size].ljust(size, b"\0") for text in texts.reshape(-1).tolist()]
    return _decode_raw([cut.reshape(texts.shape)], attrs)


DECODE_PADDED_RAW = OpDef(
    "DecodePaddedRaw",
    "input_bytes:string fixed_length:int32",
    _raw_type,
    kernels=host_only(performed(_decode_padded)),
    shape_inputs=(0, 1),
    gradient=NOT_DIFFERENTIABLE,
)


@public_v1("decode_raw", "io.decode_raw")
def decode_raw_v1(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Bytes of strings as numbers, with TensorFlow 1's argument names."""
    if bytes is not None:
        if input_bytes is not None:
            raise ValueError("Cannot specify both 'bytes' and 'input_bytes'.")
        input_bytes = bytes
    if input_bytes is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'input_bytes'")
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    attrs = {"out_type": as_dtype(out_type), "little_endian": little_endian}
    return apply(DECODE_RAW, (input_bytes,), attrs, name)


@public_v2("io.decode_raw")
def decode_raw(
    input_bytes: TensorLike,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Bytes of strings as numbers.

    >>> decode_raw(b"\\x01\\x00\\x02\\x00", "int16").numpy().tolist()
    [1, 2]
    >>> decode_raw([b"\\x01", b"\\x02\\x00\\x03"], "int16", fixed_length=2).numpy().tolist()
    [[1], [2]]
    """
    if fixed_length is not None:
        attrs = {"out_type": as_dtype(out_type), "little_endian": little_endian}
        return apply(DECODE_PADDED_RAW, (input_bytes, fixed_length), attrs, name)
    return decode_raw_v1(input_bytes, out_type, little_endian, name)


# --- comma-separated values -----------------------------------------------------------------


def _csv_types(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return tuple((dtype, inputs[0].dims) for dtype in attrs["OUT_TYPE"])


def _decode_csv(inputs: Arrays, attrs: Attrs) -> list[Any]:
    records, *defaults = inputs
    types, chosen = attrs["OUT_TYPE"], attrs["select_cols"]
    columns = [np.empty(records.size, dtype.np_dtype) for dtype in types]
    for row, record in enumerate(records.reshape(-1).tolist()):
        fields = _fields(record, attrs)
        if chosen:
            fields = [fields[k] for k in chosen if k < len(fields)]
        if len(fields) != len(types):
            raise InvalidArgumentError(
                None, None, f"Expect {len(types)} fields but have {len(fields)} in record {row}"
            )
        for position, text in enumerate(fields):
            value = _field(text, position, row, types[position], defaults[position], attrs)
            columns[position][row] = value
    return [column.reshape(records.shape) for column in columns]


def _fields(record: bytes, attrs: Attrs) -> list[str]:
    text = record.decode("latin-1")  # one character for each byte
    quoting: Any = csv.QUOTE_MINIMAL if attrs["use_quote_delim"] else csv.QUOTE_NONE
    try:
        rows = list(
            csv.reader([text], delimiter=attrs["field_delim"], quoting=quoting, strict=True)
        )
    except csv.Error as error:
        message = f"Record is not comma-separated values: {error}"
        raise InvalidArgumentError(None, None, message) from None
    return rows[0] if rows else [""]


def _field(text: str, position: int, row: int, dtype: DType, default: Any, attrs: Attrs) -> Any:
    if not text or text == attrs["na_value"]:
        if not default.size:
            message = f"Field {position} is required but missing in record {row}!"
            raise InvalidArgumentError(None, None, message)
        return default.reshape(-1)[0]
    if dtype is string:
        return text.encode("latin-1")
    try:
        value = float(text) if dtype in (float32, float64) else int(text)
        with np.errstate(over="raise"):
            return dtype.np_dtype.type(value)
    except (ValueError, OverflowError, FloatingPointError):
        message = f"Field {position} in record {row} is not a valid {dtype.type_string}: {text}"
        raise InvalidArgumentError(None, None, message) from None


DECODE_CSV = OpDef(
    "DecodeCSV",
    "records:string record_defaults:Any*",
    _csv_types,
    kernels=host_only(performed(_decode_csv)),
    gradient=NOT_DIFFERENTIABLE,
)


@public_v1("decode_csv", "io.decode_csv")
def decode_csv_v1(
    records: TensorLike,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> list[Tensor]:
    """Columns of comma-separated values, with TensorFlow 1's order of arguments."""
    return decode_csv(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name
    )


@public_v2("io.decode_csv")
def decode_csv(
    records: TensorLike,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[Tensor]:
    """Columns of comma-separated values; a field that is empty has its default.

    >>> [c.numpy().tolist() for c in decode_csv(["1,a", ",b"], [[7], [""]])]
    [[1, 7], [b'a', b'b']]
    """
    defaults: list[Any] = [convert_to_tensor(default) for default in record_defaults]
    if select_cols is not None:
        if any(b <= a for a, b in pairwise(select_cols)):
            raise ValueError(
                f"select_cols is not strictly increasing. Received select_cols={select_cols}."
            )
        if select_cols and select_cols[0] < 0:
            raise ValueError(
                f"select_cols contains negative values. Received select_cols={select_cols}."
            )
        if len(select_cols) != len(defaults):
            raise ValueError(
                "Length of select_cols and record_defaults do not match. Received "
                f"select_cols={select_cols} and record_defaults={record_defaults}."
            )
    attrs = {
        "OUT_TYPE": [default.dtype.base_dtype for default in defaults],
        "field_delim": field_delim,
        "use_quote_delim": use_quote_delim,
        "na_value": na_value,
        "select_cols": list(select_cols or ()),
    }
    made = apply_list(DECODE_CSV, (records, *defaults), attrs, name)
    return list(made) if isinstance(made, list | tuple) else [made]


# --- tensors in strings ---------------------------------------------------------------------


def _one_string(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, ()),)


def _serialize(inputs: Arrays, attrs: Attrs) -> list[Any]:
    found = np.empty((), object)
    found[()] = make_tensor_proto(inputs[0]).SerializeToString()
    return [found]


def _unknown(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    value = inputs[0].value
    dims = None if value is None else _parse_tensor([value], attrs)[0].shape
    return ((attrs["out_type"], dims),)


def _parse_tensor(inputs: Arrays, attrs: Attrs) -> list[Any]:
    wanted = attrs["out_type"]
    try:
        array = np.asarray(make_ndarray(TensorProto.FromString(inputs[0][()])))
        found = as_dtype(array.dtype)
    except Exception:
        text = base64.b64encode(inputs[0][()]).decode()
        message = f"Could not parse `serialized` as TensorProto, base64: {text}"
        raise InvalidArgumentError(None, None, message) from None
    if found is not wanted:
        raise InvalidArgumentError(
            None,
            None,
            f"Type mismatch between parsed tensor ({found.type_string}) and dtype "
            f"({wanted.type_string})",
        )
    return [array]


SERIALIZE_TENSOR = OpDef(
    "SerializeTensor",
    "tensor:T",
    _one_string,
    types={"T": ALL},
    kernels=host_only(performed(_serialize)),
    gradient=NOT_DIFFERENTIABLE,
)
PARSE_TENSOR = OpDef(
    "ParseTensor",
    "serialized:string",
    _unknown,
    kernels=host_only(performed(_parse_tensor)),
    shape_inputs=(0,),
    gradient=NOT_DIFFERENTIABLE,
)


@public("io.serialize_tensor")
@public_v1("serialize_tensor")
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Write a tensor into a string, a serialized TensorProto."""
    return apply(SERIALIZE_TENSOR, (tensor,), {}, name)


@public("io.parse_tensor")
@public_v1("parse_tensor")
def parse_tensor(serialized: TensorLike, out_type: Any, name: str | None = None) -> Tensor:
    """Read a tensor from a string, a serialized TensorProto.

    >>> parse_tensor(serialize_tensor([1, 2]), "int32").numpy().tolist()
    [1, 2]
    """
    return apply(PARSE_TENSOR, (serialized,), {"out_type": as_dtype(out_type)}, name)
