"""Validators: conditions that the flags of a command line must meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from berth.flags.errors import IllegalFlagValueError, ValidationError
from berth.flags.values import FLAGS, FlagValues
from berth.public import public_v1

F = TypeVar("F", bound=Callable[..., Any])
_FAILED = "Flag validation failed"


@public_v1("flags.register_validator")
def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = _FAILED,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Accept a flag's value only if ``checker(value)`` is true."""

    def check() -> None:
        value = flag_values[flag_name].value
        _require(lambda: checker(value), f"flag --{flag_name}={value}", message)

    flag_values.add_check([flag_values[flag_name].name], check)


@public_v1("flags.register_multi_flags_validator")
def register_multi_flags_validator(
    flag_names: Sequence[str],
    multi_flags_checker: Callable[[dict[str, Any]], Any],
    message: str = _FAILED,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Accept the values of several flags only if ``checker(values by name)`` is true."""

    def check() -> None:
        values = {name: flag_values[name].value for name in flag_names}
        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        _require(lambda: multi_flags_checker(values), f"flags {shown}", message)

    flag_values.add_check(flag_names, check)


def _require(holds: Callable[[], Any], what: str, message: str) -> None:
    try:
        if holds():
            return
    except ValidationError as error:
        message = str(error)
    raise IllegalFlagValueError(f"{what}: {message}")


@public_v1("flags.validator")
def validator(
    flag_name: str, message: str = _FAILED, flag_values: FlagValues = FLAGS
) -> Callable[[F], F]:
    """Make the decorated function the validator of a flag."""

    def decorate(function: F) -> F:
        register_validator(flag_name, function, message, flag_values)
        return function

    return decorate


@public_v1("flags.multi_flags_validator")
def multi_flags_validator(
    flag_names: Sequence[str], message: str = _FAILED, flag_values: FlagValues = FLAGS
) -> Callable[[F], F]:
    """Make the decorated function the validator of several flags."""

    def decorate(function: F) -> F:
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function

    return decorate


@public_v1("flags.mark_flag_as_required")
def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Require a flag: its value must not be None when the command line is parsed."""
    register_validator(
        flag_name,
        lambda value: value is not None,
        f"Flag --{flag_name} must have a value other than None.",
        flag_values,
    )


@public_v1("flags.mark_flags_as_required")
def mark_flags_as_required(flag_names: Sequence[str], flag_values: FlagValues = FLAGS) -> None:
    """Require several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


@public_v1("flags.mark_flags_as_mutual_exclusive")
def mark_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Allow at most one of several flags to have a value, or require exactly one."""
    _exclude(
        flag_names,
        lambda value: value is not None,
        "have a value other than None",
        required,
        flag_values,
    )


@public_v1("flags.mark_bool_flags_as_mutual_exclusive")
def mark_bool_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Allow at most one of several boolean flags to be True, or require exactly one."""
    for name in flag_names:
        if not flag_values[name].boolean:
            raise ValidationError(
                f"Flag --{name} is not Boolean, which is required for flags used in "
                "mark_bool_flags_as_mutual_exclusive."
            )
    _exclude(flag_names, bool, "be True", required, flag_values)


def _exclude(
    names: Sequence[str],
    counts: Callable[[Any], bool],
    condition: str,
    required: bool,
    flag_values: FlagValues,
) -> None:
    number, listed = "Exactly" if required else "At most", ", ".join(names)
    register_multi_flags_validator(
        names,
        lambda values: sum(map(counts, values.values())) in ((1,) if required else (0, 1)),
        f"{number} one of ({listed}) must {condition}.",
        flag_values,
    )
