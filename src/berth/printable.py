"""Text of other programs, made safe to print on a terminal.

Command lines, file names and labels may hold anything. Control characters (C0 and C1) can move
the cursor, rename the window or hide text, and bidirectional controls show it in another order
than it has. Such characters are written as Python's escapes: they can be read, and do nothing.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and newline, DEL, C1
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible
    "\ud800-\udfff\U000e0000-\U000e007f]"  # undecodable bytes, invisible tags
)


def printable(text: str) -> str:
    r"""Write control, bidirectional and invisible characters as escapes; keep the rest.

    >>> printable("\x1b[2Jhello \u202eworld")
    '\\x1b[2Jhello \\u202eworld'
    """
    return _UNSAFE.sub(_escape, text)


def printable_line(text: str) -> str:
    """Make text printable, and one line of it."""
    return printable(" ".join(text.split()))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
