"""Where the command writes to: narrow, closed, plain, or unable to write every letter."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys

import pytest

from berth.tools.cli import main
from tests.tools.run_programs import BERTH, ENVIRON, PATIENCE, end, start

DEVICES = ["devices", "--sim", "2xT4"]
# A program whose command line reads like instructions to rich, and has letters beyond ASCII.
HOLDER = "import berth; berth.config.list_logical_devices(); print(flush=True); input()#é[/x]"


@pytest.mark.parametrize("words", [DEVICES, ["check", "--sim", "1xT4", "--size", "8"]])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_closed_stream_is_no_error(monkeypatch, stream, words):
    monkeypatch.setattr(sys, stream, None)  # as Python has it then
    assert main(words) == 0


def test_table_has_a_line_for_each_device(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(DEVICES) == 0
    lines = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert lines[2] == ["device", "model", "PCI"]
    assert lines[4] == ["GPU:0", "Tesla", "T4"]


@pytest.mark.parametrize("columns", ["79", "40", "1"])
def test_narrow_terminal_gets_a_line_for_each_cell(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert main(DEVICES) == 0
    table, _, _ = capsys.readouterr().out.partition("\nLimit of")
    assert max(map(len, table.splitlines())) <= 40
    assert "\nGPU:0\n  model         Tesla T4\n  PCI bus id    0000:02:00.0\n" in table
    assert "…" not in table


def test_foreign_letters_are_spelled_out(tmp_path):
    (tmp_path / "é.py").write_text("")
    ended = end(
        start([*BERTH, "run", "--check", "é.py"], tmp_path, {"PYTHONIOENCODING": "ascii"})
    )
    told = "\\xe9.py uses nothing of TensorFlow that can be seen in it.\n"
    assert ended == (told, "", 0)


def test_check_of_names_can_be_cut_short(tmp_path):
    (tmp_path / "p.py").write_text("")
    command = [*BERTH, "run", "--check", str(tmp_path / "p.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaints = process.stderr.read()
    assert (process.returncode, complaints) == (0, b"")


@pytest.fixture
def holder(tmp_path):
    """The environment in which a program with an odd command line holds a simulated card."""
    environ = {
        **ENVIRON,
        "BERTH_LEDGER_DIR": str(tmp_path),
        "BERTH_SIM": "1xT4:1GiB",
        "PYTHONUTF8": "1",
    }
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        yield environ
        process.communicate(b"\n")


def test_top_spells_out_commands(holder):
    environ = {**holder, "PYTHONIOENCODING": "ascii", "COLUMNS": "400"}
    top = subprocess.run([*BERTH, "top"], env=environ, capture_output=True, check=True)
    assert rb"#\xe9[/x]" in top.stdout
    listed = subprocess.run(
        [*BERTH, "top", "--json"], env=environ, capture_output=True, check=True
    )
    [machine] = json.loads(listed.stdout)["machines"]
    assert "#é[/x]" in machine["cards"][0]["processes"][0]["command"]


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_watch_shows_commands_as_they_are(holder, terminal):
    ours, theirs = pty.openpty()
    environ = {**holder, "TERM": terminal, "COLUMNS": "400", "LINES": "30"}
    command = [*BERTH, "top", "--watch", "0.1"]
    with subprocess.Popen(command, env=environ, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while "#é[/x]".encode() not in seen and b"Traceback" not in seen:
                assert select.select([ours], [], [], PATIENCE)[0], "it shows nothing"
                seen += os.read(ours, 65536)
        finally:
            process.kill()
            os.close(ours)
    assert b"Traceback" not in seen
