"""``tf.dtypes``: the types of tensors' elements, under TensorFlow's names.

A `DType` is one object for each type, so they are compared with ``is``. Beside its NumPy
type it has the three names that TensorFlow gives it: ``float32`` in programs, ``DT_FLOAT`` in
graphs, ``float`` in messages. A *reference* type is that of a variable which other
operations may change in place; elsewhere it behaves like its base.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from berth.proto.framework import DataType
from berth.public import public, public_value

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "complex128",
    "complex64",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "resource",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "variant",
]


@public("DType")
class DType:
    """The type of a tensor's elements."""

    __slots__ = (
        "as_numpy_dtype",
        "base_dtype",
        "enum_name",
        "is_object",
        "is_ref",
        "itemsize",
        "kind",
        "name",
        "np_dtype",
        "ref",
        "type_string",
    )

    def __init__(self, name: str, type_string: str, scalar: Any, kind: str) -> None:
        self.name = name
        self.type_string = type_string
        self.enum_name = f"DT_{type_string.upper()}"
        self.as_numpy_dtype = scalar
        self.np_dtype = np.dtype(scalar)
        self.itemsize = self.np_dtype.itemsize
        self.kind = kind
        """f, i, u, b, c as in NumPy; S for strings, R for handles, V for variants: lists."""
        self.is_object = kind in "SV"
        """Whether the elements are Python objects, in the memory of the host."""
        self.base_dtype = self
        self.is_ref = False
        self.ref: DType = self

    @property
    def as_datatype_enum(self) -> int:
        """The number of the type in messages: ``DT_FLOAT`` is 1."""
        return DataType.Value(self.enum_name)

    @property
    def size(self) -> int:
        """How many bytes an element takes; 1 for strings and handles, as in TensorFlow."""
        return 1 if self.kind in "SRV" else self.itemsize

    @property
    def is_floating(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        return self.kind == "u"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_numeric(self) -> bool:
        """Whether elements are numbers: integers, floating point or complex."""
        return self.kind in "fiuc"

    @property
    def is_inexact(self) -> bool:
        """Whether elements are floating point or complex: what gradients are of."""
        return self.kind in "fc"

    is_quantized = False

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def min(self) -> Any:
        """The least value that can be represented."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest value that can be represented."""
        return self._limits().max

    def _limits(self) -> Any:
        if self.is_floating:
            return np.finfo(self.as_numpy_dtype)
        if self.is_integer:
            return np.iinfo(self.as_numpy_dtype)
        raise TypeError(f"Cannot find minimum value of {self}.")

    def is_compatible_with(self, other: Any) -> bool:
        """Tell whether a tensor of this type can be used where the other is wanted."""
        return as_dtype(other).base_dtype is self.base_dtype

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__  # there is one of each

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


class _PackagedDType(DType):
    """A type that NumPy has by the package ml_dtypes, which is imported when it is used."""

    __slots__ = ()

    def __init__(self, name: str, itemsize: int) -> None:
        self.name = self.type_string = name
        self.enum_name = f"DT_{name.upper()}"
        self.itemsize, self.kind = itemsize, "f"
        self.base_dtype, self.is_ref, self.ref = self, False, self
        self.is_object = False

    @property
    def np_dtype(self) -> Any:
        """NumPy's type."""
        dtype = np.dtype(getattr(_ml_dtypes(self), self.name))
        BY_NUMPY[dtype] = self
        return dtype

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's scalar type."""
        return self.np_dtype.type

    def _limits(self) -> Any:
        return _ml_dtypes(self).finfo(self.np_dtype)


def _ml_dtypes(dtype: DType) -> Any:
    try:
        return import_module("ml_dtypes")
    except ImportError:
        raise ImportError(
            f"tf.{dtype.name} needs the package ml_dtypes: pip install ml_dtypes"
        ) from None


def _make(name: str, type_string: str, scalar: Any, kind: str) -> DType:
    dtype = DType(name, type_string, scalar, kind)
    ref = DType(f"{name}_ref", f"{type_string}_ref", scalar, kind)
    ref.base_dtype, ref.is_ref = dtype, True
    dtype.ref = ref
    return dtype


float16 = _make("float16", "half", np.float16, "f")
float32 = _make("float32", "float", np.float32, "f")
float64 = _make("float64", "double", np.float64, "f")
int8 = _make("int8", "int8", np.int8, "i")
int16 = _make("int16", "int16", np.int16, "i")
int32 = _make("int32", "int32", np.int32, "i")
int64 = _make("int64", "int64", np.int64, "i")
uint8 = _make("uint8", "uint8", np.uint8, "u")
uint16 = _make("uint16", "uint16", np.uint16, "u")
uint32 = _make("uint32", "uint32", np.uint32, "u")
uint64 = _make("uint64", "uint64", np.uint64, "u")
bool_ = _make("bool", "bool", np.bool_, "b")
complex64 = _make("complex64", "complex64", np.complex64, "c")
complex128 = _make("complex128", "complex128", np.complex128, "c")
half, double = float16, float64
bfloat16 = _PackagedDType("bfloat16", 2)
float8_e5m2 = _PackagedDType("float8_e5m2", 1)
float8_e4m3fn = _PackagedDType("float8_e4m3fn", 1)
string = _make("string", "string", object, "S")
resource = _make("resource", "resource", np.object_, "R")
variant = _make("variant", "variant", np.object_, "V")
globals()["bool"] = bool_  # TensorFlow's name for it, which is Python's too

for _name in set(__all__) - {"DType", "as_dtype", "bool"}:
    public_value(__name__, _name, _name)
public_value(__name__, "bool_", "bool")

FLOATING = (float16, float32, float64)
INTEGERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
REAL = FLOATING + INTEGERS
COMPLEX = (complex64, complex128)
NUMBERS = REAL + COMPLEX
ALL = (*NUMBERS, bool_, string, resource, variant)
PACKAGED = (bfloat16, float8_e5m2, float8_e4m3fn)
"""Types of the package ml_dtypes: kernels compute with them in float32."""

_BY_NAME = {dtype.name: dtype for base in ALL for dtype in (base, base.ref)}
_BY_NAME |= {"half": float16, "float": float32, "double": float64}
_BY_NAME |= {dtype.name: dtype for dtype in PACKAGED}
_BY_ENUM = {dtype.as_datatype_enum: dtype for dtype in _BY_NAME.values()}
BY_NUMPY = {dtype.np_dtype: dtype for dtype in (*NUMBERS, bool_)}
_PACKAGED_NAMES = frozenset(dtype.name for dtype in PACKAGED)
_BY_PYTHON = {float: float32, int: int32, bool: bool_, complex: complex128, str: string}
# TensorFlow reads Python's own types so: a float is a float32, as a constant 1.0 is.


def packaged_with(allowed: Sequence[DType]) -> tuple[DType, ...]:
    """List the types of ml_dtypes that are allowed with others: bfloat16 where float16 is."""
    if float16 not in allowed:
        return ()
    return PACKAGED if bool_ in allowed else (bfloat16,)


@public("as_dtype")
def as_dtype(value: Any) -> DType:
    """Find a type by its name, its NumPy type, or Python's.

    >>> as_dtype("float32"), as_dtype(np.int64), as_dtype(float)
    (tf.float32, tf.int64, tf.float32)
    """
    if isinstance(value, DType):
        return value
    found = _BY_NAME.get(value) if isinstance(value, str) else None
    if isinstance(value, int):
        found = _BY_ENUM.get(value)
    if found is None and isinstance(value, type):
        found = _BY_PYTHON.get(value)
    if found is None:
        found = _from_numpy(value)
    if found is None:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType."
        )
    return found


def _from_numpy(value: Any) -> DType | None:
    if value is None:  # which NumPy would read as float64
        return None
    try:
        dtype = np.dtype(value)
    except TypeError:
        return None
    if dtype.kind in "OSU":
        return string
    found = BY_NUMPY.get(dtype.newbyteorder("="))
    if found is None and dtype.name in _PACKAGED_NAMES:
        return _BY_NAME[dtype.name]
    return found
