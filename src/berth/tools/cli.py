"""The ``berth`` command. Asked-for output goes to stdout, trouble to stderr.

Exit codes: 0 done, 1 it could not be done, 2 the command was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from berth import __version__
from berth.backends.machine import Machine
from berth.errors import MachineSpecError, OpError
from berth.front.context import Context
from berth.front.memory_report import memory_report
from berth.tools import devices as devices_report
from berth.tools import run as run_command
from berth.tools import top as top_report

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["run"]:
        return _run(words[1:])
    parser = _parser()
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 0
    return _answer(args)


def _answer(args: argparse.Namespace) -> int:
    """Do what a command asks, and say what went wrong."""
    commands: dict[str, Command] = {"devices": _devices, "limits": _limits, "top": _top}
    try:
        code = commands[args.command](args)
        sys.stdout.flush()  # here, where a closed pipe can still be answered
        return code
    except MachineSpecError as error:
        return _fail(error, 2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OpError, ValueError, RuntimeError, OSError) as error:
        return _fail(error, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="berth",
        description="See GPUs, choose them, bound their memory: real or simulated.",
    )
    parser.add_argument("--version", action="version", version=f"berth {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    devices = commands.add_parser(
        "devices",
        help="list physical, visible and logical devices",
        description="List the machine's devices: what a program that starts now would see "
        "of them, how much memory it could take, and why a device is hidden. Obeys "
        "CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER, TF_FORCE_GPU_ALLOW_GROWTH, "
        "TF_MIN_GPU_MULTIPROCESSOR_COUNT, TF_ENABLED_DEVICE_TYPES and BERTH_SIM.",
    )
    run_command.add_parser(commands)
    limits = commands.add_parser(
        "limits",
        help="say how much memory a program could take, and why",
        description="Say how much of each GPU's memory a program that starts now could take, "
        "and which setting decides it.",
    )
    top = commands.add_parser(
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
    for command in (devices, limits, top):
        command.add_argument("--json", action="store_true", help="print JSON, for programs")
    for command in (devices, limits):
        command.add_argument(
            "--sim",
            metavar="MACHINE",
            help="simulate a machine: 4xT4, or 2xA100-40GB,1xT4:8GiB",
        )
    return parser


def _run(words: Sequence[str]) -> int:
    """Run a program. What it raises, and how it ends, is its own."""
    own, program = run_command.split(words)
    parser = _parser()
    args = parser.parse_args(["run", *own])
    if program is None:
        parser.error("run: which program? Name a script, -m and a module, or -c and code.")
    return run_command.run(args, program)


def _devices(args: argparse.Namespace) -> int:
    report = devices_report.report(_context(args).devices)
    if args.json:
        return _print_json(report.as_json())
    return _print(devices_report.draw(report))


def _limits(args: argparse.Namespace) -> int:
    report = memory_report(_context(args).devices)
    if args.json:
        return _print_json(asdict(report))
    print(report)
    return 0


def _top(args: argparse.Namespace) -> int:
    directory = os.environ.get("BERTH_LEDGER_DIR") or None
    if args.json:
        return _print_json([m.as_json() for m in top_report.simulated_machines(directory)])
    if args.watch is None:
        return _print(top_report.draw(top_report.simulated_machines(directory)))
    if not sys.stdout.isatty():  # a pipe gets one picture after the other
        while True:
            _print(top_report.draw(top_report.simulated_machines(directory)))
            sys.stdout.flush()
            time.sleep(args.watch)
    from rich.console import Group  # noqa: PLC0415 - only people need it
    from rich.live import Live  # noqa: PLC0415

    with Live(screen=True, auto_refresh=False) as live:
        while True:
            machines = top_report.simulated_machines(directory)
            live.update(Group(*top_report.draw(machines)), refresh=True)
            time.sleep(args.watch)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time from 0.1 to 3600 seconds")
    return seconds


def _context(args: argparse.Namespace) -> Context:
    context = Context(os.environ)
    if args.sim is not None:
        context.simulate(Machine.parse(args.sim))
    return context


def _print_json(data: Any) -> int:
    print(json.dumps(data, indent=2))
    return 0


def _print(parts: Iterable[Any]) -> int:
    from rich.console import Console  # noqa: PLC0415 - only people need it

    console = Console(highlight=False, markup=False)
    with console.capture() as drawn:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    print(drawn.get(), end="")
    return 0


def _fail(error: Exception, code: int) -> int:
    print(f"berth: {error}", file=sys.stderr)
    return code
