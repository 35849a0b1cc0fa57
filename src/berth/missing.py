"""Names of TensorFlow that berth does not have: what to use instead, and the error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from berth.errors import did_you_mean, explain

LazyNames = dict[str, tuple[str, str]]
"""Names of a public module that are imported when they are first used: module, attribute."""

_LAYERS = "Instead: tf.compat.v1.layers."
_SAVING = "Instead: tf.train.Saver."
_RENAMED = {
    "audio_summary": "summary.audio",
    "batch_cholesky": "cholesky",
    "batch_matmul": "matmul",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_svd": "svd",
    "histogram_summary": "summary.histogram",
    "image_summary": "summary.image",
    "inv": "reciprocal",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "nn.rnn": "nn.static_rnn",
    "nn.bidirectional_rnn": "nn.static_bidirectional_rnn",
    "op_scope": "name_scope",
    "pack": "stack",
    "scalar_summary": "summary.scalar",
    "select": "where",
    "sub": "subtract",
    "train.SummaryWriter": "summary.FileWriter",
    "unpack": "unstack",
    "variable_op_scope": "variable_scope",
}
"""Names of TensorFlow 0.x that 1.0 does not have any more, and those that it has instead."""
INSTEAD = {
    "distribute": "Instead: a tower for each GPU, under tf.device.",
    "estimator": "",
    "experimental.numpy": "Instead: NumPy itself.",
    "feature_column": "",
    "keras": _LAYERS,
    "optimizers": "Instead: the optimizers of tf.compat.v1.train.",
    "profiler": "Instead: tf.RunMetadata and its timeline, in sessions.",
    "saved_model": _SAVING,
    "tpu": "",
    "train.Checkpoint": _SAVING,
    "train.CheckpointManager": _SAVING,
    **{old: f"Since TensorFlow 1.0 it is tf.{new}." for old, new in _RENAMED.items()},
}
"""Parts of TensorFlow that berth has nothing of, and what does their work: no name is near."""


def instead_of(path: str) -> str | None:
    """Return what does the work of a part of TensorFlow; None if the table has no such part.

    The place of a name in TensorFlow 1's API under ``tf.compat.v1`` makes no difference.

    >>> instead_of("train.Saver") == instead_of("compat.v1.train.Saver")
    True
    """
    path = path.removeprefix("compat.v1.").removeprefix("compat.v2.")
    return INSTEAD.get(path)


def load_lazily(module: str, name: str, modules: Sequence[str], names: LazyNames) -> Any:
    """Import a submodule, or what is behind a name, when it is first used; None if unknown."""
    if name in modules:
        return import_module(f"{module}.{name}")
    if name not in names:
        return None
    source, attribute = names[name]
    found = getattr(import_module(source), attribute)
    vars(sys.modules[module])[name] = found
    return found


def explain_missing_names(
    module: str,
    public: Sequence[str],
    lazy_modules: Sequence[str] = (),
    lazy_names: LazyNames | None = None,
) -> None:
    """Give a public module a ``__getattr__`` that raises an error with advice.

    Submodules and names that are lazy are imported there instead, when they are first used.

    It is set here, and not written in the module: there, type checkers would take it to mean
    that the module has every name.
    """

    def find(name: str) -> Any:
        found = load_lazily(module, name, lazy_modules, lazy_names or {})
        if found is not None:
            return found
        first_line = f"module {module!r} has no attribute {name!r}"
        if name.startswith("__"):  # Python itself looks for these
            raise AttributeError(first_line)
        place = module.removeprefix("berth").removeprefix(".compat.v1").removeprefix(".")
        path = f"{place}.{name}" if place else name
        substitute = instead_of(path)
        if substitute is None:
            near = did_you_mean(name, public)
            raise AttributeError(f"{first_line}. {near}".rstrip())
        raise AttributeError(
            explain(first_line, f"berth does not have tf.{path}. {substitute}".rstrip())
        )

    own = vars(sys.modules[module])
    own["__getattr__"] = find
    if lazy_modules or lazy_names:
        own["__dir__"] = lambda: sorted({*own, *public})
