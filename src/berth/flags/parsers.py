"""Parsers of flags: from the text of a command line to a value, and back.

`parse` also takes values of its own type: defaults may be written either way. A ValueError or
TypeError says why a text is not a value.
"""

from __future__ import annotations

import csv
import enum
import io
from collections.abc import Sequence
from typing import Any, ClassVar

from berth.public import public_v1


@public_v1("flags.ArgumentParser")
class ArgumentParser:
    """Parser of texts: they are values as they are. The base of the others."""

    syntactic_help: ClassVar[Any] = ""
    """What a value looks like, for ``--help``."""

    def parse(self, argument: Any) -> Any:
        """Return the value of a text."""
        if not isinstance(argument, str):
            raise TypeError(f'flag value must be a string, found "{type(argument)}"')
        return argument

    def flag_type(self) -> str:
        """Return the name of the type, for reports."""
        return "string"

    def serialize(self, value: Any) -> str:
        """Return the text from which a value is parsed."""
        return str(value)


class _NumberParser(ArgumentParser):
    """Parser of numbers between bounds."""

    _noun: ClassVar[str]
    _article: ClassVar[str]
    _adjectives: ClassVar[dict[tuple[Any, Any], str]] = {
        (0, None): "non-negative",
        (None, 0): "non-positive",
    }
    """What numbers between certain bounds are called."""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        self.syntactic_help = self._describe()  # type: ignore[misc]

    def parse(self, argument: Any) -> Any:
        value = self.convert(argument)
        low, high = self.lower_bound, self.upper_bound
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"{value} is not {self.syntactic_help}")
        return value

    def convert(self, argument: Any) -> Any:
        raise NotImplementedError

    def _describe(self) -> str:
        low, high = self.lower_bound, self.upper_bound
        if low is not None and high is not None:
            return f"{self._article} {self._noun} in the range [{low}, {high}]"
        adjective = self._adjectives.get((low, high))
        if adjective is not None:
            return f"a {adjective} {self._noun}"
        if low is not None:
            return f"{self._noun} >= {low}"
        return f"{self._article} {self._noun}" if high is None else f"{self._noun} <= {high}"


@public_v1("flags.IntegerParser")
class IntegerParser(_NumberParser):
    """Parser of integers: decimal, or with 0x or 0o before them."""

    _noun, _article = "integer", "an"
    _adjectives: ClassVar = {
        **_NumberParser._adjectives,
        (1, None): "positive",
        (None, -1): "negative",
    }

    def convert(self, argument: Any) -> int:
        if isinstance(argument, str):
            prefix = argument[:2].lower()
            return int(argument, {"0x": 16, "0o": 8}.get(prefix, 10))
        if isinstance(argument, int):
            return argument
        raise TypeError(f"Expect argument to be a string or int, found {type(argument)}")

    def flag_type(self) -> str:
        return "int"


@public_v1("flags.FloatParser")
class FloatParser(_NumberParser):
    """Parser of floating-point numbers."""

    _noun, _article = "number", "a"

    def convert(self, argument: Any) -> float:
        if not isinstance(argument, str | int | float):
            raise TypeError(
                f"Expect argument to be a string, int, or float, found {type(argument)}"
            )
        return float(argument)

    def flag_type(self) -> str:
        return "float"


@public_v1("flags.BooleanParser")
class BooleanParser(ArgumentParser):
    """Parser of truth values: true, t, 1 and false, f, 0."""

    _VALUES: ClassVar = {
        "true": True,
        "t": True,
        "1": True,
        "false": False,
        "f": False,
        "0": False,
    }

    def parse(self, argument: Any) -> bool:
        text = argument.lower() if isinstance(argument, str) else argument
        if isinstance(text, str) and text in self._VALUES:
            return bool(self._VALUES[text])
        if isinstance(text, int) and text in (0, 1):
            return bool(text)
        if isinstance(text, str | int):
            raise ValueError("Non-boolean argument to boolean flag", argument)
        raise TypeError("Non-boolean argument to boolean flag", argument)

    def flag_type(self) -> str:
        return "bool"

    def serialize(self, value: Any) -> str:
        return str(bool(value)).lower()


