"""Eager or graph: where operations go while a program has entered no graph.

`import berth` is TensorFlow 2: operations are computed as they are written. A program that
imports `berth.compat.v1` first is TensorFlow 1: operations go to the default graph. Either
may change its mind, before it has done anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

from berth.blocks import FunctionBlock, Use
from berth.eager.builder import Eager
from berth.front.context import context
from berth.graph.default_graph import root_graph
from berth.graph.recording import set_active_tapes
from berth.ops import builder
from berth.ops.builder import Builder
from berth.ops.shape import set_sizes_as_dimensions
from berth.public import public, public_v2


class _Mode:
    is_eager = True


_mode = _Mode()


def eager_builder() -> Eager:
    """Return the eager builder of the current program."""
    program = context()
    if program.builder is None:
        program.builder = Eager(program)
    found: Eager = program.builder
    return found


def _find_eager() -> Builder:
    found: Builder = context().builder
    return found or eager_builder()


builder.start_with(_find_eager)


@public("executing_eagerly")
def executing_eagerly() -> bool:
    """Tell whether operations are executed eagerly."""
    return isinstance(builder.current(), Eager)


def set_eager(is_eager: bool) -> bool:
    """Switch eager execution on or off; return the previous setting."""
    before, _mode.is_eager = _mode.is_eager, is_eager
    builder.start_with(_find_eager if is_eager else root_graph)
    set_sizes_as_dimensions(not is_eager)
    return before


def start_with_graphs() -> None:
    """Switch to graphs, TensorFlow 1's mode, unless an operation was executed already."""
    if context().builder is None:
        set_eager(False)


def is_imported_by_program() -> bool:
    """Tell whether a module or function of the program holds `berth`, by whatever name.

    That berth's own modules were imported says nothing: `berth run` and the pytest plugin
    import them before the program does.
    """
    berth = sys.modules["berth"]
    return any(value is berth for names in _program_names() for value in list(names.values()))


def _program_names() -> Iterator[dict[str, Any]]:
    """Find the names of modules that are not berth's, and of the functions being called."""
    for path, module in list(sys.modules.items()):
        is_own = str(path).partition(".")[0] in _OWN_PACKAGES
        if isinstance(module, ModuleType) and not is_own:
            yield vars(module)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))  # which `exec` may leave out, or None
        if not name.startswith(("berth.", "importlib.")):
            yield dict(frame.f_locals)
        frame = frame.f_back


_OWN_PACKAGES = ("berth", "pytest_berth")


@public_v2("init_scope")
def init_scope() -> FunctionBlock[None]:
    """Leave the functions that are being traced: the block is executed eagerly."""
    return FunctionBlock(leave_functions)


def leave_functions(use: Use) -> None:
    """Execute eagerly in a block, also if a function is being traced."""
    if getattr(builder.current(), "is_function", False):
        builder.enter(use, eager_builder())
        set_active_tapes(use, ())
