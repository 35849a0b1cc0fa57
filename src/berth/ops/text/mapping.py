"""Functions of each string by itself: case, length, parts, patterns, numbers, hashes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from berth.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64, string
from berth.errors import InvalidArgumentError
from berth.ops.attributes import check_choice
from berth.ops.builder import apply
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.rules import INDEX, common_dims
from berth.ops.text.hashing import farmhash64, siphash
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

Mapping = Callable[[bytes], Any]


def _mapping_op(
    name: str, make: Callable[[Attrs], Mapping], dtype: DType | None, samples: str
) -> OpDef:
    """Define an operation by the function of one string that its attributes make."""

    def infer(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
        return ((dtype or attrs["out_type"], inputs[0].dims),)

    def bind(launch: Launch) -> Call:
        return _map, (make(launch.attrs), launch.inputs[0], launch.outputs[0])

    return OpDef(
        name,
        "input:string",
        infer,
        kernels=host_only(bind),
        gradient=NOT_DIFFERENTIABLE,
        samples=(samples,),
    )


def _map(function: Mapping, texts: Any, out: Any) -> None:
    target = out.reshape(-1)
    for position, text in enumerate(texts.reshape(-1).tolist()):
        target[position] = function(text)


def _refuse(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


# --- case and length ----------------------------------------------------------------------


def _changed(method: str) -> Callable[[Attrs], Mapping]:
    """Change the case of ASCII letters; of all letters if the encoding is UTF-8."""

    def make(attrs: Attrs) -> Mapping:
        if not attrs["encoding"]:
            return lambda text: getattr(text, method)()
        return lambda text: getattr(text.decode("utf-8", "replace"), method)().encode()

    return make


LOWER = _mapping_op("StringLower", _changed("lower"), string, "text('Ab', 'c'), encoding=''")
UPPER = _mapping_op("StringUpper", _changed("upper"), string, "text('Ab', 'c'), encoding=''")
STRIP = _mapping_op("StringStrip", lambda attrs: bytes.strip, string, "text(' a ', 'b')")


def _n_units(attrs: Attrs) -> Mapping:
    if attrs["unit"] == "BYTE":
        return len
    return lambda text: sum(byte & 0xC0 != 0x80 for byte in text)


LENGTH = _mapping_op("StringLength", _n_units, int32, "text('ab', ''), unit='BYTE'")


def _check_encoding(op_name: str, encoding: str) -> None:
    if encoding not in ("", "utf-8"):
        raise _refuse(f"only utf-8 or '' (no encoding) is supported, received {encoding}")


@public("strings.lower")
def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert letters to lower case.

    >>> lower(["Ab", "C"]).numpy().tolist()
    [b'ab', b'c']
    """
    _check_encoding("StringLower", encoding)
    return apply(LOWER, (input,), {"encoding": encoding}, name)


@public("strings.upper")
def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert letters to upper case.

    >>> upper(["Ab", "c"]).numpy().tolist()
    [b'AB', b'C']
    """
    _check_encoding("StringUpper", encoding)
    return apply(UPPER, (input,), {"encoding": encoding}, name)


@public("strings.strip")
@public_v1("string_strip")
def strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Remove white space at both ends.

    >>> strip([" a ", "b"]).numpy().tolist()
    [b'a', b'b']
    """
    return apply(STRIP, (input,), {}, name)


@public_v2("strings.length")
def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Length of each string, in bytes or in characters of UTF-8 (``"UTF8_CHAR"``).

    >>> length(["ab", "é"]).numpy().tolist(), length("é", "UTF8_CHAR").numpy().item()
    ([2, 2], 1)
    """
    check_choice("StringLength", "unit", unit, ("BYTE", "UTF8_CHAR"))
    return apply(LENGTH, (input,), {"unit": unit}, name)


@public_v1("strings.length")
def length_v1(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Length of each string, with TensorFlow 1's order of arguments.

    >>> length_v1(["ab", "c"]).numpy().tolist()
    [2, 1]
    """
    return length(input, unit, name)


