"""What the command prints: text and tables for people, JSON for programs.

Tables are drawn by rich, which is loaded when something is drawn. Into a pipe goes plain text.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from berth import __version__
from berth.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

_LEAST_WIDTH = 80
"""What tables are made for. On a narrower terminal a row is shown as lines, a cell on each."""


@contextmanager
def answering() -> Iterator[None]:
    """Let stdout take whatever is written to it, and be closed by its reader.

    What its encoding does not have is spelled out, as it is on stderr: the names of files and
    programs may hold anything. A reader that has seen enough, as `head` has, is no error.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        print(end="", flush=True)  # here, where a closed pipe can still be answered
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def new_console(to: TextIO | None = None) -> Console:
    """Make what draws on stdout or elsewhere. It takes texts as they are: `[x]` is no style."""
    from rich.console import Console  # noqa: PLC0415 - only people need it

    return Console(file=to, highlight=False, markup=False)


def show(parts: Iterable[Any], to: TextIO | None = None) -> int:
    """Print texts and tables, to stdout if it is not said where to.

    Names and labels in them may come from other programs: what would give orders to a terminal
    is spelled out. Only rich's own styles reach it.
    """
    console = new_console(to)
    is_narrow = console.width < _LEAST_WIDTH
    console.width = max(console.width, _LEAST_WIDTH)
    with console.capture() as drawn:
        for whole in parts:
            part = _as_lines(whole) if is_narrow and hasattr(whole, "columns") else whole
            is_text = isinstance(part, str)
            console.print(printable(part) if is_text else _Printable(part), soft_wrap=is_text)
    print(drawn.get(), end="", file=to)
    return 0


def _as_lines(table: Any) -> str:
    """Write a table as one block of lines for each row: the first cell, then the others."""
    headers = [str(column.header) for column in table.columns]
    width = max(map(len, headers))
    lines: list[str] = []
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        lines.append(str(first) or "-")
        cells = zip(headers[1:], map(str, others), strict=True)
        lines += [f"  {header:{width}}  {cell}" for header, cell in cells if cell]
    return "\n".join(lines)


class _Printable:
    """What rich draws, with its texts made printable."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._part, options):
            yield segment._replace(text=printable(segment.text))


def show_json(command: str, data: dict[str, Any]) -> int:
    """Print a command's answer to stdout, for programs: an object that says which it is."""
    print(json.dumps({"berth": __version__, "command": command, **data}, indent=2))
    return 0


@contextmanager
def busy(doing: str) -> Iterator[None]:
    """Show on a terminal what is being done, while it is."""
    if sys.stderr is None or not sys.stderr.isatty():  # None: it was closed
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only people need it
    from rich.live import Live  # noqa: PLC0415
    from rich.spinner import Spinner  # noqa: PLC0415

    # stdout may lead elsewhere than to this terminal, so it is left alone.
    with Live(
        Spinner("dots", doing),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    ):
        yield
