"""``berth run``: a TensorFlow program, unmodified, on berth.

1. The options become environment variables, which the program and all that it starts see:
   BERTH_SIM, CUDA_VISIBLE_DEVICES, BERTH_MEMORY, BERTH_GROWTH, BERTH_LOG_PLACEMENT,
   BERTH_SOFT_PLACEMENT and BERTH_SYNTHETIC_DATA. What the program sets itself overrides them.
2. The program's text tells which TensorFlow it is written for, before it runs: BERTH_API.
3. A folder with a package `tensorflow` (`on_path`) comes first on its path.
4. The program runs in this process, as ``__main__`` (`program`).
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.devices.out_of_memory import process_line
from berth.errors import MachineSpecError, did_you_mean
from berth.front.context import Context, context
from berth.tools.output import answering, show
from berth.tools.run import memory_table, uses_report
from berth.tools.run.gpu_choice import Choice, GpusTextError, choose
from berth.tools.run.program import Program, set_path, start
from berth.tools.run.uses import Reading, Source, choose_api, read_uses, what_is_wrong
from berth.tools.run.uses_report import Verdict
from berth.units import format_bytes, parse_share

_ON_PATH = str(Path(__file__).with_name("on_path"))
_WITH_VALUE = ("--sim", "--gpus", "--memory", "--api")
_WITHOUT_VALUE = (
    *("--growth", "--log-placement", "--log-as-tf2", "--soft", "--report", "--check"),
    *("--synthetic-data", "--verbose"),
)
_PROGRAM_KINDS = {"-m": "a module", "-c": "code"}
_SWITCHES = {
    "growth": "BERTH_GROWTH",
    "log_placement": "BERTH_LOG_PLACEMENT",
    "log_as_tf2": "BERTH_LOG_AS_TF2",
    "soft": "BERTH_SOFT_PLACEMENT",
    "synthetic_data": "BERTH_SYNTHETIC_DATA",
}
_FORMATTER = partial(argparse.RawDescriptionHelpFormatter, width=80)
# Of a set width: to ask the terminal for its own loads modules for archives.
_EPILOG = """\
What the program sets itself overrides these options; the log says so.

examples:
  berth run --sim "4xTesla K20m" train.py --epochs 3
  berth run --gpus 1 --memory 4GiB train.py
  CUDA_VISIBLE_DEVICES=1 berth run --log-placement my_script.py
  berth run --check train.py
"""


def main(words: Sequence[str]) -> int:
    """Do ``berth run`` with these words; return the exit code, which is the program's."""
    own, program = split(words)
    parser = argparse.ArgumentParser(
        prog="berth run", allow_abbrev=False, formatter_class=_FORMATTER
    )
    describe(parser)
    args, unknown = parser.parse_known_args(own)
    if unknown and unknown[0] not in _PROGRAM_KINDS:
        near = did_you_mean(unknown[0], [*_WITH_VALUE, *_WITHOUT_VALUE])
        parser.error(
            f"{unknown[0]} is no option of this command: `berth run --help` lists them. "
            f"{near}".rstrip()
        )
    if program is None:
        if own and own[-1] in _PROGRAM_KINDS:
            parser.error(f"{own[-1]} wants {_PROGRAM_KINDS[own[-1]]} after it.")
        parser.error("which program? Name a script, -m and a module, or -c and code.")
    return run(args, program)


