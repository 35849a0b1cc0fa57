"""Lookup tables: the objects that the handles of `tf.lookup` stand for, and files of entries.

The entries are a dict, from Python's values of the keys to those of the values. It changes by
one call of C (`update`, a store), so that an interrupt leaves all of an insertion or nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from berth import file_errors
from berth.dtypes import DType, float32, float64, int32, int64, string
from berth.errors import FailedPreconditionError, InvalidArgumentError
from berth.ops.shape import bracketed

WHOLE_LINE, LINE_NUMBER = -2, -1
Entries = dict[Any, Any]


def _refuse(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


class Table:
    """A table of keys and values: a scalar for each key, or an array of one shape."""

    def __init__(
        self, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = ()
    ) -> None:
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self.value_shape = value_shape
        self.entries: Entries = {}

    def check_shared(self, attrs: Any) -> None:
        """Accept other operations of the same name, if they have the same types."""
        asked, own = ((attrs["key_dtype"], attrs["value_dtype"]), self._dtypes())
        if asked != own:
            raise _refuse(
                f"Conflicting key/value dtypes {asked[0].name}->{asked[1].name} with "
                f"{own[0].name}-{own[1].name} for table {attrs['shared_name']}"
            )

    def _dtypes(self) -> tuple[DType, DType]:
        return self.key_dtype, self.value_dtype

    def rows(self, n_keys: int, values: Any) -> Sequence[Any]:
        """Return the value of each key, out of an array that has them all."""
        if not self.value_shape:
            scalars: list[Any] = values.reshape(-1).tolist()
            return scalars
        return list(np.array(values).reshape(n_keys, *self.value_shape))

    def pairs(self, keys: Any, values: Any) -> Iterator[tuple[Any, Any]]:
        """Return keys with their values, from arrays whose shapes must fit."""
        expected = (*keys.shape, *self.value_shape)
        if values.shape != expected:
            raise _refuse(
                f"Expected shape {bracketed(expected)} for value, got {bracketed(values.shape)}"
            )
        return zip(keys.reshape(-1).tolist(), self.rows(keys.size, values), strict=True)

    def find(self, keys: Any, default: Any) -> Any:
        """Look up keys; `default` is the value of those that are not there, or one for each."""
        if default.shape == self.value_shape:
            instead: Any = repeat(default[()] if self.value_shape else default.item())
        else:
            instead = self.rows(keys.size, default)
        find = self.entries.get
        found = np.empty((keys.size, *self.value_shape), self.value_dtype.np_dtype)
        for position, (key, other) in enumerate(
            zip(keys.reshape(-1).tolist(), instead, strict=False)
        ):
            found[position] = find(key, other)
        return found.reshape((*keys.shape, *self.value_shape))

    def size(self) -> int:
        """Return the number of entries."""
        return len(self.entries)

    def export(self) -> tuple[Any, Any]:
        """Return arrays of all keys and values, in the order in which they came."""
        entries = dict(self.entries)
        keys = np.empty(len(entries), self.key_dtype.np_dtype)
        values = np.empty((len(entries), *self.value_shape), self.value_dtype.np_dtype)
        for position, (key, value) in enumerate(entries.items()):
            keys[position], values[position] = key, value
        return keys, values


class StaticTable(Table):
    """A table that is filled once, and then stays as it is."""

    is_initialized = False

    def fill(self, keys: Any, values: Any) -> None:
        """Fill the table from arrays."""
        self.fill_from_pairs(self.pairs(keys, values))

    def fill_from_pairs(self, pairs: Iterator[tuple[Any, Any]]) -> None:
        """Fill the table; the same entries may be given again."""
        entries: Entries = {}
        for key, value in pairs:
            known = entries.setdefault(key, value)
            if known != value:
                shown = [
                    each.decode("latin-1") if isinstance(each, bytes) else str(each)
                    for each in (key, known, value)
                ]
                raise FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {shown[0]} has "
                    f"{shown[1]} and trying to add value {shown[2]}",
                )
        if self.is_initialized and len(entries) != len(self.entries):
            raise FailedPreconditionError(
                None, None, "Table was already initialized with different data."
            )
        if not self.is_initialized:
            self.entries = entries
            self.is_initialized = True

    def find(self, keys: Any, default: Any) -> Any:
        """Look up keys, in a table that was filled."""
        if not self.is_initialized:
            raise FailedPreconditionError(None, None, "Table not initialized.")
        return super().find(keys, default)


class MutableTable(Table):
    """A table that a program changes."""

    def insert(self, keys: Any, values: Any) -> None:
        """Add entries, or replace the values of keys that are there."""
        self.entries.update(dict(self.pairs(keys, values)))

    def remove(self, keys: Any) -> None:
        """Remove keys, those that are there."""
        deque(map(self.entries.pop, keys.reshape(-1).tolist(), repeat(None)), maxlen=0)

    def replace(self, keys: Any, values: Any) -> None:
        """Put other entries in the place of all."""
        self.entries = dict(self.pairs(keys, values))


class DenseTable(MutableTable):
    """A table with two keys that no entry may have: TensorFlow marks free places by them."""

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: tuple[int, ...],
        reserved: tuple[Any, Any],
    ) -> None:
        super().__init__(key_dtype, value_dtype, value_shape)
        empty, deleted = (key.reshape(-1).tolist()[0] for key in reserved)
        if empty == deleted:
            raise _refuse("Empty and deleted keys cannot be equal")
        self._reserved = {empty: "empty_key", deleted: "deleted_key"}

    def _check(self, keys: Any) -> None:
        for key in keys.reshape(-1).tolist():
            if key in self._reserved:
                raise _refuse(f"Using the {self._reserved[key]} as a table key is not allowed")

    def find(self, keys: Any, default: Any) -> Any:
        """Look up keys."""
        self._check(keys)
        return super().find(keys, default)

    def insert(self, keys: Any, values: Any) -> None:
        """Add entries."""
        self._check(keys)
        super().insert(keys, values)

    def remove(self, keys: Any) -> None:
        """Remove keys."""
        self._check(keys)
        super().remove(keys)


# --- files ----------------------------------------------------------------------------------


def read_entries(table: Table, path: str, attrs: Any) -> Iterator[tuple[Any, Any]]:
    """Read keys and values from the lines of a file: columns, whole lines, line numbers."""
    columns = attrs["key_index"], attrs["value_index"]
    dtypes = table.key_dtype, table.value_dtype
    delimiter = attrs["delimiter"].encode()
    if len(delimiter) != 1:
        raise _refuse("delimiter should be only 1 char")
    n_lines, n_wanted = 0, attrs["vocab_size"]
    with file_errors.naming(path), open(path, "rb") as file:
        for number, line in enumerate(file):
            if number == n_wanted:
                return
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            parts = text.split(delimiter) if max(columns) >= 0 else []
            if len(parts) <= max(columns):
                shown = text.decode("latin-1")
                raise _refuse(
                    f"Invalid number of columns in {path} line {number} ({shown}) : expected "
                    f"at least {max(columns) + 1} got {len(parts)}"
                )
            fields = [
                _field(column, dtype, number, text, parts, attrs["offset"])
                for column, dtype in zip(columns, dtypes, strict=True)
            ]
            yield fields[0], fields[1]
            n_lines = number + 1
    if n_wanted not in (-1, n_lines):
        raise _refuse(f"Invalid vocab_size in {path}: expected {n_wanted} but got {n_lines}")


def _field(
    column: int, dtype: DType, number: int, line: bytes, parts: Sequence[bytes], offset: int
) -> Any:
    if column == LINE_NUMBER:
        return number + offset
    text = line if column == WHOLE_LINE else parts[column]
    if dtype is string:
        return text
    try:
        if dtype in (int32, int64):
            return int(text)
        if dtype in (float32, float64):
            return float(text)
    except ValueError:
        kind = "float" if dtype is float32 else "double" if dtype is float64 else dtype.name
        shown = text.decode("latin-1")
        raise _refuse(f"Field {shown} in line {number} is not a valid {kind}.") from None
    raise _refuse(f"Data type {dtype.name} not supported.")