@public_v1("flags.EnumParser")
class EnumParser(ArgumentParser):
    """Parser of one of several words."""

    def __init__(self, enum_values: Sequence[str], case_sensitive: bool = True) -> None:
        if not enum_values:
            raise ValueError(f'enum_values cannot be empty, found "{enum_values}"')
        if isinstance(enum_values, str):
            raise ValueError(f'enum_values cannot be a str, found "{enum_values}"')
        self.enum_values = list(enum_values)
        self.case_sensitive = case_sensitive

    def parse(self, argument: Any) -> str:
        for value in self.enum_values:
            if value == argument:
                return value
            if not self.case_sensitive and value.lower() == argument.lower():
                return value
        raise ValueError(f"value should be one of <{'|'.join(self.enum_values)}>")

    def flag_type(self) -> str:
        return "string enum"


@public_v1("flags.EnumClassParser")
class EnumClassParser(ArgumentParser):
    """Parser of the members of an `enum.Enum`, by their names."""

    def __init__(self, enum_class: type[enum.Enum], case_sensitive: bool = False) -> None:
        if not isinstance(enum_class, type) or not issubclass(enum_class, enum.Enum):
            raise TypeError(f"{enum_class} is not a subclass of Enum.")
        if not enum_class.__members__:
            raise ValueError(f"enum_class cannot be empty, but {enum_class!r} is empty.")
        self.enum_class, self._folds_case = enum_class, not case_sensitive
        self.enum_values = [self._fold(name) for name in enum_class.__members__]
        self._members = {self._fold(n): m for n, m in enum_class.__members__.items()}

    def parse(self, argument: Any) -> enum.Enum:
        if isinstance(argument, self.enum_class):
            return argument
        if not isinstance(argument, str):
            raise ValueError(
                f"{argument} is not an enum member or a name of a member in {self.enum_class}"
            )
        if self._fold(argument) not in self._members:
            raise ValueError(f"value should be one of <{'|'.join(self.enum_values)}>")
        return self._members[self._fold(argument)]

    def flag_type(self) -> str:
        return "enum class"

    def serialize(self, value: enum.Enum) -> str:
        return self._fold(value.name)

    def _fold(self, name: str) -> str:
        return name.lower() if self._folds_case else name


@public_v1("flags.ListParser")
class ListParser(ArgumentParser):
    """Parser of texts with commas between them; quotes as in a CSV file."""

    syntactic_help = "a comma separated list"

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, list):
            return argument
        if not argument:
            return []
        try:
            return [each.strip() for each in next(csv.reader([argument], strict=True))]
        except csv.Error as error:
            raise ValueError(
                f"Unable to parse the value {argument} as a {self.flag_type()}: {error}"
            ) from None

    def flag_type(self) -> str:
        return "comma separated list of strings"

    def serialize(self, value: Sequence[Any]) -> str:
        written = io.StringIO()
        csv.writer(written, lineterminator="").writerow([str(each) for each in value])
        return written.getvalue()


@public_v1("flags.WhitespaceSeparatedListParser")
class WhitespaceSeparatedListParser(ArgumentParser):
    """Parser of words with spaces between them, or with commas too."""

    def __init__(self, comma_compat: bool = False) -> None:
        self._takes_commas = comma_compat
        or_comma = " or comma" if comma_compat else ""
        self.syntactic_help = f"a whitespace{or_comma} separated list"  # type: ignore[misc]

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, list):
            return argument
        text = (argument or "").replace(",", " ") if self._takes_commas else argument or ""
        return list(text.split())

    def flag_type(self) -> str:
        return "whitespace separated list of strings"

    def serialize(self, value: Sequence[Any]) -> str:
        return " ".join(map(str, value))
