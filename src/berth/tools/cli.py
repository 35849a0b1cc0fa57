"""The ``berth`` command: what can be asked of it. `commands` has the answers.

They are loaded when one is asked for: a program that `berth run` starts does not wait for
the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from berth import __version__
from berth.errors import did_you_mean
from berth.tools.run import command as run_command

_LARGEST_MATMUL = 8192
_COMMANDS = ("run", "check", "devices", "limits", "top", "completion")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["run"]:
        return run_command.main(words[1:])
    parser = command_parser()
    if words and not words[0].startswith("-") and words[0] not in _COMMANDS:
        near = did_you_mean(words[0], _COMMANDS) or f"There are {', '.join(_COMMANDS)}."
        parser.error(f"there is no command {words[0]!r}. {near}")
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 0
    answers = import_module("berth.tools.commands")
    code: int = answers.answer(args)
    return code


# --- what can be asked --------------------------------------------------------------------


def command_parser() -> argparse.ArgumentParser:
    """Describe the command, for its users and for the completion of shells."""
    parser = argparse.ArgumentParser(
        prog="berth",
        description="List GPUs, choose them, bound their memory and run TensorFlow programs on "
        "them. The GPUs are simulated: real ones cannot be driven yet.",
        epilog="`berth COMMAND --help` tells more of each. A first look at a machine with four "
        "GPUs: berth devices --sim 4xT4",
    )
    parser.add_argument("--version", action="version", version=f"berth {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run_command.describe(
        commands.add_parser("run", help="run a TensorFlow program on berth, as it is")
    )
    check = _add_check(commands)
    devices = commands.add_parser(
        "devices",
        help="list physical, visible and logical devices",
        description="List the machine's devices: what a program that starts now would see "
        "of them, how much memory it could take, and why a device is hidden. Obeys "
        "CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER, TF_FORCE_GPU_ALLOW_GROWTH, "
        "TF_MIN_GPU_MULTIPROCESSOR_COUNT, TF_ENABLED_DEVICE_TYPES and BERTH_SIM.",
    )
    limits = commands.add_parser(
        "limits",
        help="say how much memory a program could take, and why",
        description="Say how much of each GPU's memory a program that starts now could take, "
        "and which setting decides it.",
    )
    top = _add_top(commands)
    for command in (check, devices, limits, top):
        command.add_argument("--json", action="store_true", help="print JSON, for programs")
    for command in (check, devices, limits):
        command.add_argument(
            "--sim",
            metavar="MACHINE",
            help="simulate a machine: 4xT4, or 2xA100-40GB,1xT4:8GiB",
        )
    top.add_argument(
        "--sim", metavar="MACHINE", help="show this simulated machine alone, in use or not"
    )
    completion = commands.add_parser(
        "completion",
        help="print what a shell needs to complete berth's words",
        description="Print what a shell needs to complete berth's words when you press Tab. "
        'For bash: eval "$(berth completion bash)" in ~/.bashrc; for zsh the same with zsh in '
        "~/.zshrc; for fish: berth completion fish > ~/.config/fish/completions/berth.fish",
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def _add_check(commands: Any) -> argparse.ArgumentParser:
    check: argparse.ArgumentParser = commands.add_parser(
        "check",
        help="say whether it computes on the GPU, and if not, why",
        description="Is it computing on the GPU? List the devices, run a small matmul and show "
        "where it was placed, then a larger one on the CPU and on each GPU. Say of each device "
        "whether it works, how fast, or what is wrong with it.",
        epilog="Exit code: 0 if every visible GPU works, 1 if one does not or the check cannot "
        "be made, 2 if the command is wrong, 3 if there is no GPU to compute on.",
    )
    check.add_argument(
        "--size",
        metavar="N",
        type=_size,
        default=1024,
        help="rows and columns of the larger matrices (default: %(default)s)",
    )
    return check


def _add_top(commands: Any) -> argparse.ArgumentParser:
    top: argparse.ArgumentParser = commands.add_parser(
        "top",
        help="show who holds the memory of which GPU",
        description="Show the simulated GPUs that are in use, and each process on them: the "
        "bytes it holds, its limit (with + if its memory grows), and since when.",
    )
    top.add_argument(
        "--watch",
        metavar="SECONDS",
        nargs="?",
        const=1.0,
        type=_seconds,
        help="show it again and again, every second or as often as you say",
    )
    return top


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time from 0.1 to 3600 seconds")
    return seconds


def _size(text: str) -> int:
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not 1 <= size <= _LARGEST_MATMUL:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 to {_LARGEST_MATMUL}"
        )
    return size
