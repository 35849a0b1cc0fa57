"""What the command prints: text and tables for people, JSON for programs.

Tables are drawn by rich, which is loaded when something is drawn. Into a pipe goes plain text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO


def show(parts: Iterable[Any], to: TextIO | None = None) -> int:
    """Print texts and tables, to stdout if it is not said where to."""
    from rich.console import Console  # noqa: PLC0415 - only people need it

    console = Console(file=to, highlight=False, markup=False)
    with console.capture() as drawn:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    print(drawn.get(), end="", file=to)
    return 0


def show_json(data: Any) -> int:
    """Print data to stdout, for programs."""
    print(json.dumps(data, indent=2))
    return 0


@contextmanager
def busy(doing: str) -> Iterator[None]:
    """Show on a terminal what is being done, while it is."""
    if not sys.stderr.isatty():
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
