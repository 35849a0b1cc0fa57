"""Parts of TensorFlow that Keras names and berth has not: nothing is an instance of them.

Keras compares the class of each value with those of sparse and ragged tensors, and marks its
own functions for AutoGraph. It finds these here, and no other program does. Where berth has
the name itself, that is found first.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

from berth.errors import explain


class _NotHere:
    """A class of TensorFlow's that cannot be made."""

    def __init__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise _missing(type(self).__name__)

    def __getattr__(self, name: str) -> NoReturn:
        raise _missing(type(self).__name__)


class SparseTensor(_NotHere):
    """A sparse tensor."""


class SparseTensorSpec(_NotHere):
    """The type of a sparse tensor."""


class RaggedTensor(_NotHere):
    """A ragged tensor."""


class RaggedTensorSpec(_NotHere):
    """The type of a ragged tensor."""


def _missing(name: str) -> NotImplementedError:
    return NotImplementedError(
        explain(f"tf.{name} is not there.", "This part of Keras needs it, and berth has not.")
    )


def _function(name: str) -> Any:
    def call(*arguments: Any, **options: Any) -> NoReturn:
        raise _missing(name)

    return call


def do_not_convert(func: Any = None) -> Any:
    """Mark a function that AutoGraph leaves as it is: as all are, without AutoGraph."""
    return do_not_convert if func is None else func


_SPARSE = ("add", "maximum", "minimum")
PLACEHOLDERS: dict[str, Any] = {
    "SparseTensor": SparseTensor,
    "SparseTensorSpec": SparseTensorSpec,
    "RaggedTensor": RaggedTensor,
    "RaggedTensorSpec": RaggedTensorSpec,
    "autograph": SimpleNamespace(experimental=SimpleNamespace(do_not_convert=do_not_convert)),
    "sparse": SimpleNamespace(
        SparseTensor=SparseTensor, **{name: _function(f"sparse.{name}") for name in _SPARSE}
    ),
}
"""By name in TensorFlow."""


def is_of_keras(module: str) -> bool:
    """Tell whether a module is Keras's, by its name: only those get these."""
    return module.partition(".")[0] == "keras"
