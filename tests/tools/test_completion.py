"""Completion: what Tab offers in a shell."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess

import pytest

from berth.tools.cli import command_parser, main
from berth.tools.completion import script

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")

# Each line is what was typed when Tab is pressed; `|` ends it, so that a space shows. Where
# nothing is offered, bash itself offers files.
FILES = ""
OFFERED = {
    "berth |": "run check devices limits top completion --help --version",
    "berth d|": "devices",
    "berth --v|": "--version",
    "berth completion |": "bash zsh fish",
    "berth completion z|": "zsh",
    "berth completion -|": "-h --help",
    "berth top --|": "--help --json --sim --watch",
    "berth top --watch --j|": "--json",
    "berth check --size |": FILES,
    "berth devices |": "-h --help --json --sim",
    "berth devices --sim 2xT|": "2xT4",
    "berth no |": FILES,
    "berth run |": FILES,
    "berth run tr|": FILES,
    "berth run -|": "-h --help --sim --gpus --memory --growth --log-placement --log-as-tf2 --soft --api --synthetic-data --report --check -v --verbose",
    "berth run --g|": "--gpus --growth",
    "berth run --api |": "v1 v2",
    "berth run --api=|": "v1 v2",
    "berth run --api=v|": "v1 v2",
    "berth run --api v1 --sof|": "--soft",
    "berth run --api=v1 --sof|": "--soft",
    "berth run --growth --sim 4xA1|": "4xA10 4xA10G 4xA100-40GB 4xA100-80GB",
    "berth run --memory |": FILES,
    "berth run --sim 4xT4 |": FILES,
    "berth run train.py --|": FILES,
    "berth run -m mod --s|": FILES,
    "berth run - --s|": FILES,
    "berth run --sim 4xT4 train.py --api |": FILES,
}  # fmt: skip

DRIVER = r"""
complete_line() {  # what bash does when Tab is pressed at the end of a line
  COMP_LINE="$1"; COMP_POINT=${#1}
  eval "COMP_WORDS=($2)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _berth berth "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
  printf '%s\n' "${COMPREPLY[*]}"
}
"""


def words_of(line: str) -> str:
    """Divide a line as bash does, which takes `=` for a word of its own."""
    words = shlex.split(line.replace("=", " = "))
    if line.endswith((" ", "=")):
        words.append("")
    return " ".join(map(shlex.quote, words))


@pytest.fixture(scope="module")
def offered():
    """Press Tab after each line in one real bash."""
    asked = [line.removesuffix("|") for line in OFFERED]
    calls = [
        f"complete_line {shlex.quote(line)} {shlex.quote(words_of(line))}" for line in asked
    ]
    text = "\n".join([script("bash", command_parser()), DRIVER, *calls, "complete -p berth"])
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-u", "-c", text],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    *answers, registered = done.stdout.split("\n")[:-1]
    return dict(zip(OFFERED, answers, strict=True)), registered


@needs_bash
@pytest.mark.parametrize("line", OFFERED)
def test_tab_offers(offered, line):
    answers, _ = offered
    assert sorted(answers[line].split()) == sorted(OFFERED[line].split())


@needs_bash
def test_command_is_registered(offered):
    _, registered = offered
    assert registered == "complete -o bashdefault -o default -F _berth berth"


def described() -> list[tuple[str, list[str]]]:
    """List every command with all its options."""
    [commands] = [
        action
        for action in command_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return [
        (name, [text for action in parser._actions for text in action.option_strings])
        for name, parser in commands.choices.items()
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_script_names_every_option(capsys, shell):
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    for name, options in described():
        after = printed.split(f'"{name} "*)')[1]
        assert f'[[ $word != -* ]] || words="{" ".join(options)}" ;;' in after, name


def test_fish_script_names_every_option(capsys):
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, options in described():
        assert sum(f"-a {name} " in line for line in lines) == 1
        here = [line for line in lines if f"__fish_seen_subcommand_from {name}'" in line]
        for option in options:
            flag = f"-l {option[2:]} " if option.startswith("--") else f"-s {option[1:]} "
            assert sum(flag in f"{line} " for line in here) == 1, (name, option)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_good_syntax(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    text = script(shell, command_parser())
    done = subprocess.run(
        [shell, "-n"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_unknown_shell_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["completion", "tcsh"])
    assert stop.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
