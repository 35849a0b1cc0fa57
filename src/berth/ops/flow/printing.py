"""`tf.print`, and TensorFlow 1's `tf.Print`."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.ops.builder import apply
from berth.ops.compose import convert, is_tensor
from berth.ops.flow.control import element_text, summary
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import NOT_DIFFERENTIABLE, Call, Launch, OpDef, host_only
from berth.ops.rules import like_first, no_outputs
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

_log = logging.getLogger("berth")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING}
_LEVELS |= {"warning": logging.WARNING, "error": logging.ERROR, "fatal": logging.CRITICAL}

# --- arrays as text -------------------------------------------------------------------------


def array_text(array: np.ndarray[Any, Any], summarize: int = 3) -> str:
    """Format an array as `tf.print` does: the first and last elements of each axis.

    >>> array_text(np.arange(10)), array_text(np.array(0.5)), array_text(np.array([[1], [2]]))
    ('[0 1 2 ... 7 8 9]', '0.5', '[[1]\\n [2]]')
    """
    return _text(array, summarize, 0)


def _text(array: Any, summarize: int, depth: int) -> str:
    if array.ndim == 0:
        item = array[()]
        return f'"{element_text(item)}"' if isinstance(item, bytes) else element_text(item)
    parts = [_text(np.asarray(part), summarize, depth + 1) for part in _shown(array, summarize)]
    if summarize >= 0 and len(array) > 2 * summarize:
        parts.insert(summarize, "...")
    if array.ndim == 1:
        return f"[{' '.join(parts)}]"
    gap = "\n" * (array.ndim - 1) + " " * (depth + 1)
    return f"[{gap.join(parts)}]"


def _shown(array: Any, summarize: int) -> Iterator[Any]:
    if summarize < 0 or len(array) <= 2 * summarize:
        yield from array
    else:
        yield from array[:summarize]
        yield from array[len(array) - summarize :]


# --- tf.print -------------------------------------------------------------------------------


def _bind_print(launch: Launch) -> Call:
    return _print, (tuple(launch.inputs), launch.attrs)


def _print(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> None:
    first, *pieces = attrs["pieces"]
    texts = [array_text(array, attrs["summarize"]) for array in arrays]
    both = (part for pair in zip(texts, pieces, strict=True) for part in pair)
    _write(f"{first}{''.join(both)}", attrs["output_stream"], attrs["end"])


def _write(text: str, stream: str, end: str) -> None:
    if stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(f"{text}{end}")
    elif stream.startswith("log("):
        _log.log(_LEVELS[stream[4:-1]], text)
    else:
        target = sys.stdout if stream == "stdout" else sys.stderr
        target.write(f"{text}{end}")
        target.flush()


PRINT_V2 = OpDef(
    "PrintV2",
    "inputs:Any*",
    no_outputs,
    kernels=host_only(_bind_print),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=(
        "f(2), at(1), pieces=['', ' ', '.'], summarize=3, output_stream='stdout', end='\\n'",
    ),
)


@public("print")
def print(*inputs: Any, **kwargs: Any) -> Tensor:
    """Print tensors, and other values, when it is run: by default to ``sys.stderr``.

    Options are ``output_stream`` (``sys.stdout``, ``sys.stderr``, ``"file://…"``, or a function
    of `logging`), ``summarize`` (how many elements at each end of an axis, -1 for all),
    ``sep``, ``end`` and ``name``.

    >>> import berth as tf
    >>> print("x is", tf.constant([1, 2]), output_stream=sys.stdout)
    x is [1 2]
    """
    stream = _stream_name(kwargs.pop("output_stream", sys.stderr))
    name, summarize = kwargs.pop("name", None), kwargs.pop("summarize", None)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    pieces, tensors = [""], []
    for position, item in enumerate(inputs):
        if position:
            pieces[-1] += sep
        for part in [item] if isinstance(item, str) else _parts(item):
            if isinstance(part, str):
                pieces[-1] += part
            else:
                tensors.append(convert(part))
                pieces.append("")
    attrs = {
        "pieces": pieces,
        "output_stream": stream,
        "summarize": 3 if summarize is None else summarize,
        "end": "\n" if end is None else end,
    }
    return apply(PRINT_V2, tensors, attrs, name)


def _parts(item: Any) -> Iterator[Any]:
    """Format a value as Python would; tensors in it stay tensors."""
    if is_tensor(item) or hasattr(item, "as_tensor"):
        yield item
    elif isinstance(item, Mapping):
        yield "{"
        yield from _joined((f"{key!r}: ", item[key]) for key in item)
        yield "}"
    elif hasattr(item, "_fields"):
        yield f"{type(item).__name__}("
        pairs = zip(item._fields, item, strict=True)
        yield from _joined((f"{name}=", part) for name, part in pairs)
        yield ")"
    elif isinstance(item, list | tuple):
        yield "[" if isinstance(item, list) else "("
        yield from _joined(("", part) for part in item)
        yield "]" if isinstance(item, list) else ",)" if len(item) == 1 else ")"
    else:
        yield repr(item)


def _joined(parts: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    for position, (label, part) in enumerate(parts):
        yield f"{', ' if position else ''}{label}"
        yield from _parts(part)


def _stream_name(stream: Any) -> str:
    if stream is sys.stdout or stream is sys.stderr:
        return "stdout" if stream is sys.stdout else "stderr"
    if isinstance(stream, str) and (stream.startswith("file://") or stream in _STREAMS):
        return stream
    level = getattr(stream, "__name__", "")
    if callable(stream) and level in _LEVELS:
        return f"log({level})"
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{stream}. Supported streams are "
        "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File "
        "needs to be in the form of 'file://<filepath>'."
    )


_STREAMS = ("stdout", "stderr", *(f"log({level})" for level in _LEVELS))

# --- tf.Print -------------------------------------------------------------------------------


def _bind_old_print(launch: Launch) -> Call:
    array, *data = launch.inputs
    lock = launch.state.setdefault("lock", threading.Lock())
    return _pass_and_print, (array, data, launch.outputs[0], launch.attrs, launch.state, lock)


def _pass_and_print(
    array: Any, data: Any, out: Any, attrs: Mapping[str, Any], state: Any, lock: Any
) -> None:
    np.copyto(out, array)
    with lock:  # threads that print at once count all the same
        state["n_printed"] = state.get("n_printed", 0) + 1
        n_printed = state["n_printed"]
    if attrs["first_n"] < 0 or n_printed <= attrs["first_n"]:
        shown = "".join(f"[{summary(item, attrs['summarize'])}]" for item in data)
        _write(f"{attrs['message']}{shown}", "stderr", "\n")


PRINT = OpDef(
    "Print",
    "input:T data:Any*",
    like_first,
    types={"T": ALL},
    kernels=host_only(_bind_old_print),
    is_stateful=True,
    samples=("f(2, 3), f(2), message='', first_n=-1, summarize=3",),
)


@public_v1("Print")
def Print(
    input_: Any,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Identity that prints some data when it is computed.

    >>> import berth as tf
    >>> int(Print(tf.constant(3), [tf.constant(1)], first_n=0))
    3
    """
    attrs = {
        "message": message or "",
        "first_n": -1 if first_n is None else first_n,
        "summarize": 3 if summarize is None else summarize,
    }
    return apply(PRINT, (input_, *data), attrs, name)


@gradient(PRINT)
def _print_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad, *(None for _ in op.inputs[1:])
