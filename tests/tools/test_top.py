"""`berth top`: ledgers that cannot be read are left out, and no text of others reaches a terminal raw."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from rich.table import Table

from berth import __version__
from berth.backends.ledger import Ledger
from berth.backends.machine import Machine
from berth.printable import printable, printable_line
from berth.tools.cli import main
from berth.tools.output import show
from tests.tools.run_programs import BERTH, ENVIRON

EVIL = "\x1b]0;PWNED\x07\x1b[2J\x1b[31mRED \x9b31m \u202egnp.exe\u200b\r\x08"
SPELLED = "\\x1b]0;PWNED\\x07\\x1b[2J\\x1b[31mRED \\x9b31m \\u202egnp.exe\\u200b\\x0d\\x08"


@pytest.fixture
def ledgers(tmp_path, monkeypatch):
    path = tmp_path / "ledgers"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("BERTH_LEDGER_DIR", str(path))
    return path


def test_unsafe_characters_are_spelled_out():
    assert printable(EVIL) == SPELLED
    assert printable("é \U0001f6a2 [x]\n\tü") == "é \U0001f6a2 [x]\n\tü"
    assert printable_line("a\n b\t\x1b") == "a b \\x1b"


def test_texts_and_tables_are_printed_without_orders_to_the_terminal(capsys):
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    assert show([EVIL, table]) == 0
    printed = capsys.readouterr().out
    assert "PWNED" in printed
    assert not set(printed) & set("\x1b\x07\x9b\u202e\u200b\r\x08")


def test_one_machine_is_shown(capsys, ledgers):
    """Also if it is not in use; and others are left out."""
    ledger = Ledger.open(Machine.parse("1xT4:1GiB"), ledgers)
    ledger.reserve(0, 2**20)
    used = {}
    for text in ("1 x t4:1GiB", "2xL4"):
        assert main(["top", "--sim", text, "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert (printed["command"], printed["berth"]) == ("top", __version__)
        [machine] = printed["machines"]
        used[machine["name"]] = [card["used_bytes"] for card in machine["cards"]]
    assert main(["top", "--sim", "2xL5"]) == 2
    ledger.close()
    assert used.keys() == {"1xT4:1GiB", "2xL4"}
    assert used["1xT4:1GiB"][0] >= 2**20
    assert used["2xL4"] == [0, 0]


def test_unreadable_ledger_is_left_out(capsys, ledgers):
    bad = ledgers / "bad.ledger"
    bad.write_bytes(b"not a ledger")
    ledger = Ledger.open(Machine.parse("1xT4:1GiB"), ledgers)
    ledger.reserve(0, 2**20)
    assert main(["top"]) == 0
    ledger.close()
    shown, problem = capsys.readouterr()

    assert "Simulated machine: 1xT4:1GiB" in shown
    assert problem.startswith(
        "berth: a machine is not shown. Cannot use the ledger of simulated GPUs "
        f"{bad}: it does not begin as a ledger does.\n"
    )


HOLDER = (
    "import berth as tf, time; tf.config.list_logical_devices(); print('up', flush=True); "
    "time.sleep(60) #"
)


def test_command_lines_of_others_are_spelled_out(ledgers):
    """In `berth top`, and in the error of a program that finds the card full."""
    environ = ENVIRON | {"BERTH_SIM": "1xT4:1GiB", "BERTH_LEDGER_DIR": str(ledgers)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER + EVIL.replace("\x08", "").replace("\r", ""), EVIL],
        env=environ,
        stdout=subprocess.PIPE,
    )
    try:
        holder.stdout.readline()
        for command in (
            [*BERTH, "top"],
            [*BERTH, "top", "--json"],
            [sys.executable, "-c", "import berth; berth.config.list_logical_devices()"],
        ):
            done = subprocess.run(command, env=environ, capture_output=True, check=False)
            printed = (done.stdout + done.stderr).decode()
            assert str(holder.pid) in printed
            assert not set(printed) & set("\x1b\x07\x9b\u202e\u200b\r\x08")
    finally:
        holder.kill()
        holder.communicate()
