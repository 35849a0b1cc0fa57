"""Completion for shells, made from the command's own description.

``eval "$(berth completion bash)"`` in ``~/.bashrc``. After ``berth``, Tab offers the commands;
after a command what may follow, its options once a dash is there, and what they may be; files
where a file may stand.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from berth.backends.profiles import PROFILES


class _Option(NamedTuple):
    words: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


class _Command(NamedTuple):
    name: str
    help: str
    options: list[_Option]
    values: tuple[str, ...]
    """What may follow that is no option."""


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the text that a shell is to read."""
    commands = list(_read(parser))
    if shell == "fish":
        return "\n".join(_fish(commands))
    start = ["autoload -U +X bashcompinit && bashcompinit"] if shell == "zsh" else []
    return "\n".join([*start, *_bash(commands)])


def _read(parser: argparse.ArgumentParser) -> Iterator[_Command]:
    [subparsers] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    helps = {choice.dest: choice.help or "" for choice in subparsers._choices_actions}
    for name, command in subparsers.choices.items():
        options: list[_Option] = []
        values: tuple[str, ...] = ()
        for action in command._actions:
            choices = tuple(map(str, action.choices or ()))
            if not action.option_strings:
                values = choices
                continue
            if action.metavar == "MACHINE":
                choices = _machines()
            words = tuple(action.option_strings)
            takes_value = action.nargs not in (0, "?")
            options.append(_Option(words, action.help or "", takes_value, choices))
        yield _Command(name, helps[name], options, values)


def _machines() -> tuple[str, ...]:
    """Name machines of one, two and four of each card."""
    return tuple(
        f"{n}x{card.key}" for card in PROFILES if " " not in card.key for n in (1, 2, 4)
    )


def _bash(commands: list[_Command]) -> Iterator[str]:
    yield "_berth() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '  local words="" i'
    yield '  if [ "$word" = "=" ]; then word=""'  # `--api=v1` is three words
    yield '  elif [ "$before" = "=" ]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    words="{" ".join(command.name for command in commands)} --help --version"'
    yield "  else"
    yield from _bash_stop_at_program(commands)
    yield '    case "${COMP_WORDS[1]} $before" in'
    for command in commands:
        for option in command.options:
            if option.takes_value:
                for text in option.words:
                    yield f'      "{command.name} {text}") words="{" ".join(option.values)}" ;;'
    for command in commands:
        offered = " ".join(text for option in command.options for text in option.words)
        values = " ".join(command.values)
        if not values and command.name != "run":  # which wants the name of a file
            values = offered
        yield f'      "{command.name} "*) words="{values}"'
        yield f'        [[ $word != -* ]] || words="{offered}" ;;'
    yield "    esac"
    yield "  fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o bashdefault -o default -F _berth berth"  # files where nothing is offered


def _bash_stop_at_program(commands: list[_Command]) -> Iterator[str]:
    """Offer nothing of ours once the program is named: what follows is its own."""
    [run] = [command for command in commands if command.name == "run"]
    with_value = [text for option in run.options if option.takes_value for text in option.words]
    yield '    [ "${COMP_WORDS[1]}" != run ] || for ((i = 2; i < COMP_CWORD; i++)); do'
    yield '      case "${COMP_WORDS[i]}" in'
    yield f"        {'|'.join(with_value)}) i=$((i + 1))"
    yield '          [ "${COMP_WORDS[i]}" != "=" ] || i=$((i + 1)) ;;'
    yield "        -m|-c|-|[!-]*) COMPREPLY=(); return ;;"
    yield "      esac"
    yield "    done"


def _fish(commands: list[_Command]) -> Iterator[str]:
    for command in commands:
        about = _quoted(command.help)
        yield f"complete -c berth -n __fish_use_subcommand -f -a {command.name} -d {about}"
    for command in commands:
        here = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.values:
            yield f"complete -c berth {here} -f -a {_quoted(' '.join(command.values))}"
        for option in command.options:
            names = " ".join(
                f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}"
                for text in option.words
            )
            value = f" -x -a {_quoted(' '.join(option.values))}" if option.values else ""
            value = value or (" -r" if option.takes_value else "")
            yield f"complete -c berth {here} {names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
