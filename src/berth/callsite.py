"""Where in the user's program berth was called: for errors, warnings and reports."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


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


def call_site() -> CallSite:
    """Find the innermost frame that is not berth's own."""
    inside: FrameType = sys._getframe(1)
    frame, frames_up = inside.f_back, 1
    while frame is not None and inside.f_code.co_filename.startswith(_PACKAGE):
        if not frame.f_code.co_filename.startswith(_PACKAGE):
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