# --- patterns -----------------------------------------------------------------------------


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        message = f"Invalid pattern: {pattern}, error: {error}"
        raise _refuse(message) from None


def _replacing(attrs: Attrs) -> Mapping:
    pattern = _compiled(attrs["pattern"])
    rewrite = re.sub(r"\\(\d)", r"\\g<\1>", attrs["rewrite"])
    n_times = 0 if attrs["replace_global"] else 1

    def replace(text: bytes) -> bytes:
        found = text.decode("utf-8", "surrogateescape")
        return pattern.sub(rewrite, found, count=n_times).encode("utf-8", "surrogateescape")

    return replace


def _matching(attrs: Attrs) -> Mapping:
    pattern = _compiled(attrs["pattern"])
    return lambda text: bool(pattern.fullmatch(text.decode("utf-8", "surrogateescape")))


REGEX_REPLACE = _mapping_op(
    "StaticRegexReplace",
    _replacing,
    string,
    "text('ab', 'b'), pattern='a', rewrite='c', replace_global=True",
)
REGEX_FULL_MATCH = _mapping_op(
    "StaticRegexFullMatch", _matching, bool_, "text('ab', 'b'), pattern='a.'"
)


def _plain(text: Any) -> str:
    """Return a pattern as text: patterns are known when the program is written."""
    value = getattr(text, "value", text)
    value = value.item() if isinstance(value, np.ndarray) else value
    if value is None:
        raise ValueError("berth needs patterns that are known before the run.")
    return value.decode() if isinstance(value, bytes) else str(value)


