"""What makes ``import keras`` run on berth: a finder that is asked before Keras is imported.

It finds nothing itself. When a program that has imported berth imports Keras, it lets
`berth.keras.package` prepare for that; then Python finds Keras as ever.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any, cast


class KerasFinder:
    """Is asked for every module that is imported, and acts when it is Keras."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Prepare for the import of Keras; find nothing."""
        if name == "keras" and path is None and not is_only_asked():
            prepare: Any = import_module("berth.keras.package")
            prepare.prepare()


def is_only_asked() -> bool:
    """Tell whether a module is looked for by `importlib.util.find_spec`, not imported."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name in ("_find_spec", "find_spec"):
        if frame.f_code is importlib.util.find_spec.__code__:
            return True
        frame = frame.f_back
    return False


def install() -> None:
    """Add the finder, unless it is there already."""
    if not any(isinstance(finder, KerasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, cast(Any, KerasFinder()))
