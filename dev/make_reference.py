"""Writes the reference pages that are made from the code: docs/reference/.

    make reference

The command line is read from its argument parser, the errors from their classes and the cards
from their profiles. The environment variables are described here; a variable that the code
reads and this script does not describe, or the other way round, is an error. A test compares
the pages with what this script would write.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from berth import errors
from berth.backends.profiles import PROFILES
from berth.tools.cli import command_parser

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"
WRITTEN = "<!-- written by dev/make_reference.py: make reference -->"


class Variable(NamedTuple):
    """An environment variable, as its users see it."""

    values: str
    effect: str


VARIABLES = {
    "Which devices": {
        "BERTH_SIM": Variable(
            "`2xA100-40GB,1xT4:8GiB`",
            "simulate this machine ([syntax](../simulation.md#describing-a-machine)); "
            "`berth run --sim`",
        ),
        "CUDA_VISIBLE_DEVICES": Variable(
            "`0,2`, `GPU-8932f937`, empty",
            "the GPUs that the program sees, renumbered in this order "
            "([rules](../how-to/choose-devices.md#choose-from-outside))",
        ),
        "CUDA_DEVICE_ORDER": Variable(
            "`FASTEST_FIRST` (default), `PCI_BUS_ID`", "the order in which GPUs are numbered"
        ),
        "TF_ENABLED_DEVICE_TYPES": Variable(
            "`CPU,GPU`", "the types of devices that exist; without `GPU` there are no GPUs"
        ),
        "TF_MIN_GPU_MULTIPROCESSOR_COUNT": Variable(
            "a number (default 8)", "GPUs with fewer multiprocessors are ignored"
        ),
    },
    "Memory": {
        "BERTH_MEMORY": Variable(
            "`4GiB`, `0.4`",
            "limit of each GPU, as a size or a part of the card's total; overridden by a limit "
            "or fraction that the program sets; `berth run --memory`",
        ),
        "BERTH_GROWTH": Variable(
            "`1`",
            "reserve memory as it is needed, in programs that do not set growth themselves; "
            "`berth run --growth`",
        ),
        "TF_FORCE_GPU_ALLOW_GROWTH": Variable(
            "`true`, `false`", "switch growth on or off, overriding the program"
        ),
        "TF_DEVICE_MIN_SYS_MEMORY_IN_MB": Variable(
            "a number", "memory of each GPU that the default limit leaves free, in MiB"
        ),
        "TF_ENABLE_GPU_GARBAGE_COLLECTION": Variable(
            "`true` (default), `false`",
            "whether free regions are returned to the card to make room for a larger one",
        ),
        "BERTH_SCRUB_MEMORY": Variable(
            "`1`", "fill memory with NaN when it is freed explicitly"
        ),
        "BERTH_LEDGER_DIR": Variable(
            "a folder (default `/dev/shm`, or the temporary folder)",
            "where the files are by which processes share simulated cards",
        ),
    },
    "Placement": {
        "BERTH_LOG_PLACEMENT": Variable(
            "`1`", "log the device of each operation; `berth run --log-placement`"
        ),
        "BERTH_SOFT_PLACEMENT": Variable(
            "`1`",
            "in sessions, use another device where the one asked for does not exist or cannot "
            "run an operation; `berth run --soft`",
        ),
    },
    "Clusters": {
        "TF_CONFIG": Variable(
            "JSON, as TensorFlow's",
            "the cluster of `MultiWorkerMirroredStrategy`, which may have one worker",
        ),
    },
    "Data": {
        "BERTH_SYNTHETIC_DATA": Variable(
            "`1`",
            "made-up data in place of the data sets that a program loads, like MNIST; "
            "`berth run --synthetic-data`",
        ),
    },
    "Set by `berth run` for the processes that a program starts": {
        "BERTH_API": Variable("`v1`, `v2`", "which TensorFlow `import tensorflow` is"),
        "BERTH_GPUS": Variable(
            "as `CUDA_VISIBLE_DEVICES`",
            "what `--gpus` chose; to log that a program overrides it",
        ),
        "BERTH_CLAIMED_BY": Variable(
            "a process id", "the process that holds the memory which `--gpus` reserved"
        ),
    },
}


def variables_read() -> set[str]:
    """Return the names of environment variables that stand in the code."""
    named = re.compile(r'"((?:BERTH|CUDA|TF)_[A-Z_]+)"')
    sources = (ROOT / "src" / "berth").rglob("*.py")
    return {name for path in sources for name in named.findall(path.read_text())}


def environment_page() -> str:
    """Return the page of environment variables."""
    described = {name for group in VARIABLES.values() for name in group}
    differing = described ^ variables_read()
    assert not differing, f"not described, or not read: {sorted(differing)}"
    parts = [
        "# Environment variables\n",
        f"{WRITTEN}\n",
        "They are read once, when the devices are first listed; a later change has no effect, "
        "and berth warns of it. `1` stands for any value but `0` and empty. In a test with the "
        "[pytest plugin](pytest-plugin.md) they are unset.",
    ]
    for title, group in VARIABLES.items():
        rows = [f"| `{name}` | {each.values} | {each.effect} |" for name, each in group.items()]
        parts += [f"\n## {title}\n", "| variable | values | effect |", "|---|---|---|", *rows]
    return "\n".join(parts) + "\n"


def cli_page() -> str:
    """Return the page of the command line."""
    parser = command_parser()
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    parts = [
        "# Command line\n",
        f"{WRITTEN}\n",
        "`berth COMMAND [options]`; `python -m berth` is the same. `berth --version` prints "
        "the version, and `berth COMMAND --help` the options of a command. Answers go to "
        "stdout, errors and warnings to stderr.",
    ]
    for name, command in commands.choices.items():
        parts += ["", *_command(name, command)]
    return "\n".join([*parts, "", EXIT_CODES, ""])


EXIT_CODES = """\
## Exit codes

