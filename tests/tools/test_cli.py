"""The `berth` command, as a person or a program sees it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from berth.tools.cli import _COMMANDS, command_parser, main


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ("BERTH_SIM", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def lines(capsys) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_devices_are_shown_in_a_table(capsys):
    assert main(["devices", "--sim", "2xTesla K20m"]) == 0
    shown = lines(capsys)

    assert shown[0] == "Simulated machine: 2xK20m"
    assert shown[2] == (
        "device  model       PCI bus id       free / total  logical     limit  growth"
    )
    assert shown[4] == (
        "GPU:0   Tesla K20m  0000:02:00.0  4.59 / 4.63 GiB  GPU:0    4.11 GiB  no"
    )
    assert shown[-1] == "Limit of GPU:0-1: default, free memory less 500 MiB."


def test_hidden_devices_say_why(capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,7")
    main(["devices", "--sim", "2xTesla K20m"])
    shown = lines(capsys)

    assert shown[4].startswith("GPU:0   Tesla K20m  0000:03:00.0")
    assert shown[5].split() == [
        "-",
        "Tesla",
        "K20m",
        "0000:02:00.0",
        "-",
        "/",
        "4.63",
        "GiB",
        "hidden",
    ]
    assert shown[-1] == (
        "Hidden 0000:02:00.0: CUDA_VISIBLE_DEVICES=1,7: there is no GPU 7, which ends the list."
    )


def test_without_gpu_it_shows_how_to_simulate(capsys):
    assert main(["devices"]) == 0
    shown = lines(capsys)

    assert shown[1].startswith("CPU:0")
    assert shown[-4] == "No GPU: this machine has none that berth can use."
    assert shown[-3].startswith("CUDA: ")
    assert shown[-2:] == [
        "To simulate some: berth devices --sim 4xT4",
        "For a program of yours: BERTH_SIM=4xT4 python program.py",
    ]


@pytest.mark.parametrize(
    "machine",
    ["8xH200", "2xV100-32GB,2xA100-80GB,1xGTX 1080 Ti", "64xT4", "1xP100,1xH200,1xK20m"],
)
def test_table_fits_eighty_columns(capsys, machine):
    main(["devices", "--sim", machine])
    out = capsys.readouterr().out
    table, _ = out.split("\n\nLimit of")

    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in out


def test_json_is_for_programs(capsys):
    assert main(["devices", "--json", "--sim", "1xT4,1xL4"]) == 0
    report = json.loads(capsys.readouterr().out)

    assert report["simulated_machine"] == "1xT4,1xL4"
    cpu, l4, t4 = report["devices"]
    assert cpu["logical"][0]["limit_bytes"] is None
    assert (l4["name"], l4["model"]) == ("/physical_device:GPU:0", "NVIDIA L4")
    assert t4["compute_capability"] == "7.5"
    assert t4["simulated"] is True
    assert t4["logical"] == [
        {
            "name": "/device:GPU:1",
            "limit_bytes": (15095 - 120 - 1050) * 2**20,
            "limit_source": "default, free memory less 1050 MiB",
            "growth": False,
        }
    ]


def test_bad_machine_is_an_error_on_stderr(capsys):
    assert main(["devices", "--sim", "4xT5"]) == 2
    out, err = capsys.readouterr()

    assert out == ""
    assert err.startswith(
        "berth: Cannot simulate '4xT5': no profile is called 'T5'. Nearest: T4"
    )


def test_help_is_the_default(capsys):
    assert main([]) == 0
    assert "list physical, visible and logical devices" in capsys.readouterr().out


def test_command_and_module_are_the_same():
    result = subprocess.run(
        [sys.executable, "-m", "berth", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("berth 0.")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_closed_pipe_is_no_error(options):
    command = [sys.executable, "-m", "berth", "devices", "--sim", "64xT4", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaints = process.stderr.read()
    assert (process.returncode, complaints) == (0, b"")


@pytest.fixture
def in_use(monkeypatch, tmp_path, sim):
    """A program of this process holds both cards of a small machine."""
    import berth as tf

    monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path))
    sim("lab=2xT4:1GiB", BERTH_LEDGER_DIR=str(tmp_path))
    tf.config.list_logical_devices()


def test_top_shows_who_holds_what(capsys, in_use):
    import os

    assert main(["top"]) == 0
    shown = lines(capsys)
    assert shown[0] == "Simulated machine: lab=2xT4:1GiB"
    assert shown[3].split() == "0 799 MiB of 1 GiB 78 % Tesla T4 0000:02:00.0".split()  # noqa: SIM905
    assert shown[4].split()[:4] == ["799", "MiB", "679", "MiB"]
    assert str(os.getpid()) in shown[4]


def test_top_speaks_json(capsys, in_use):
    main(["top", "--json"])
    [machine] = json.loads(capsys.readouterr().out)["machines"]
    assert (machine["name"], machine["simulated"]) == ("lab=2xT4:1GiB", True)
    [process] = machine["cards"][1]["processes"]
    assert process["nbytes"] == 799 * 2**20
    assert (process["limit_bytes"], process["growth"]) == (679 * 2**20, False)


def test_top_says_if_nothing_is_in_use(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path))
    main(["top"])
    assert lines(capsys) == [
        "No simulated GPU is in use. (Real GPUs are not shown yet: use nvidia-smi.)"
    ]


WATCH = """
import signal, sys
from berth.tools.cli import _COMMANDS, command_parser, main

