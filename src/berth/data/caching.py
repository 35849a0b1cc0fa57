"""Caches of elements: in memory, or in a file that outlives the program.

A cache counts once the input was read to its end; what was read in part is read again. A file
is written under another name until then. It has a record for each leaf of each element: a
TensorProto.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

from berth import file_errors
from berth.data.pipeline import Pipeline
from berth.data.structure import Element
from berth.data.tf_record import TFRecordWriter, read_records
from berth.data.transformations import Stage
from berth.finalizers import Finalizer
from berth.graph.tensor_proto import make_ndarray, make_tensor_proto
from berth.proto.framework import TensorProto


class Cache(Stage):
    """The same elements, which the input computes only once."""

    kind = "CacheDataset"

    def __init__(self, parent: Pipeline, filename: Any, *, n_leaves: int) -> None:
        super().__init__(parent)
        path = filename[()] if filename.ndim == 0 else filename
        self._path = path.decode() if isinstance(path, bytes) else str(path)
        self._n_leaves = n_leaves
        self._elements: list[Element] | None = None

    def iterate(self) -> Iterator[Element]:
        if self._path:
            if os.path.exists(cache_file(self._path)):
                return _read(cache_file(self._path), self._n_leaves)
            return _Writer(self._parent.iterate(), self._path)
        if self._elements is not None:
            return iter(self._elements)
        return _Collector(self._parent.iterate(), self)

    def keep(self, elements: list[Element]) -> None:
        """Take the elements of an iteration that came to its end."""
        self._elements = elements


def cache_file(path: str) -> str:
    """Return the name of the file that holds a cache."""
    return f"{path}.cache"


class _Collector:
    """An iterator that remembers what it gave."""

    def __init__(self, elements: Iterator[Element], cache: Cache) -> None:
        self._elements = elements
        self._cache = cache
        self._found: list[Element] = []

    def __iter__(self) -> _Collector:
        return self

    def __next__(self) -> Element:
        try:
            element = next(self._elements)
        except StopIteration:
            self._cache.keep(self._found)
            raise
        self._found.append(element)
        return element


class _Writer:
    """An iterator that writes what it gave to a file."""

    def __init__(self, elements: Iterator[Element], path: str) -> None:
        self._elements = elements
        self._path = path
        self._partial = f"{path}.{os.getpid()}-{threading.get_ident()}.partial"
        self._writer: TFRecordWriter | None = TFRecordWriter(self._partial)
        self._discard = Finalizer(self, _discard, self._writer, self._partial)

    def __iter__(self) -> _Writer:
        return self

    def __next__(self) -> Element:
        try:
            element = next(self._elements)
        except StopIteration:
            self._finish()
            raise
        if self._writer is not None:
            for leaf in element:
                self._writer.write(make_tensor_proto(leaf).SerializeToString())
        return element

    def _finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            with file_errors.naming(self._path):
                os.replace(self._partial, cache_file(self._path))
            self._discard.detach()


def _discard(writer: TFRecordWriter, path: str) -> None:
    """Remove the file of a cache that was not finished."""
    writer.close()
    if os.path.exists(path):
        os.remove(path)


def _read(path: str, n_leaves: int) -> Iterator[Element]:
    arrays: Iterator[Any] = map(_array, read_records(path))
    while element := tuple(islice(arrays, n_leaves)):
        yield element


def _array(record: bytes) -> Any:
    return make_ndarray(TensorProto.FromString(record))
