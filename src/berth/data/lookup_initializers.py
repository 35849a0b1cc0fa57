"""What fills a static lookup table: tensors of keys and values, or the lines of a file."""

from __future__ import annotations

from typing import Any

from berth.data.lookup_objects import LINE_NUMBER, WHOLE_LINE
from berth.data.lookup_ops import IMPORT, IMPORT_FILE
from berth.dtypes import DType, as_dtype, int64, string
from berth.eager.mode import init_scope
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.ops.arrays.array import constant
from berth.ops.compose import convert, is_eager
from berth.public import public, public_v1
from berth.trackable.base import Trackable


@public("lookup.TextFileIndex")
@public_v1("contrib.lookup.TextFileIndex")
class TextFileIndex:
    """Columns of a text file that are none: the whole line, and its number."""

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


class TableInitializerBase(Trackable):
    """What fills a table, and the types of its keys and values."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype

    @property
    def _shared_name(self) -> str:
        return ""

    def initialize(self, table: Any) -> Any:
        """Fill a table; in a graph, return the operation that does."""
        if table.key_dtype != self.key_dtype or table.value_dtype != self.value_dtype:
            raise TypeError(
                f"Invalid key/value dtypes, expected {self.key_dtype}->{self.value_dtype} but "
                f"got {table.key_dtype}->{table.value_dtype}."
            )
        made = self._apply(table)
        if not is_eager():
            get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made

    def _apply(self, table: Any) -> Any:
        raise NotImplementedError


@public("lookup.KeyValueTensorInitializer")
@public_v1("contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Entries from a tensor of keys and one of values."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        with init_scope():
            types = [t if t is None else as_dtype(t) for t in (key_dtype, value_dtype)]
            self._keys = convert(keys, types[0], "keys")
            self._values = convert(values, types[1], "values")
        self._name = name or "key_value_init"
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def _apply(self, table: Any) -> Any:
        return table.handle.apply(IMPORT, (self._keys, self._values), {}, self._name)


@public("lookup.TextFileInitializer")
@public_v1("contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Entries from the lines of a text file."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if filename is None or (isinstance(filename, str) and not filename):
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (
            ("key", key_index, self.key_dtype),
            ("value", value_index, self.value_dtype),
        ):
            _check_column(what, index, dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._filename = filename
        self._name = name or "text_file_init"
        self._attrs = {
            "key_index": key_index,
            "value_index": value_index,
            "vocab_size": -1 if vocab_size is None else vocab_size,
            "delimiter": delimiter,
            "offset": value_index_offset,
        }

    @property
    def _shared_name(self) -> str:
        """A name by which tables of one file and the same columns are one."""
        parts = [self._filename, self._attrs["vocab_size"]]
        if parts[1] == -1:
            parts.pop()
        parts += [self._attrs["key_index"], self._attrs["value_index"]]
        if self._attrs["offset"]:
            parts.append(self._attrs["offset"])
        return "_".join(["hash_table", *map(str, parts)])

    def _apply(self, table: Any) -> Any:
        path = self._filename
        path = path if hasattr(path, "dtype") else constant(path, string)
        return table.handle.apply(IMPORT_FILE, (path,), self._attrs, self._name)


def _check_column(what: str, index: int, dtype: DType) -> None:
    if index < -2:
        end = "." if what == "key" else ""
        raise ValueError(f"`{what}_index` should be >= -2, received: {index}{end}")
    if index != LINE_NUMBER or dtype is int64:
        if what == "key" and index == WHOLE_LINE and dtype not in (int64, string):
            raise ValueError(
                "`key_dtype` should be either integer or string for `key_index` "
                f"{WHOLE_LINE}, received: {dtype}"
            )
        if what == "value" and index == WHOLE_LINE and dtype is not string:
            raise ValueError(
                f"`value_dtype` must be string for `value_index` {WHOLE_LINE}, "
                f"received: {dtype}"
            )
        return
    link = "if `key_index` is" if what == "key" else "for `value_index`"
    raise ValueError(f"`{what}_dtype` must be int64 {link} {LINE_NUMBER}, received: {dtype}")