# Whoever started this may have had it ignore the signal: take it up again.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(["top", "--watch", "0.1"]))
"""


def test_top_can_watch(tmp_path):
    """It goes on until it is interrupted, and ends without a traceback."""
    import os
    import signal

    environ = {**os.environ, "BERTH_LEDGER_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", WATCH],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            pictures = [process.stdout.readline() for _ in range(3)]
            process.send_signal(signal.SIGINT)
            _, complaints = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, complaints) == (130, "")
    assert set(pictures) == {
        "No simulated GPU is in use. (Real GPUs are not shown yet: use nvidia-smi.)\n"
    }


def test_limits_are_explained(capsys):
    assert main(["limits", "--sim", "1xT4:1GiB"]) == 0
    assert lines(capsys) == [
        "GPU:0: limit 679 MiB (default, free memory less 225 MiB), taken at once",
        "Nothing is taken yet: the devices are not open.",
    ]


def test_limits_say_what_would_be_refused(capsys, monkeypatch, tmp_path):
    import os

    environ = {**os.environ, "BERTH_LEDGER_DIR": str(tmp_path), "BERTH_SIM": "1xT4:1GiB"}
    program = "import berth; berth.config.list_logical_devices(); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path))
        main(["limits", "--sim", "1xT4:1GiB"])
        process.communicate("\n")
    shown = lines(capsys)
    assert shown[1].startswith(f"    but it would be refused now: pid {process.pid} (")


def test_unusable_folder_is_an_error(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path / "a" / "b"))
    assert main(["limits", "--sim", "1xT4"]) == 1
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "0", "-1", "1e9", "x"])
def test_watch_takes_sensible_times(capsys, seconds):
    with pytest.raises(SystemExit):
        main(["top", f"--watch={seconds}"])
    assert "from 0.1 to 3600 seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["devcies"], "there is no command 'devcies'. Did you mean 'devices'?"),
        (["frobnicate"], "There are run, check, devices, limits, top, completion."),
        (["run", "--growht", "x.py"], "lists them. Did you mean '--growth'?"),
    ],
)
def test_mistyped_word_gets_a_suggestion(capsys, words, told):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_every_command_is_listed():
    commands = next(a for a in command_parser()._actions if a.dest == "command")
    assert tuple(sorted(commands.choices)) == tuple(sorted(_COMMANDS))
