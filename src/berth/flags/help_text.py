"""What ``--help`` prints of a program's flags, in absl-py's layout."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from berth.flags.parsers import EnumClassParser, EnumParser
from berth.public import public_v1

if TYPE_CHECKING:
    from berth.flags.flag import Flag
    from berth.flags.values import FlagValues

_WIDTH = 80
_LEAST_WIDTH = 40


@public_v1("flags.get_help_width")
def get_help_width() -> int:
    """Return the width of help texts: that of the terminal."""
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    return width if width > _LEAST_WIDTH else _WIDTH


@public_v1("flags.text_wrap")
def text_wrap(
    text: str, length: int | None = None, indent: str = "", firstline_indent: str | None = None
) -> str:
    """Wrap the lines of a text at a width, with an indent."""
    width = length or get_help_width()
    wrapped: list[str] = []
    first = indent if firstline_indent is None else firstline_indent
    for line in text.expandtabs(4).splitlines():
        parts = textwrap.wrap(
            line.strip(), width, initial_indent=first, subsequent_indent=indent
        )
        wrapped += parts or [""]
        first = indent
    return "\n".join(wrapped)


def answer(name: str, flags: FlagValues) -> bool:
    """Print the help that a flag asks for, and end the program; False if it asks for none."""
    if name not in ("help", "helpshort", "helpfull", "h", "?"):
        return False
    doc = sys.modules["__main__"].__doc__ or f"USAGE: {sys.argv[0]} [flags]\n"
    body = all_modules(flags) if name == "helpfull" else main_module(flags)
    print(f"{textwrap.dedent(doc).strip()}\nflags:\n{body}")
    if name != "helpfull":
        print("\nTry --helpfull to get a list of all flags.")
    sys.exit(1)


def main_module(flags: FlagValues) -> str:
    """Describe the flags of the program's own file; all flags, if it defines none."""
    main = os.path.basename(getattr(sys.modules["__main__"], "__file__", "") or "")
    own = [flags[name] for name in flags if flags[name].module == main]
    return "\n" + _module(main, own) if own else all_modules(flags)


def all_modules(flags: FlagValues, prefix: str = "") -> str:
    """Describe all flags, by the file that defines them."""
    by_module: dict[str, list[Flag]] = {}
    for name in flags:
        by_module.setdefault(flags[name].module, []).append(flags[name])
    return "".join(
        f"\n{_module(each, by_module[each], prefix)}\n" for each in sorted(by_module)
    )


def _module(name: str, flags: Iterable[Flag], prefix: str = "") -> str:
    lines = [_flag(flag, prefix) for flag in flags]
    return "\n".join([f"{prefix}{name}:", *lines])


def _flag(flag: Flag, prefix: str) -> str:
    short = f"-{flag.short_name}," if flag.short_name else ""
    no = "[no]" if flag.boolean else ""
    parser: Any = flag.parser
    is_choice = isinstance(parser, EnumParser | EnumClassParser)
    choices = f"<{'|'.join(parser.enum_values)}>: " if is_choice else ""
    indent = f"{prefix}    "
    lines = [
        text_wrap(
            f"{short}--{no}{flag.name}: {choices}{flag.help}",
            get_help_width(),
            indent,
            f"{prefix}  ",
        )
    ]
    if flag.default is not None:
        lines.append(text_wrap(f"(default: '{flag.default_text()}')", None, indent))
    if parser.syntactic_help:
        lines.append(text_wrap(f"({parser.syntactic_help})", None, indent))
    return "\n".join(lines)