| code | |
|--:|---|
| 0 | done; `berth check`: every visible GPU works; `berth run --check`: nothing is missing |
| 1 | it failed; `berth check`: a GPU does not work; `berth run --check`: a name is missing |
| 2 | the command is wrong, or its file cannot be read |
| 3 | `berth check`: there is no GPU to compute on |
| 130 | interrupted |

`berth run` returns the exit code of the program, as `python` does."""


def _command(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    usage = re.sub(r"\s+", " ", command.format_usage()).removeprefix("usage: ").strip()
    shown = usage if name == "run" else f"berth {name}{_synopsis(command)}"
    yield f"## berth {name}\n"
    yield f"```\n{shown}\n```\n"
    yield " ".join((command.description or "").split()) + "\n"
    yield "| option | |"
    yield "|---|---|"
    for action in command._actions:
        if not isinstance(action, argparse._HelpAction):
            described = (action.help or "").replace("%(default)s", str(action.default))
            spelled = ", ".join(f"`{word}`" for word in _words(action))
            yield f"| {_cell(spelled)} | {_cell(described)} |"


def _synopsis(command: argparse.ArgumentParser) -> str:
    given = [a for a in command._actions if not isinstance(a, argparse._HelpAction)]
    return "".join(f" [{_words(a)[0]}]" if a.option_strings else f" {_value(a)}" for a in given)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _words(action: argparse.Action) -> list[str]:
    value = _value(action)
    if not action.option_strings:
        return [value]
    return [f"{option} {value}".strip() for option in action.option_strings]


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    shown = str(action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}")
    return f"[{shown}]" if action.nargs == "?" else shown


def errors_page() -> str:
    """Return the page of errors."""
    classes = [each for each in vars(errors).values() if _is_error(each)]
    tensorflow = [each for each in classes if issubclass(each, errors.OpError)]
    rows = [
        f"| `tf.errors.{each.__name__}` | {each.error_code} | {_first_line(each)} |"
        for each in tensorflow
    ]
    own = [
        f"| `berth.errors.{each.__name__}` | `{each.__base__.__name__}` | {_first_line(each)} |"
        for each in classes
        if each not in tensorflow
    ]
    return "\n".join(
        [
            "# Errors\n",
            f"{WRITTEN}\n",
            "The first line of a message is TensorFlow's where TensorFlow has one, to the "
            "letter. Facts and advice follow on indented lines "
            "([decision 1](../decisions/0001-first-line-is-tensorflows.md)). "
            "[Troubleshooting](../troubleshooting.md) lists causes and fixes.\n",
            "## TensorFlow's classes\n",
            "Subclasses of `tf.errors.OpError`, with `message`, `op`, `error_code`.\n",
            "| class | code | |\n|---|--:|---|",
            *rows,
            "\n`OutOfMemoryError` is a `ResourceExhaustedError` with the figures of its "
            f"message: {', '.join(f'`{name}`' for name in _figures())}.\n",
            "## berth's own\n",
            "| class | is a | |\n|---|---|---|",
            *own,
            "",
        ]
    )


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _first_line(value: type) -> str:
    return inspect.cleandoc(value.__doc__ or "").splitlines()[0]


def _figures() -> list[str]:
    source = inspect.getsource(errors.OutOfMemoryError.__init__)
    return re.findall(r"self\.([a-z]\w*):", source)


def cards_page() -> str:
    """Return the page of the cards that can be simulated."""
    rows = [
        f"| `{each.key}` | {each.model} | {each.memory_bytes >> 20} | "
        f"{'.'.join(map(str, each.compute_capability))} | {each.multiprocessors} | "
        f"{each.context_bytes >> 20} |"
        for each in PROFILES
    ]
    return "\n".join(
        [
            "# Cards\n",
            f"{WRITTEN}\n",
            f"The {len(PROFILES)} cards that can be [simulated](../simulation.md).\n",
            "| write | CUDA calls it | memory, MiB | capability | SMs | context, MiB |",
            "|---|---|--:|--:|--:|--:|",
            *rows,
            "\nMemory is the total that CUDA reports, which is less than the number on the "
            "box. The context is what a process occupies on the card before it allocates "
            "anything: an estimate of 3 MiB for each multiprocessor "
            "([decision 4](../decisions/0004-simulated-figures.md)). The sources of the "
            "figures are named in `src/berth/backends/profiles.py`.\n",
        ]
    )


MAKERS: dict[str, Callable[[], str]] = {
    "cards.md": cards_page,
    "cli.md": cli_page,
    "environment.md": environment_page,
    "errors.md": errors_page,
}


if __name__ == "__main__":
    for name, make in MAKERS.items():
        (PAGES / name).write_text(make())
