"""The ``berth`` command. Asked-for output goes to stdout, trouble to stderr.

Exit codes: 0 done, 1 it could not be done, 2 the command was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from berth import __version__
from berth.backends.machine import Machine
from berth.errors import MachineSpecError, OpError
from berth.front.context import Context
from berth.tools import devices as devices_report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    try:
        code = _devices(args)
        sys.stdout.flush()  # here, where a closed pipe can still be answered
        return code
    except MachineSpecError as error:
        return _fail(error, 2)
    except (OpError, ValueError, RuntimeError) as error:
        return _fail(error, 1)
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


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
    devices.add_argument("--json", action="store_true", help="print JSON, for programs")
    devices.add_argument(
        "--sim",
        metavar="MACHINE",
        help="simulate a machine: 4xT4, or 2xA100-40GB,1xT4:8GiB",
    )
    return parser


def _devices(args: argparse.Namespace) -> int:
    context = Context(os.environ)
    if args.sim is not None:
        context.simulate(Machine.parse(args.sim))
    report = devices_report.report(context.devices)
    if args.json:
        print(json.dumps(report.as_json(), indent=2))
        return 0
    from rich.console import Console  # noqa: PLC0415 - only people need it

    console = Console(highlight=False, markup=False)
    with console.capture() as drawn:
        for part in devices_report.draw(report):
            console.print(part, soft_wrap=isinstance(part, str))
    print(drawn.get(), end="")
    return 0


def _fail(error: Exception, code: int) -> int:
    print(f"berth: {error}", file=sys.stderr)
    return code
