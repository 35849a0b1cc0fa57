"""What the ``berth`` command answers. Asked-for output goes to stdout, trouble to stderr.

Exit codes: 0 done, 1 it could not be done, 2 the command was wrong; `berth check` has 3, for
a machine without a GPU. Those of `berth run`, which is apart, are the program's own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import NoReturn

from berth.backends.machine import Machine
from berth.errors import MachineSpecError, OpError
from berth.front.context import Context
from berth.front.memory_report import memory_report
from berth.printable import printable
from berth.tools import devices as devices_report
from berth.tools import top as top_report
from berth.tools.check import check
from berth.tools.cli import command_parser
from berth.tools.completion import script
from berth.tools.output import answering, busy, new_console, show, show_json

_NOT_SHOWN = "a machine is not shown. "


def answer(args: argparse.Namespace) -> int:
    """Do what is asked, and say what went wrong; return the exit code."""
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "check": _check,
        "completion": _completion,
        "devices": _devices,
        "limits": _limits,
        "top": _top,
    }
    code = 0
    try:
        with answering():
            code = commands[args.command](args)
    except MachineSpecError as error:
        return _fail(error, 2)
    except KeyboardInterrupt:
        return 130
    except (OpError, ValueError, RuntimeError, OSError) as error:
        return _fail(error, 1)
    return code


def _check(args: argparse.Namespace) -> int:
    def report(text: str) -> None:
        if not args.json:
            print(printable(text), flush=True)  # each line as soon as it is known

    found = check(_context(args), args.size, report, busy)
    if args.json:
        show_json("check", found.as_json())
    return found.exit_code


def _completion(args: argparse.Namespace) -> int:
    print(script(args.shell, command_parser()))
    return 0


def _devices(args: argparse.Namespace) -> int:
    report = devices_report.report(_context(args).devices)
    return (
        show_json("devices", report.as_json())
        if args.json
        else show(devices_report.draw(report))
    )


def _limits(args: argparse.Namespace) -> int:
    report = memory_report(_context(args).devices)
    if args.json:
        return show_json("limits", asdict(report))
    print(printable(str(report)))
    return 0


def _top(args: argparse.Namespace) -> int:
    directory = os.environ.get("BERTH_LEDGER_DIR") or None
    only = None if args.sim is None else Machine.parse(args.sim)

    def look(warn: Callable[[Exception], None]) -> list[top_report.MachineUse]:
        return top_report.simulated_machines(directory, warn, only)

    if args.json:
        return show_json("top", {"machines": [machine.as_json() for machine in look(_warn)]})
    if args.watch is None:
        return show(top_report.draw(look(_warn)))
    _watch(look, args.watch)


def _watch(look: Callable[..., list[top_report.MachineUse]], seconds: float) -> NoReturn:
    """Show who holds memory again and again, until we are interrupted."""
    console = new_console()
    if not console.file.isatty() or console.is_dumb_terminal:
        while True:  # a pipe gets one picture after the other
            show(top_report.draw(look(_warn)))
            print(end="", flush=True)
            time.sleep(seconds)
    from rich.console import Group  # noqa: PLC0415 - only people need it
    from rich.live import Live  # noqa: PLC0415

    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            problems: list[Exception] = []
            machines = look(problems.append)
            notes = [printable(f"{_NOT_SHOWN}{error}") for error in problems]
            live.update(Group(*top_report.draw(machines), *notes), refresh=True)
            time.sleep(seconds)


def _context(args: argparse.Namespace) -> Context:
    context = Context(os.environ)
    if args.sim is not None:
        context.simulate(Machine.parse(args.sim))
    return context


def _warn(error: Exception) -> None:
    print(printable(f"berth: {_NOT_SHOWN}{error}"), file=sys.stderr)


def _fail(error: Exception, code: int) -> int:
    print(printable(f"berth: {error}"), file=sys.stderr)
    return code
