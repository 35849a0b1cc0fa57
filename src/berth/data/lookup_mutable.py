"""Lookup tables that change: ``MutableHashTable`` and ``DenseHashTable``."""

from __future__ import annotations

from typing import Any

from berth.data.iterator_ops import Token
from berth.data.lookup import TableBase, check_types
from berth.data.lookup_ops import (
    INSERT,
    MUTABLE_DENSE_HASH_TABLE,
    MUTABLE_HASH_TABLE,
    MUTABLE_HASH_TABLE_OF_TENSORS,
    REMOVE,
)
from berth.dtypes import bool_, float32, float64, int32, int64, string
from berth.eager.mode import init_scope
from berth.errors import InvalidArgumentError
from berth.ops.compose import convert
from berth.ops.convert import to_array
from berth.ops.shape import bracketed
from berth.public import public, public_v1

_NUMBERS = (int32, float32, float64)
_MUTABLE_TYPES = {
    string: (*_NUMBERS, int64, bool_),
    int32: _NUMBERS,
    int64: (*_NUMBERS, int64, string),
}
_DENSE_TYPES = {
    string: (*_NUMBERS, int64, bool_),
    int32: _NUMBERS,
    int64: (*_NUMBERS, int64, bool_),
}


class _Changing(TableBase):
    """What both kinds have: insertion and removal."""

    def lookup(
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Any:
        """Look up keys; those that are not there have the default value, or their own."""
        keys = convert(keys, self._key_dtype, "keys")
        default = self._default_value
        if dynamic_default_values is not None:
            default = convert(dynamic_default_values, self._value_dtype)
        return self._find(keys, default, name or f"{self.name}_lookup_table_find")

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Add entries, or replace the values of keys that are there."""
        keys = convert(keys, self._key_dtype, "keys")
        values = convert(values, self._value_dtype, "values")
        name = name or f"{self.name}_lookup_table_insert"
        return self.handle.apply(INSERT, (keys, values), {}, name)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Remove keys, those that are there."""
        keys = convert(keys)
        self._check_keys(keys)
        return self.handle.apply(
            REMOVE, (keys,), {}, name or f"{self.name}_lookup_table_remove"
        )


@public("lookup.experimental.MutableHashTable")
@public_v1("contrib.lookup.MutableHashTable")
class MutableHashTable(_Changing):
    """A table to which entries are added, and from which they are removed.

    >>> table = MutableHashTable("string", "int64", -1)
    >>> table.insert(["a"], [7])
    >>> table.lookup(["a", "b"]).numpy().tolist()
    [7, -1]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        with init_scope():
            super().__init__(MUTABLE_HASH_TABLE, key_dtype, value_dtype, default_value, name)
            dims = self._default_value.dims
            if dims:
                self._op = MUTABLE_HASH_TABLE_OF_TENSORS
            if dims is not None and len(dims) > 1:
                message = f"Default value must be a vector, got shape {bracketed(dims)}"
                raise InvalidArgumentError(None, None, message)
            check_types(self._op, self._key_dtype, self._value_dtype, _MUTABLE_TYPES)
            self._make(name, value_shape=self._value_shape)


@public("lookup.experimental.DenseHashTable")
@public_v1("contrib.lookup.MutableDenseHashTable")
class DenseHashTable(_Changing):
    """A table that changes, with two keys that are never used: for places free and given up.

    `export` gives the entries alone, without the free places that TensorFlow gives too.

    >>> table = DenseHashTable("int64", "int64", -1, empty_key=0, deleted_key=-2)
    >>> table.insert([5], [7])
    >>> table.lookup([5, 6]).numpy().tolist()
    [7, -1]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        n_buckets = initial_num_buckets
        with init_scope():
            super().__init__(
                MUTABLE_DENSE_HASH_TABLE, key_dtype, value_dtype, default_value, name
            )
            check_types(self._op, self._key_dtype, self._value_dtype, _DENSE_TYPES)
            if n_buckets is not None and (n_buckets < 4 or n_buckets & (n_buckets - 1)):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Number of buckets must be at least 4 and a power of 2, got: {n_buckets}",
                )
            reserved = tuple(to_array(key, self._key_dtype) for key in (empty_key, deleted_key))
            self._make(
                name,
                value_shape=self._value_shape,
                reserved=Token.of(reserved, f"{empty_key},{deleted_key}"),
            )

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Add entries, or replace the values of keys that are there."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Any:
        """Remove keys, those that are there."""
        return self.remove(keys, name)
