"""Lookup tables that are filled once: `StaticHashTable`, `StaticVocabularyTable`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.data.lookup_ops import EXPORT, FIND, HASH_TABLE, SIZE, Handle
from berth.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64, string
from berth.eager.mode import init_scope
from berth.errors import NotFoundError
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.strings import as_string
from berth.ops.compose import convert, is_eager
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import not_equal
from berth.ops.opdef import OpDef
from berth.ops.shape import TensorShape
from berth.ops.text.mapping import to_hash_bucket_fast
from berth.public import public, public_v1
from berth.trackable.base import Trackable

_NUMBERS = (int32, float32, float64)
STATIC_TYPES = {
    string: (string, *_NUMBERS, int64, bool_),
    int32: (string, *_NUMBERS),
    int64: (string, *_NUMBERS, int64),
}
"""The types of keys, with those of the values that TensorFlow has tables for."""


def check_types(
    op: OpDef, key: DType, value: DType, known: dict[DType, tuple[DType, ...]]
) -> None:
    """Raise NotFoundError for types of keys and values that no table has."""
    if value in known.get(key, ()):
        return
    raise NotFoundError(
        None,
        None,
        f"Could not find device for node: {{{{node {op.name}}}}} = {op.name}[key_dtype="
        f"{key.enum_name}, value_dtype={value.enum_name}]",
    )


def with_values_of(keys: Any, look_up: Any) -> Any:
    """Look up the values of a sparse or ragged tensor, which keeps its structure."""
    if hasattr(keys, "with_flat_values"):
        return keys.with_flat_values(look_up(keys.flat_values))
    return type(keys)(keys.indices, look_up(keys.values), keys.dense_shape)


def is_composite(keys: Any) -> bool:
    """Tell whether keys are a sparse or ragged tensor."""
    return hasattr(keys, "with_flat_values") or hasattr(keys, "dense_shape")


class TableBase(Trackable):
    """A table: the types of its keys and values, its handle, and its default value."""

    handle: Handle

    def __init__(
        self, op: OpDef, key_dtype: Any, value_dtype: Any, default: Any, name: str | None
    ) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default_value = convert(default, self._value_dtype)
        self._name = None if is_eager() else name
        self._op = op

    def _make(self, name: str, **attrs: Any) -> None:
        types = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype}
        self.handle = Handle(self._op, {**types, **attrs}, name)
        if self.handle.tensor is not None:
            self._name = self.handle.tensor.op.name.rpartition("/")[2]

    @property
    def name(self) -> str | None:
        """The name of its operation in a graph; None in an eager program."""
        return self._name

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype

    @property
    def default_value(self) -> Any:
        """The value of keys that are not there."""
        return self._default_value

    @property
    def resource_handle(self) -> Any:
        """The tensor that stands for the table in a graph."""
        return self.handle.value()

    @property
    def _value_shape(self) -> TensorShape:
        return TensorShape(self._default_value.shape)

    def __getitem__(self, keys: Any) -> Any:
        """Look up keys."""
        return self.lookup(keys)

    lookup: Callable[..., Any]

    def _find(self, keys: Any, default: Any, name: str | None) -> Any:
        return self.handle.apply(
            FIND, (keys, default), {"value_shape": self._value_shape}, name
        )

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}"
            )

    def size(self, name: str | None = None) -> Any:
        """Return the number of entries."""
        return self.handle.apply(SIZE, (), {}, name or f"{self.name}_Size")

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return tensors of all keys and of all values."""
        attrs = {
            "Tkeys": self._key_dtype,
            "Tvalues": self._value_dtype,
            "value_shape": self._value_shape,
        }
        keys, values = self.handle.apply(
            EXPORT, (), attrs, name or f"{self.name}_export_values"
        )
        return keys, values