@public("strings.regex_replace")
@public_v1("regex_replace")
def regex_replace(
    input: TensorLike,
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Replace what matches a regular expression; ``\1`` is its first group.

    >>> regex_replace(["a-b", "c"], "(.)-", r"\1").numpy().tolist()
    [b'ab', b'c']
    """
    attrs = {
        "pattern": _plain(pattern),
        "rewrite": _plain(rewrite),
        "replace_global": replace_global,
    }
    return apply(REGEX_REPLACE, (input,), attrs, name)


@public("strings.regex_full_match")
def regex_full_match(input: TensorLike, pattern: Any, name: str | None = None) -> Tensor:
    """Tell whether each string as a whole matches a regular expression.

    >>> regex_full_match(["ab", "abc"], "a.").numpy().tolist()
    [True, False]
    """
    return apply(REGEX_FULL_MATCH, (input,), {"pattern": _plain(pattern)}, name)


# --- parts --------------------------------------------------------------------------------


def _part_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    texts, starts, sizes = inputs
    return ((string, common_dims(common_dims(texts.dims, starts.dims), sizes.dims)),)


def _bind_parts(launch: Launch) -> Call:
    return _parts, (*launch.inputs, launch.attrs["unit"], launch.outputs[0])


def _parts(texts: Any, starts: Any, sizes: Any, unit: str, out: Any) -> None:
    wide = [np.broadcast_to(each, out.shape).reshape(-1) for each in (texts, starts, sizes)]
    target = out.reshape(-1)
    for position, (text, start, size) in enumerate(zip(*wide, strict=True)):
        units = text if unit == "BYTE" else text.decode("utf-8", "replace")
        first = start + len(units) if start < 0 else start
        if not 0 <= first <= len(units):
            shown = text.decode("latin-1")
            raise _refuse(f"pos {start} out of range for string b'{shown}' at index {position}")
        part = units[first : first + max(size, 0)]
        target[position] = part if unit == "BYTE" else part.encode()


SUBSTR = OpDef(
    "Substr",
    "input:string pos:T len:T",
    _part_type,
    types={"T": INDEX},
    kernels=host_only(_bind_parts, INDEX),
    gradient=NOT_DIFFERENTIABLE,
    samples=("text('abc', 'def'), i(1, 0), i(1, 2), unit='BYTE'",),
)


@public_v2("strings.substr")
def substr(
    input: TensorLike, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """Part of each string: from a position on, so many bytes or characters.

    >>> substr(["abc", "def"], 1, 1).numpy().tolist()
    [b'b', b'e']
    """
    check_choice("Substr", "unit", unit, ("BYTE", "UTF8_CHAR"))
    return apply(SUBSTR, (input, pos, len), {"unit": unit}, name)


@public_v1("substr", "strings.substr")
def substr_v1(
    input: TensorLike, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """Part of each string, with TensorFlow 1's order of arguments.

    >>> substr_v1("abc", 1, 2).numpy()
    b'bc'
    """
    return substr(input, pos, len, unit, name)


# --- numbers and hashes -------------------------------------------------------------------


def _reading(attrs: Attrs) -> Mapping:
    read: Callable[[Any], Any] = float if attrs["out_type"].is_floating else int

    def number(text: bytes) -> Any:
        try:
            return read(text.decode("ascii").replace("_", "?"))
        except (ValueError, UnicodeDecodeError):
            shown = text.decode("latin-1")
            message = f"StringToNumberOp could not correctly convert string: {shown}"
            raise _refuse(message) from None

    return number


def _bucket(attrs: Attrs) -> Mapping:
    return lambda text: farmhash64(text) % attrs["num_buckets"]


def _keyed_bucket(attrs: Attrs) -> Mapping:
    hash_of = partial(siphash, key=tuple(attrs["key"]))
    return lambda text: hash_of(text) % attrs["num_buckets"]


TO_NUMBER = _mapping_op("StringToNumber", _reading, None, "text('1', '2.5'), out_type=float32")
TO_HASH_BUCKET_FAST = _mapping_op(
    "StringToHashBucketFast", _bucket, int64, "text('a', 'bc'), num_buckets=10"
)
TO_HASH_BUCKET_STRONG = _mapping_op(
    "StringToHashBucketStrong",
    _keyed_bucket,
    int64,
    "text('a', 'bc'), num_buckets=10, key=[1, 2]",
)


@public_v2("strings.to_number")
def to_number(
    input: TensorLike, out_type: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Convert each string to a number.

    >>> to_number(["1", "2.5"]).numpy().tolist()
    [1.0, 2.5]
    """
    wanted = as_dtype(out_type)
    if wanted not in (float32, float64, int32, int64):
        raise TypeError(
            f"Value passed to parameter 'out_type' has DataType {wanted.name} not in list of "
            "allowed values: float32, float64, int32, int64"
        )
    return apply(TO_NUMBER, (input,), {"out_type": wanted}, name)


@public_v1("string_to_number", "strings.to_number")
def to_number_v1(
    string_tensor: Any = None,
    out_type: DTypeLike = float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Convert each string to a number, with TensorFlow 1's argument names.

    >>> to_number_v1(["3"], "int32").numpy().tolist()
    [3]
    """
    return to_number(string_tensor if input is None else input, out_type, name)


@public("strings.to_hash_bucket_fast")
@public_v1("string_to_hash_bucket_fast")
def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Hash each string to one of so many buckets, by FarmHash.

    >>> to_hash_bucket_fast(["Hello", "TensorFlow"], 3).numpy().tolist()
    [0, 2]
    """
    return apply(TO_HASH_BUCKET_FAST, (input,), {"num_buckets": num_buckets}, name)


@public("strings.to_hash_bucket_strong")
@public_v1("string_to_hash_bucket_strong")
def to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Any, name: str | None = None
) -> Tensor:
    """Hash each string to one of so many buckets, by SipHash with a key of two numbers.

    >>> to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy().tolist()
    [2, 0]
    """
    parts = [int(part) for part in key]
    if len(parts) != 2:
        raise _refuse("Key must have 2 elements")
    attrs = {"num_buckets": num_buckets, "key": parts}
    return apply(TO_HASH_BUCKET_STRONG, (input,), attrs, name)
