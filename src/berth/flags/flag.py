"""One command-line flag: its name, default, value and parser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from berth.flags.errors import Error, IllegalFlagValueError
from berth.flags.parsers import ArgumentParser, BooleanParser
from berth.public import public_v1

if TYPE_CHECKING:
    from berth.flags.values import FlagValues

Check = Callable[[], None]
"""A validator, with the flags that it looks at; IllegalFlagValueError if they are refused."""


@public_v1("flags.Flag")
class Flag:
    """A flag of the command line."""

    def __init__(
        self,
        parser: ArgumentParser,
        name: str,
        default: Any,
        help: str | None = None,
        short_name: str | None = None,
    ) -> None:
        if not name:
            raise Error("Flag name cannot be empty")
        if " " in name:
            raise Error("Flag name cannot contain a space")
        self.name, self.short_name, self.parser = name, short_name, parser
        self.help = help or "(no help available)"
        self.present = 0
        """How often it was given."""
        self.using_default_value = True
        self.validators: list[Check] = []
        self.module = ""
        """The module that defined it."""
        self.set_default(default)

    @property
    def boolean(self) -> bool:
        """Whether ``--flag`` and ``--noflag`` are enough."""
        return isinstance(self.parser, BooleanParser)

    def set_default(self, value: Any) -> None:
        """Change the default, and the value if none was given."""
        self.default = None if value is None else self.convert(value)
        if self.using_default_value:
            self.value = self.default

    def convert(self, argument: Any) -> Any:
        """Return what a text means here. IllegalFlagValueError if it means nothing."""
        try:
            return self.parser.parse(argument)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={argument}: {error}") from None

    def parse(self, argument: Any) -> None:
        """Take a value from the command line."""
        self.value = self.convert(argument)
        self.present += 1
        self.using_default_value = False

    def unparse(self) -> None:
        """Forget the command line."""
        self.value, self.present, self.using_default_value = self.default, 0, True

    def assign(self, value: Any) -> None:
        """Take a value that the program assigns, as it is."""
        self.value, self.using_default_value = value, False

    def flag_type(self) -> str:
        return self.parser.flag_type()

    def default_text(self) -> str:
        """Return the default as ``--help`` shows it."""
        return self.parser.serialize(self.default)

    def serialize(self) -> str:
        """Return the words that give it its value; nothing if it has none."""
        if self.value is None:
            return ""
        if self.boolean:
            return f"--{self.name}" if self.value else f"--no{self.name}"
        return f"--{self.name}={self.parser.serialize(self.value)}"


@public_v1("flags.MultiFlag")
class MultiFlag(Flag):
    """A flag that may be given several times: its value is a list."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help += ";\n   repeat this option to specify a list of values"

    def convert(self, argument: Any) -> list[Any]:
        is_one = isinstance(argument, str) or not hasattr(argument, "__iter__")
        return [Flag.convert(self, each) for each in ([argument] if is_one else argument)]

    def parse(self, argument: Any) -> None:
        before = list(self.value or ()) if self.present else []
        super().parse(argument)
        self.value = before + self.convert(argument)

    def flag_type(self) -> str:
        return f"multi {self.parser.flag_type()}"

    def default_text(self) -> str:
        return str(self.default)

    def serialize(self) -> str:
        words = (f"--{self.name}={self.parser.serialize(each)}" for each in self.value or ())
        return "\n".join(words)


class Alias(Flag):
    """A second name of another flag."""

    def __init__(self, name: str, flags: FlagValues, original: str) -> None:
        self._flags, self._original = flags, original
        target = flags[original]
        super().__init__(target.parser, name, None, f"Alias for --{original}.")

    def parse(self, argument: Any) -> None:
        self._flags[self._original].parse(argument)
        self.present += 1

    @property
    def value(self) -> Any:
        return self._flags[self._original].value

    @value.setter
    def value(self, value: Any) -> None:
        pass

    def assign(self, value: Any) -> None:
        self._flags[self._original].assign(value)

    def serialize(self) -> str:
        return ""


@public_v1("flags.FlagHolder")
class FlagHolder:
    """What a ``DEFINE_`` function returns: a flag to read without its name."""

    def __init__(self, flags: FlagValues, flag: Flag) -> None:
        self._flags, self._flag = flags, flag
        self.name = flag.name

    @property
    def value(self) -> Any:
        """The flag's value. UnparsedFlagAccessError before the command line is parsed."""
        return self._flags.read(self.name)

    @property
    def default(self) -> Any:
        return self._flag.default

    @property
    def present(self) -> bool:
        """Whether it was given on the command line."""
        return bool(self._flag.present)