@public("lookup.StaticHashTable")
class StaticHashTable(TableBase):
    """A table that is filled by its initializer, and does not change any more.

    >>> from berth.data.lookup_initializers import KeyValueTensorInitializer
    >>> from berth.ops.arrays.array import constant
    >>> table = StaticHashTable(KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    >>> table.lookup(constant(["b", "z"])).numpy().tolist()
    [2, -1]
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
        *,
        shared_name: str | None = None,
    ) -> None:
        name = name or "hash_table"
        self._initializer = initializer
        with init_scope():
            types = initializer.key_dtype, initializer.value_dtype
            super().__init__(HASH_TABLE, *types, default_value, name)
            if self._default_value.dims != ():
                shape = TensorShape(self._default_value.shape)
                raise ValueError(f"Shapes {shape} and () are not compatible")
            check_types(HASH_TABLE, *types, STATIC_TYPES)
            shared = shared_name or initializer._shared_name
            self._make(name, shared_name=shared, container="")
            self._init_op = initializer.initialize(self)

    @property
    def initializer(self) -> Any:
        """The operation that fills the table, in a graph."""
        return self._init_op

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Look up keys, a tensor; those that are not there have the default value."""
        if is_composite(keys):
            return with_values_of(keys, lambda values: self.lookup(values, name))
        self._check_keys(keys)
        return self._find(keys, self._default_value, name or f"{self.name}_Lookup")


@public("lookup.StaticVocabularyTable")
class StaticVocabularyTable(Trackable):
    """Numbers of words: those of an initializer, and buckets by hash for all others.

    >>> from berth.data.lookup_initializers import KeyValueTensorInitializer
    >>> from berth.ops.arrays.array import constant
    >>> words = KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype="int64")
    >>> StaticVocabularyTable(words, 3).lookup(constant(["b", "zz"])).numpy().tolist()
    [1, 3]
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        self._num_oov_buckets = num_oov_buckets
        asked = None if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        self._table: StaticHashTable | None = None
        if initializer is not None:
            self._check_types(initializer, asked)
            self._table = StaticHashTable(initializer, -1)
        self._key_dtype = asked or (initializer.key_dtype if initializer else string)
        self._name = name or "hash_bucket"

    @staticmethod
    def _check_types(initializer: Any, asked: DType | None) -> None:
        key, value = initializer.key_dtype, initializer.value_dtype
        if value is not int64:
            raise TypeError(f"Invalid `value_dtype`, expected {int64} but got {value}.")
        if key not in (int64, string):
            raise TypeError(
                f"Invalid `key_dtype`, expected one of (tf.int64, tf.string), but got {key}."
            )
        if asked is not None and asked.is_integer != key.is_integer:
            kind = "integer" if asked.is_integer else "string"
            raise TypeError(f"Invalid `key_dtype`, expected {kind} but got {key}.")

    @property
    def name(self) -> str | None:
        """The name of its table in a graph."""
        return None if self._table is None else self._table.name

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values, int64."""
        return int64

    @property
    def initializer(self) -> Any:
        """The operation that fills the table, in a graph."""
        return None if self._table is None else self._table.initializer

    @property
    def resource_handle(self) -> Any:
        """The tensor that stands for the table of the initializer."""
        return None if self._table is None else self._table.resource_handle

    def size(self, name: str | None = None) -> Any:
        """Return the number of words and buckets."""
        if self._table is None:
            return convert(self._num_oov_buckets, int64)
        return self._table.size(name) + self._num_oov_buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the number of each key, or that of its bucket."""
        if is_composite(keys):
            return with_values_of(keys, lambda values: self.lookup(values, name))
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}"
            )
        if self._key_dtype.is_integer:
            keys = cast(keys, int64)
        texts = as_string(keys) if self._key_dtype.is_integer else keys
        buckets = to_hash_bucket_fast(texts, self._num_oov_buckets, self._name)
        if self._table is None:
            return buckets
        numbers = self._table.lookup(keys)
        missing = convert(-1, int64)
        return where_v2(not_equal(numbers, missing), numbers, buckets + self._table.size())

    def __getitem__(self, keys: Any) -> Any:
        """Look up keys."""
        return self.lookup(keys)


@public_v1("contrib.lookup.HashTable")
class HashTable(StaticHashTable):
    """A static table, as TensorFlow 1's contrib has it: it may be shared by name."""

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer, default_value, name, shared_name=shared_name)

    @property
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer
