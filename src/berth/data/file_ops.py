"""Files as operations: `tf.io.read_file`, `tf.io.write_file`, `tf.io.matching_files`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth import file_errors
from berth.data.gfile import glob
from berth.dtypes import string
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply, apply_op
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
from berth.ops.shape import bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

Arrays = Sequence[Any]


def performed(compute: Callable[[Arrays, Attrs], Arrays]) -> Callable[[Launch], Call]:
    """Make the binder of an operation that is done on arrays of the host."""

    def bind(launch: Launch) -> Call:
        inputs, outputs = tuple(launch.inputs), tuple(launch.outputs)
        return _fill, (compute, inputs, launch.attrs, outputs)

    return bind


def _fill(compute: Any, inputs: Arrays, attrs: Attrs, outputs: Arrays) -> None:
    for array, out in zip(compute(inputs, attrs), outputs, strict=True):
        if array.shape != out.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"The output has shape {bracketed(array.shape)}, and not "
                f"{bracketed(out.shape)}",
            )
        out[...] = array


def _scalar_of(array: Any, what: str) -> Any:
    if array.shape != ():
        message = f"{what} must be scalar, but had shape: {bracketed(array.shape)}"
        raise InvalidArgumentError(None, None, message)
    return array[()]


# --- reading and writing ----------------------------------------------------------------------


def _one_string(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    if inputs[0].dims not in ((), None):
        raise ValueError(f"Shape must be rank 0 but is rank {len(inputs[0].dims or ())}")
    return ((string, ()),)


def _nothing(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ()


def _read_file(inputs: Arrays, attrs: Attrs) -> list[Any]:
    path = os.fsdecode(_scalar_of(inputs[0], "Input filename tensor"))
    with file_errors.naming(path), open(path, "rb") as file:
        found = np.empty((), object)
        found[()] = file.read()
        return [found]


def _write_file(inputs: Arrays, attrs: Attrs) -> list[Any]:
    path = os.fsdecode(_scalar_of(inputs[0], "Input filename tensor"))
    contents = _scalar_of(inputs[1], "Contents tensor")
    folder = os.path.dirname(path)
    with file_errors.naming(path):
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(contents)
    return []


READ_FILE = OpDef(
    "ReadFile",
    "filename:string",
    _one_string,
    kernels=host_only(performed(_read_file)),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)
WRITE_FILE = OpDef(
    "WriteFile",
    "filename:string contents:string",
    _nothing,
    kernels=host_only(performed(_write_file)),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)


@public("io.read_file")
@public_v1("read_file")
def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """Contents of a file, read in each run."""
    return apply(READ_FILE, (filename,), {}, name)


@public("io.write_file")
@public_v1("write_file")
def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Any:
    """Write a string into a file, whose folders are made."""
    return apply_op(WRITE_FILE, (filename, contents), {}, name)


# --- finding --------------------------------------------------------------------------------


def _some_strings(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, (None,)),)


def _matching_files(inputs: Arrays, attrs: Attrs) -> list[Any]:
    patterns = inputs[0].reshape(-1).tolist()
    names = sorted({name.encode() for each in patterns for name in glob(os.fsdecode(each))})
    found = np.empty(len(names), object)
    found[:] = names
    return [found]


MATCHING_FILES = OpDef(
    "MatchingFiles",
    "pattern:string",
    _some_strings,
    kernels=host_only(performed(_matching_files)),
    is_stateful=True,
    perform=_matching_files,
    gradient=NOT_DIFFERENTIABLE,
)


@public("io.matching_files")
@public_v1("matching_files")
def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Names of the files that match one of the patterns, in order."""
    return apply(MATCHING_FILES, (pattern,), {}, name)
