"""``FLAGS``: the flags of a program, and the parsing of its command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from berth.callsite import call_site
from berth.flags import help_text
from berth.flags.errors import (
    CantOpenFlagFileError,
    DuplicateFlagError,
    Error,
    FlagNameConflictsWithMethodError,
    IllegalFlagValueError,
    UnparsedFlagAccessError,
    UnrecognizedFlagError,
    suggest,
)
from berth.flags.flag import Flag
from berth.public import public_v1, public_value


@public_v1("flags.FlagValues")
class FlagValues:
    """A set of flags. ``FLAGS.name`` reads a value, ``FLAGS["name"]`` is the flag itself.

    Where the command line was not parsed yet, reading a value parses ``sys.argv``.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_short"] = {}
        self.__dict__["_checks"] = []
        self.__dict__["_is_parsed"] = False

    # --- reading and writing ------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        if not self._is_parsed:
            self(sys.argv)
        return self[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self:
            raise UnrecognizedFlagError(name, str(value), suggest(name, self))
        self[name].assign(value)
        self._run(self[name].validators)

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(name)
        flag = self._flags.pop(self[name].name)
        self._short.pop(flag.short_name, None)

    def __getitem__(self, name: str) -> Flag:
        found: Flag = self._flags[self._short.get(name, name)]
        return found

    def __setitem__(self, name: str, flag: Flag) -> None:
        """Add a flag."""
        if hasattr(type(self), name):
            raise FlagNameConflictsWithMethodError(
                f'Cannot define a flag named "{name}". It conflicts with a method on class '
                f'"{type(self).__name__}".'
            )
        flag.module = flag.module or Path(call_site().file).name
        for each in filter(None, (name, flag.short_name)):
            if each in self:
                raise DuplicateFlagError(
                    f"The flag {each!r} is defined twice. First from {self[each].module}, "
                    f"second from {flag.module}. Description from first occurrence: "
                    f"{self[each].help}"
                )
        self._flags[name] = flag
        if flag.short_name:
            self._short[flag.short_name] = name

    def __contains__(self, name: object) -> bool:
        return name in self._flags or name in self._short

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._flags))

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted([*self._flags, *super().__dir__()])

    def __str__(self) -> str:
        return self.get_help()

    def read(self, name: str) -> Any:
        """Return a value. UnparsedFlagAccessError before the command line is parsed."""
        if not self._is_parsed:
            raise UnparsedFlagAccessError(
                f"Trying to access flag --{name} before flags were parsed."
            )
        return self[name].value

    def flag_values_dict(self) -> dict[str, Any]:
        """Return all values by name."""
        return {name: flag.value for name, flag in self._flags.items()}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """Return a value, or a default if it is None or there is no such flag."""
        value = getattr(self, name) if name in self else None
        return default if value is None else value

    def set_default(self, name: str, value: Any) -> None:
        """Change the default of a flag, and its value if none was given."""
        if name not in self:
            raise UnrecognizedFlagError(name, str(value), suggest(name, self))
        self[name].set_default(value)
        self._run(self[name].validators)

    def find_module_defining_flag(self, flagname: str, default: Any = None) -> Any:
        """Return the name of the file that defined a flag."""
        return self[flagname].module if flagname in self else default

    # --- the command line ---------------------------------------------------------------

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse a command line; return the words that are not flags, the program's name first.

        With ``known_only``, flags that are not defined are among them and no error.
        """
        if isinstance(argv, str | bytes):
            raise TypeError(
                f"argv should be a tuple/list of strings, not bytes or string. {argv!r}"
            )
        if not argv:
            raise ValueError(
                "argv cannot be an empty list, and must contain the program name as the first "
                "element."
            )
        rest, unknown, allowed = self._parse(self._with_flag_files(argv[1:]), known_only)
        for name, value in unknown:
            if name not in allowed and name.removeprefix("no") not in allowed:
                raise UnrecognizedFlagError(name, value, suggest(name, self))
        self.mark_as_parsed()
        self.validate_all_flags()
        return [argv[0], *rest]

    def _parse(
        self, words: list[str], known_only: bool
    ) -> tuple[list[str], list[tuple[str, str]], set[str]]:
        """Divide words into no flags, unknown flags, and what ``--undefok`` allows."""
        rest: list[str] = []
        unknown: list[tuple[str, str]] = []
        allowed: set[str] = set()
        waiting = iter(words)
        for word in waiting:
            if word == "--":
                rest += [*([word] if known_only else []), *waiting]
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            name, equals, value = word.lstrip("-").partition("=")
            if name == "undefok":
                allowed.update((value if equals else next(waiting, "")).split(","))
            elif not self._take(name, value if equals else None, waiting):
                if known_only:
                    rest.append(word)
                else:
                    unknown.append((name, value))
        if known_only:
            rest = [word for word in rest if _name_of(word) not in allowed]
        return rest, unknown, allowed

    def _take(self, name: str, value: str | None, following: Iterator[str]) -> bool:
        """Give a flag its value, maybe from the words that follow; False if it is unknown."""
        if name in self:
            flag = self[name]
            if value is None and not flag.boolean:
                value = next(following, None)
                if value is None:
                    raise Error(f"Missing value for flag --{name}")
            flag.parse(True if value is None else value)
            return True
        positive = name.removeprefix("no")
        if positive != name and positive in self and self[positive].boolean:
            if value is not None:
                raise ValueError(f"--{name}={value} does not take an argument")
            self[positive].parse(False)
            return True
        return help_text.answer(name, self)

    def _with_flag_files(self, words: Sequence[str]) -> list[str]:
        """Put the lines of ``--flagfile=path`` in its place; # begins a comment."""
        found: list[str] = []
        waiting = iter(words)
        for word in waiting:
            name, equals, path = word.partition("=")
            if word == "--":
                return [*found, word, *waiting]
            if name.lstrip("-") != "flagfile" or not name.startswith("-"):
                found.append(word)
                continue
            path = path if equals else next(waiting, "")
            try:
                lines = Path(path).expanduser().read_text().splitlines()
            except OSError as error:
                raise CantOpenFlagFileError(
                    f"ERROR:: Unable to open flagfile: {error}"
                ) from None
            kept = [line.strip() for line in lines]
            found += self._with_flag_files(
                [x for x in kept if x and not x.startswith(("#", "//"))]
            )
        return found

    def is_parsed(self) -> bool:
        return bool(self._is_parsed)

    def mark_as_parsed(self) -> None:
        self.__dict__["_is_parsed"] = True

    def unparse_flags(self) -> None:
        """Forget the command line: every flag has its default."""
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_is_parsed"] = False

    # --- validators ---------------------------------------------------------------------

    def add_check(self, names: Sequence[str], check: Any) -> None:
        """Run a check when the command line is parsed, and when one of the flags changes."""
        for flag in [self[name] for name in names]:
            flag.validators.append(check)
        self._checks.append(check)
        if self._is_parsed:
            self._run([check])

    def validate_all_flags(self) -> None:
        """Run all validators. IllegalFlagValueError with what they say."""
        self._run(self._checks)

    def _run(self, checks: Sequence[Any]) -> None:
        problems = []
        for check in checks:
            try:
                check()
            except IllegalFlagValueError as error:
                problems.append(str(error))
        if problems:
            raise IllegalFlagValueError("\n".join(problems))

    # --- texts ----------------------------------------------------------------------------

    def get_help(self, prefix: str = "", include_special_flags: bool = True) -> str:
        """Describe all flags, by module."""
        del include_special_flags  # there are none
        return help_text.all_modules(self, prefix)

    def main_module_help(self) -> str:
        """Describe the flags of the program's own file."""
        return help_text.main_module(self)

    def flags_into_string(self) -> str:
        """Write the flags that have values as lines of a flag file."""
        lines = (self[name].serialize() for name in self)
        return "".join(f"{line}\n" for line in lines if line)

    def append_flags_into_file(self, filename: str) -> None:
        """Append the flags that have values to a flag file."""
        with open(filename, "a") as file:
            file.write(self.flags_into_string())


def _name_of(word: str) -> str:
    """Return the name of a flag in a word; a word that is none stays as it is."""
    return word.lstrip("-").partition("=")[0] if word.startswith("-") else f"={word}"


FLAGS = FlagValues()
"""The flags of the program."""
public_value(__name__, "FLAGS", "flags.FLAGS", apis=("v1",))