def describe(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.usage = "berth run [options] (program.py | -m module | -c code) [arguments ...]"
    parser.description = (
        "Run a TensorFlow program, of version 1 or 2, without changing it: in it,\n"
        "`import tensorflow` is berth. Arguments after the program are the program's."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = _FORMATTER
    add = parser.add_argument
    add("--sim", metavar="MACHINE", help="simulate a machine: 4xT4, or 2xA100-40GB,1xT4:8GiB")
    add(
        "--gpus",
        metavar="LIST|N",
        help="the GPUs with these numbers (0,2 or just 1,), or so many (2): those with the "
        "most free memory, which is reserved at once; none: no GPU",
    )
    add(
        "--memory",
        metavar="SIZE|PART",
        type=_share,
        help="how much of each GPU's memory it may take: 4GiB, or 0.4 of it",
    )
    add("--growth", action="store_true", help="take memory as it is needed, not at once")
    add("--log-placement", action="store_true", help="print where each operation runs")
    add("--log-as-tf2", action="store_true", help="log in TensorFlow 2's form, with types")
    add(
        "--soft",
        action="store_true",
        help="run an operation elsewhere where the device it asks for cannot",
    )
    add(
        "--api",
        choices=("v1", "v2"),
        help="which TensorFlow it is written for; otherwise its names tell",
    )
    made_up = "give it made-up data in place of the data sets that it loads, like MNIST"
    add("--synthetic-data", action="store_true", help=made_up)
    add("--report", action="store_true", help="print each GPU's memory when it has ended")
    add(
        "--check",
        action="store_true",
        help="do not run it: list TensorFlow's names in it, and which of them berth has not",
    )
    add(
        "-v",
        "--verbose",
        action="store_true",
        help="say what is decided before it runs, and show berth's own lines in tracebacks",
    )


def split(argv: Sequence[str]) -> tuple[list[str], Program | None]:
    """Divide the command's arguments into its own options and the program with its."""
    position = 0
    while position < len(argv):
        word, rest = argv[position], argv[position + 1 :]
        if word in _WITH_VALUE:
            position += 2
        elif word in ("-m", "-c") and rest:
            kind: Any = "module" if word == "-m" else "code"
            return list(argv[:position]), Program(kind, rest[0], rest[1:])
        elif word == "--" and rest:
            return list(argv[:position]), Program("script", rest[0], rest[1:])
        elif word == "-" or not word.startswith("-"):
            return list(argv[:position]), Program("script", word, rest)
        else:
            position += 1
    return list(argv), None


def run(args: argparse.Namespace, program: Program) -> int:
    """Do what the command asks; return its exit code."""
    try:
        text, file = _read(program, args)
        verdict = _judge(program, text, file, args)
        name = program.target if program.is_test_runner else file
        if args.check:
            return _list_uses(verdict, name)
        choice = _prepare(args)
    except (OSError, SyntaxError, ValueError, LookupError, RuntimeError) as error:
        _say(_complaint(error, program.target))
        return 2 if isinstance(error, OSError | MachineSpecError | GpusTextError) else 1
    if choice is not None:
        for gpu, others in choice.shared.items():
            lines = " ".join(map(process_line, others))
            _say(f"--gpus {args.gpus}: GPU {gpu} is shared, since no other is free. {lines}")
    if args.synthetic_data:
        _say("--synthetic-data: data sets like MNIST are made up, and results mean nothing.")
    if args.verbose:
        _say(verdict.explain(name))
        if choice is not None:
            _say(_chosen(choice))
    os.environ["BERTH_API"] = verdict.api
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [_ON_PATH, os.environ.get("PYTHONPATH")])
    )
    set_path(program, _ON_PATH)
    if args.report:
        # Comes after all that the program prints.
        atexit.register(_report, os.path.basename(file), os.getpid())
    return start(program, text, file, shows_all=args.verbose)


def _read(program: Program, args: argparse.Namespace) -> tuple[str | bytes, str]:
    """Read the program's text. Where there is none, Python itself says why."""
    try:
        return program.read()
    except LookupError:
        if args.check:
            raise
        return "", program.target


def _judge(program: Program, text: str | bytes, file: str, args: argparse.Namespace) -> Verdict:
    """Determine which TensorFlow a program is written for, unless ``--api`` is given."""
    try:
        source = Source(text, file, Path(program.folder), program.test_files())
        reading = read_uses(source, is_check=args.check)
    except (SyntaxError, ValueError):
        if args.check:
            raise
        reading = Reading([], [])  # Python will say what is wrong with it
    if args.api is not None:
        return Verdict(args.api, None, True, reading)
    api, because = choose_api(reading.uses)
    return Verdict(api, because, False, reading)


def _list_uses(verdict: Verdict, file: str) -> int:
    code = 0
    with answering():
        code = uses_report.show(verdict, file)
    return code


def environment(args: argparse.Namespace) -> dict[str, str]:
    """Say the options as environment variables."""
    env = {name: "1" for option, name in _SWITCHES.items() if getattr(args, option)}
    if args.sim is not None:
        Machine.parse(args.sim)  # complains now, and not in the middle of the program
        env["BERTH_SIM"] = args.sim
    if args.memory is not None:
        env["BERTH_MEMORY"] = args.memory
    return env


def _prepare(args: argparse.Namespace) -> Choice | None:
    """Put the options into the environment; choose GPUs, if that is asked."""
    os.environ.update(environment(args))
    if args.gpus is None:
        return None
    devices = Context(os.environ).devices
    choice = choose(args.gpus, devices, os.environ)
    numbers = ""
    if isinstance(devices.gpu_backend, SimBackend):
        numbers = ",".join(map(str, map(devices.gpu_backend.visible_number, choice.gpus)))
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["BERTH_GPUS"] = numbers
    if choice.claimed_bytes:  # for the processes that the program starts
        os.environ["BERTH_CLAIMED_BY"] = str(os.getpid())
    return choice


def _report(program: str, pid: int) -> None:
    """Print what became of the GPUs' memory; not for the children that a program forks."""
    if os.getpid() != pid:
        return
    print(end="", flush=True)  # does nothing where stdout is closed
    show(["", *memory_table.draw(context().devices, program)], sys.stderr)


def _chosen(choice: Choice) -> str:
    setting = f"CUDA_VISIBLE_DEVICES={os.environ['CUDA_VISIBLE_DEVICES']}"
    if not choice.gpus:
        return f"{setting}: no GPU, as --gpus none says."
    if not choice.claimed_bytes:
        return f"{setting}, as --gpus says."
    each = " of each" if len(choice.gpus) > 1 else ""
    return (
        f"{setting}: most memory is free there, and {format_bytes(choice.claimed_bytes)}{each} "
        "is reserved now."
    )


def _share(text: str) -> str:
    try:
        parse_share(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _complaint(error: Exception, file: str) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"can't open file {error.filename!r}: {error.strerror}"
    if isinstance(error, SyntaxError):
        return f"{file}: {what_is_wrong(error)}"
    return str(error)


def _say(text: str) -> None:
    print(f"berth run: {text}", file=sys.stderr)
