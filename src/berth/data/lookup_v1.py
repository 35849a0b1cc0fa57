"""``tf.contrib.lookup`` of TensorFlow 1: tables of words and their numbers, in one call."""

from __future__ import annotations

from typing import Any

from berth.data.lookup import HashTable, StaticVocabularyTable
from berth.data.lookup_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from berth.dtypes import as_dtype, int64, string
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.public import public_v1


def _numbers(initializer: Any, num_oov_buckets: int, default: Any, name: str | None) -> Any:
    """Return a table of numbers, with buckets for other words if they are asked for."""
    if num_oov_buckets < 0:
        raise ValueError(
            f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}."
        )
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets, name=name)
    return HashTable(initializer, default, name=name)


@public_v1("contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    name: str | None = None,
) -> Any:
    """Make a table of the number of each line of a file."""
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    columns = (string, TextFileIndex.WHOLE_LINE, int64, TextFileIndex.LINE_NUMBER)
    lines = TextFileInitializer(vocabulary_file, *columns, vocab_size)
    return _numbers(lines, num_oov_buckets, default_value, name or "string_to_index")


@public_v1("contrib.lookup.index_table_from_tensor")
def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = None,
    dtype: Any = string,
    name: str | None = None,
) -> Any:
    """Make a table of the position of each element of a vector."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    keys = convert(mapping)
    if as_dtype(dtype).is_integer:
        keys = cast(keys, int64)
    entries = KeyValueTensorInitializer(keys, _positions(keys))
    return _numbers(entries, num_oov_buckets, default_value, name or "string_to_index")


def _positions(keys: Any) -> Any:
    return convert(list(range(keys.dims[0])), int64)


@public_v1("contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
) -> HashTable:
    """Make a table of the lines of a file by their numbers."""
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified.")
    columns = (int64, TextFileIndex.LINE_NUMBER, string, TextFileIndex.WHOLE_LINE)
    lines = TextFileInitializer(vocabulary_file, *columns, vocab_size)
    return HashTable(lines, default_value, name=name or "index_to_string")


@public_v1("contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(
    mapping: Any, default_value: str = "UNK", name: str | None = None
) -> HashTable:
    """Make a table of the elements of a vector by their positions."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    values = convert(mapping, string)
    entries = KeyValueTensorInitializer(_positions(values), values)
    return HashTable(entries, default_value, name=name or "index_to_string")
