"""Documents 000, 001, 003 and 004 under `berth run`: their programs as they are printed.

The programs are those of `test_documents`, with TensorFlow's own import before them. Nothing
in them speaks of berth: the machine is that of `--sim`, the API what their names tell.
"""

from __future__ import annotations

import subprocess

import pytest

from tests.parity import test_documents as documents
from tests.parity.programs import type_line
from tests.parity.test_documents import K20M, K40C, MIB, unaligned, unwrapped

IMPORT = "import tensorflow as tf\n"


def as_printed(program: str) -> str:
    """Write a program as its document does, with the import where it is missing."""
    if documents.IMPORT in program:
        return program.replace(documents.IMPORT, IMPORT)
    return IMPORT + program


@pytest.fixture
def terminal(tmp_path):
    """Save a program as my_script.py and type a line: ``terminal(program, line)``."""

    def save_and_type(program: str, line: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "my_script.py").write_text(program)
        return type_line(line, tmp_path)

    return save_and_type


# Documents 003 and 004 have some programs in common, word for word.
PROGRAMS = {
    program: (name, machine, page)
    for name, (program, machine, page) in documents.PROGRAMS.items()
}


@pytest.mark.parametrize("program", PROGRAMS, ids=[name for name, _, _ in PROGRAMS.values()])
def test_program_prints_its_page(terminal, program):
    _, machine, page = PROGRAMS[program]
    ended = terminal(as_printed(program), f'berth run -v --sim "{machine}" my_script.py')
    assert unaligned(ended.stdout) == unaligned(unwrapped(page))
    told, *warnings = ended.stderr.splitlines()
    assert told.startswith("berth run: my_script.py is written for TensorFlow 1: it uses tf.")
    is_soft = "allow_soft_placement" in program
    assert ["Soft placement moved" in line for line in warnings[:1]] == [True] * is_soft
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("program", "asked"), documents.MISSING.values(), ids=documents.MISSING
)
def test_missing_device_is_reported_once(terminal, program, asked):
    """Documents 003 and 004: the program ends with one error, that of node 'b'."""
    ended = terminal(as_printed(program), f'berth run --sim "{K40C}" my_script.py')
    assert ended.returncode == 1
    header, first, second, *_ = ended.stderr.splitlines()
    assert header == "Traceback (most recent call last):"
    assert first.endswith('my_script.py", line 10, in <module>')
    assert second == "    print(sess.run(c))"
    assert (
        "InvalidArgumentError: Cannot assign a device to node 'b': "
        f"Could not satisfy explicit device specification '{asked}'\n" in ended.stderr
    )
    assert ended.stderr.count("InvalidArgumentError") == 1


# --- the table of documents 000 and 001 -----------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "visible"), documents.VISIBLE.items(), ids=documents.VISIBLE
)
def test_terminal_chooses_the_gpus(terminal, setting, visible):
    """`CUDA_VISIBLE_DEVICES=1 berth run my_script.py`, and each row of the table."""
    line = f'export BERTH_SIM="{K20M}"; {setting} berth run my_script.py'
    ended = terminal(as_printed(documents.LOGGING_003), line)
    assert unaligned(ended.stdout) == unaligned(documents.visible_page(visible))
    assert (ended.stderr, ended.returncode) == ("", 0)


@pytest.mark.parametrize("line", ["export CUDA_VISIBLE_DEVICES=2; ", ""])
def test_python_chooses_the_gpus(terminal, line):
    """Documents 000 and 001, in the code: it counts more than what the terminal says."""
    program = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"]="0"\n'
    ended = terminal(
        program + as_printed(documents.LOGGING_003),
        f'{line}berth run --sim "{K20M}" my_script.py',
    )
    assert unaligned(ended.stdout) == unaligned(documents.visible_page([0]))


# --- memory ---------------------------------------------------------------------------------

REPORT = """
import berth
for gpu in berth.config.memory_report().devices:
  print(gpu.limit_bytes, gpu.growth, gpu.reserved_bytes)
"""


@pytest.mark.parametrize(
    ("program", "fraction"), documents.FRACTIONS.values(), ids=documents.FRACTIONS
)
def test_fraction_bounds_the_memory(sim, terminal, program, fraction):
    """Document 000: the card's memory times the fraction."""
    line = f'berth run --sim "{K40C}" my_script.py'
    limit, growth, reserved = terminal(as_printed(program) + REPORT, line).stdout.split()
    assert int(limit) == int(documents.card_bytes(sim, K40C) * fraction)
    assert growth == "False"
    assert int(limit) - MIB < int(reserved) <= int(limit)


@pytest.mark.parametrize("program", documents.GROWTH.values(), ids=documents.GROWTH)
def test_growth_starts_small(terminal, program):
    """Documents 000, 001, 003 and 004: "it starts out allocating very little memory"."""
    line = f'berth run --sim "{K40C}" my_script.py'
    limit, growth, reserved = terminal(as_printed(program) + REPORT, line).stdout.split()
    assert int(limit) > 10_000 * MIB
    assert (growth, int(reserved) <= 2 * MIB) == ("True", True)
