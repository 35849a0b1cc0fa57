"""``DEFINE_string`` and the like: how a program declares its flags."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Sequence
from typing import Any

from berth.flags.errors import UnrecognizedFlagError, suggest
from berth.flags.flag import Alias, Flag, FlagHolder, MultiFlag
from berth.flags.parsers import (
    ArgumentParser,
    BooleanParser,
    EnumClassParser,
    EnumParser,
    FloatParser,
    IntegerParser,
    ListParser,
    WhitespaceSeparatedListParser,
)
from berth.flags.validators import mark_flag_as_required
from berth.flags.values import FLAGS, FlagValues
from berth.public import public_v1, public_value

_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}
"""Names of arguments in the first versions of TensorFlow."""
Define = Callable[..., FlagHolder]


def _defining(
    what: str,
    kind: type[Flag],
    make_parser: Callable[..., ArgumentParser],
    *parser_arguments: str,
) -> Define:
    """Make a function that defines flags of one kind.

    Its arguments are ``name, default``, those of the parser that have no default value
    themselves, ``help``, and then the parser's others.
    """
    needed = [each for each in parser_arguments if not each.endswith("?")]
    optional = [each[:-1] for each in parser_arguments if each.endswith("?")]
    order = ["name", "default", *needed, "help", *optional]

    def define(
        *args: Any,
        flag_values: FlagValues = FLAGS,
        required: bool = False,
        short_name: str | None = None,
        **kwargs: Any,
    ) -> FlagHolder:
        given = _by_name(order, args, kwargs)
        parser = make_parser(
            **{each: given.pop(each) for each in order[2:] if each in given and each != "help"}
        )
        flag = kind(parser, short_name=short_name, **given)
        return _add(flag, flag_values, required)

    define.__doc__ = f"Define a flag whose value is {what}: ``{', '.join(order)}``."
    return define


def _by_name(order: list[str], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    if not _RENAMED.keys().isdisjoint(kwargs):
        logging.warning(
            "Use of the keyword argument names (flag_name, default_value, docstring) is "
            "deprecated, please use (name, default, help) instead."
        )
    named = {_RENAMED.get(name, name): value for name, value in kwargs.items()}
    if len(args) > len(order):
        raise TypeError(f"{len(order)} arguments at most: {', '.join(order)}")
    given = dict(zip(order, args, strict=False))
    for name, value in named.items():
        if name in given or name not in order:
            problem = "is given twice" if name in given else "is not an argument"
            raise TypeError(f"{name} {problem} of a flag's definition: {', '.join(order)}")
        given[name] = value
    missing = [name for name in ("name", "default", "help") if name not in given]
    if missing:
        raise TypeError(f"a flag's definition needs {', '.join(missing)}")
    return given


def _add(flag: Flag, flag_values: FlagValues, required: bool) -> FlagHolder:
    flag_values[flag.name] = flag
    if required:
        mark_flag_as_required(flag.name, flag_values)
    return FlagHolder(flag_values, flag)


DEFINE_string = _defining("a text", Flag, ArgumentParser)
DEFINE_boolean = DEFINE_bool = _defining("True or False", Flag, BooleanParser)
DEFINE_integer = _defining("an integer", Flag, IntegerParser, "lower_bound?", "upper_bound?")
DEFINE_float = _defining("a number", Flag, FloatParser, "lower_bound?", "upper_bound?")
DEFINE_enum = _defining(
    "one of several words", Flag, EnumParser, "enum_values", "case_sensitive?"
)
DEFINE_enum_class = _defining(
    "a member of an Enum", Flag, EnumClassParser, "enum_class", "case_sensitive?"
)
DEFINE_list = _defining("a list of texts, with commas", Flag, ListParser)
DEFINE_spaceseplist = _defining(
    "a list of words, with spaces", Flag, WhitespaceSeparatedListParser, "comma_compat?"
)
DEFINE_multi_string = _defining("a list of texts", MultiFlag, ArgumentParser)
DEFINE_multi_integer = _defining(
    "a list of integers", MultiFlag, IntegerParser, "lower_bound?", "upper_bound?"
)
DEFINE_multi_float = _defining(
    "a list of numbers", MultiFlag, FloatParser, "lower_bound?", "upper_bound?"
)
DEFINE_multi_enum = _defining(
    "a list of some words", MultiFlag, EnumParser, "enum_values", "case_sensitive?"
)
DEFINE_multi_enum_class = _defining(
    "a list of members of an Enum", MultiFlag, EnumClassParser, "enum_class", "case_sensitive?"
)
for _name in [name for name in globals() if name.startswith("DEFINE_")]:
    public_value(__name__, _name, f"flags.{_name}", apis=("v1",))


@public_v1("flags.DEFINE")
def DEFINE(
    parser: ArgumentParser,
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag with a parser of the program's own."""
    return _add(Flag(parser, name, default, help, **args), flag_values, required)


@public_v1("flags.DEFINE_flag")
def DEFINE_flag(
    flag: Flag, flag_values: FlagValues = FLAGS, required: bool = False
) -> FlagHolder:
    """Define a flag that the program has made."""
    return _add(flag, flag_values, required)


@public_v1("flags.DEFINE_alias")
def DEFINE_alias(name: str, original_name: str, flag_values: FlagValues = FLAGS) -> FlagHolder:
    """Define a second name of a flag."""
    if original_name not in flag_values:
        raise UnrecognizedFlagError(original_name, "", suggest(original_name, flag_values))
    return _add(Alias(name, flag_values, original_name), flag_values, required=False)


@public_v1("flags.set_default")
def set_default(flag_holder: FlagHolder, value: Any) -> None:
    """Change the default of a flag."""
    flag_holder._flags.set_default(flag_holder.name, value)


@public_v1("flags.declare_key_flag", "flags.adopt_module_key_flags")
def declare_key_flag(*args: Any, **kwargs: Any) -> None:
    """Accepted, and without effect: ``--help`` shows the flags of the program's own file."""
    del args, kwargs


@public_v1("flags.disclaim_key_flags")
def disclaim_key_flags() -> None:
    """Accepted, and without effect: ``--help`` shows the flags of the program's own file."""


@public_v1("flags.flag_dict_to_args")
def flag_dict_to_args(flag_map: dict[str, Any], multi_flags: Any = None) -> Any:
    """Make the words of a command line from names and values."""
    for key, value in flag_map.items():
        if value is None:
            yield f"--{key}"
        elif isinstance(value, bool):
            yield f"--{key}" if value else f"--no{key}"
        elif isinstance(value, str | bytes):
            yield f"--{key}={value!s}"
        elif isinstance(value, enum.Enum) or not hasattr(value, "__iter__"):
            yield f"--{key}={value}"
        elif multi_flags and key in multi_flags:
            yield from (f"--{key}={each}" for each in value)
        else:
            yield f"--{key}={','.join(map(str, value))}"
