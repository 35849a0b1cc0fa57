"""Expressions that TensorFlow evaluated once, and what it gave: values, types, errors."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import berth as tf
from berth import errors
from berth.compat import v1
from berth.eager.mode import set_eager

_NUMBER = re.compile(r"TensorArray_\d+")
"""What TensorFlow numbers in each process."""


def recorded(name: str) -> list[Any]:
    """Load cases, as the parameters of a test."""
    cases = json.loads((Path(__file__).parent / name).read_text())
    return [pytest.param(case, id=f"{case['mode']}: {case['code']}"[:90]) for case in cases]


def check(case: dict[str, Any]) -> None:
    """Evaluate an expression; compare with what TensorFlow gave."""
    before = set_eager(case["mode"] != "session")
    try:
        if "error" not in case:
            assert _alike(_evaluated(case), case["gives"]), _evaluated(case)
            return
        name, message = case["error"]
        kind = getattr(errors, name, None) or getattr(__builtins__, name, None)
        kind = kind or {"ValueError": ValueError, "TypeError": TypeError}.get(name, Exception)
        with pytest.raises(kind) as raised:
            _evaluated(case)
        first = re.sub(r" \[Op:.*", "", str(raised.value).partition("\n")[0])
        assert _NUMBER.sub("", first).strip() == _NUMBER.sub("", message).strip()
    finally:
        set_eager(before)


def _evaluated(case: dict[str, Any]) -> Any:
    code, names = case["code"], {"tf": tf, "np": np, "v1": v1}
    if case["mode"] == "eager":
        return _plain(eval(code, names))
    if case["mode"] == "function":
        return _plain(tf.function(lambda: eval(code, names))())
    with v1.Graph().as_default(), v1.Session() as session:
        return _plain(session.run(eval(code, {**names, "tf": v1})))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: tensors with the names of their types."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if hasattr(value, "ragged_rank"):
        dtype = getattr(value.dtype, "name", None) or str(value.dtype)
        return {"ragged": _text(value.to_list()), "dtype": dtype, "rank": value.ragged_rank}
    if hasattr(value, "dense_shape"):
        parts = {"indices": value.indices, "values": value.values, "shape": value.dense_shape}
        return {name: _plain(part) for name, part in parts.items()}
    return _plain_array(value)


def _plain_array(value: Any) -> Any:
    if isinstance(value, bytes):
        return ["string", value.decode("latin1")]
    if hasattr(value, "numpy"):
        value = np.asarray(value.numpy())
    if not isinstance(value, np.ndarray | np.generic):
        return str(value)
    name = "string" if value.dtype == object else value.dtype.name
    return [name, _text(value.tolist())]


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(part) for part in value]
    if isinstance(value, bytes):
        return value.decode("latin1")
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _alike(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float | int):
        return bool(np.isclose(mine, theirs, 1e-5, 1e-6))
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(_alike, mine, theirs))
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(_alike(mine[k], theirs[k]) for k in mine)
    return bool(mine == theirs)
