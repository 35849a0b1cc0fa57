"""Where in the user's program berth was called: for errors, warnings and reports."""

from __future__ import annotations

import contextlib
import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple


class _Inside:
    files: tuple[str, ...] = (
        os.path.dirname(os.path.abspath(__file__)) + os.sep,
        contextlib.__file__,
        "<frozen importlib.",
    )
    """berth's own files, and what lies between with-statements or imports and our code."""


def pass_over(folder: str) -> None:
    """Count the files of a package as berth's own: the user's line is that which called it."""
    if folder + os.sep not in _Inside.files:
        _Inside.files += (folder + os.sep,)


class CallSite(NamedTuple):
    """The user's line, and the function of berth that it called."""

    function: str
    file: str
    line: int
    frames_up: int
    """How far above the caller of `call_site` it is: what `warnings` calls a level."""

    @property
    def place(self) -> str:
        """The user's file and line."""
        return f"{os.path.basename(self.file)}:{self.line}"

    def __str__(self) -> str:
        return f"{self.function}() at {self.place}"


class Mark(NamedTuple):
    """A place in the user's program, noted quickly; the line is looked up when asked for."""

    code: CodeType
    instruction: int

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        for start, end, line in self.code.co_lines():
            if start <= self.instruction < end and line is not None:
                return line
        return self.code.co_firstlineno

    @property
    def place(self) -> str:
        """The user's file and line."""
        return f"{os.path.basename(self.file)}:{self.line}"


_marks: dict[CodeType, dict[int, Mark] | None] = {}
"""The marks in code, by instruction, made once; None for berth's own code, which has none."""


def mark_caller() -> Mark:
    """Note the innermost frame that is not berth's own. For every node of a graph: quick."""
    frame: FrameType = sys._getframe(2)
    while True:
        code = frame.f_code
        try:
            marks = _marks[code]
        except KeyError:
            is_ours = code.co_filename.startswith(_Inside.files)
            marks = _marks[code] = None if is_ours else {}
        if marks is not None:
            instruction = frame.f_lasti
            mark = marks.get(instruction)
            if mark is None:
                mark = marks[instruction] = Mark(code, instruction)
            return mark
        above = frame.f_back
        if above is None:
            return Mark(code, frame.f_lasti)
        frame = above


def call_site() -> CallSite:
    """Find the innermost frame that is not berth's own."""
    inside: FrameType = sys._getframe(1)
    frame, frames_up = inside.f_back, 1
    while frame is not None and inside.f_code.co_filename.startswith(_Inside.files):
        if not frame.f_code.co_filename.startswith(_Inside.files):
            break
        inside, frame, frames_up = frame, frame.f_back, frames_up + 1
    user = frame or inside
    name = inside.f_code.co_name
    return CallSite(
        # Users write `with tf.device(…):`, and never see its __enter__.
        function="tf.device" if name == "__enter__" else name,
        file=user.f_code.co_filename,
        line=user.f_lineno,
        frames_up=frames_up,
    )
