"""What Keras's tests import from the `conftest` of its repository, which the package lacks."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def skip_if_backend(given_backend: str, reason: str) -> Any:
    """Skip a test on a backend."""
    keras: Any = importlib.import_module("keras")
    return pytest.mark.skipif(keras.backend.backend() == given_backend, reason=reason)
