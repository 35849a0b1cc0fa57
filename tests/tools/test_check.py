"""`berth check`: whether it computes on the GPU, and what is wrong if it does not."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

import berth as tf
from berth import __version__
from berth.backends import nvidia_driver
from berth.backends.ledger import list_ledgers
from berth.backends.streams import ImmediateStream
from berth.eager.mode import set_eager
from berth.tools import check as device_check
from berth.tools.check_report import (
    CheckReport,
    DeviceCheck,
    Finding,
    ProgramRun,
    sentence,
    verdict,
)
from berth.tools.cli import main

PAGE = (Path(__file__).parents[2] / "docs/how-to/check-the-gpu.md").read_text()
JSON_PAGE = (Path(__file__).parents[2] / "docs/reference/json.md").read_text()
ESCAPE = "\x1b"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("BERTH_", "CUDA_", "TF_")):
            monkeypatch.delenv(name)
    tmp_path.joinpath("ledgers").mkdir(mode=0o700)
    monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path / "ledgers"))


@pytest.fixture
def no_driver(monkeypatch):
    """A computer without a driver and without CuPy."""
    monkeypatch.setattr(device_check, "has_driver", lambda: False)
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture
def train(tmp_path):
    """Start a program that takes the GPUs of a machine, and keeps them until the end."""
    started = []

    def start(machine: str, visible: str, **settings: str) -> int:
        (tmp_path / "train.py").write_text(
            "import berth; berth.config.list_logical_devices(); print(flush=True); input()"
        )
        settings |= {"BERTH_SIM": machine, "CUDA_VISIBLE_DEVICES": visible}
        process = subprocess.Popen(
            [sys.executable, "train.py"],
            cwd=tmp_path,
            env={**os.environ, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        process.stdout.readline()
        return process.pid

    yield start
    for process in started:
        process.communicate("\n")


def masked(text: str) -> list[str]:
    """Leave out what differs from run to run, and from computer to computer."""
    text = re.sub(r"(?m)^  CPU:0   .*$", "  CPU:0   M, F free", text)
    text = re.sub(rf"\((x86_64|{re.escape(platform.machine())})\)", "(M)", text)
    text = re.sub(r"in [\d.,e-]+ ms", "in T ms", text)
    text = re.sub(r"[\d.]+ of it here", "R of it here", text)
    text = re.sub(r"pid \d+ \([^)]*\)", "pid P (C)", text)
    return text.replace("libcuda.so.1", "L").replace("nvcuda.dll", "L").splitlines()


def run(capsys, *options: str) -> tuple[int, list[str]]:
    code = main(["check", "--size", "64", *options])
    out, err = capsys.readouterr()
    assert err == ""
    return code, masked(out)


def run_json(capsys, *options: str) -> dict:
    main(["check", "--size", "64", "--json", *options])
    return json.loads(capsys.readouterr().out)


def works(name: str, model: str) -> str:
    return (
        f"{name} ({model}, simulated) works: a 64x64 matmul came out right, in T ms; simulated, "
        "so its speed is the CPU's (R of it here)."
    )


CPU_WORKS = "CPU:0 (M) works: a 64x64 matmul came out right, in T ms."

# --- what is said ---------------------------------------------------------------------------


def test_two_gpus_that_work(capsys):
    code, lines = run(capsys, "--sim", "2xTesla K40c")
    assert code == 0
    assert lines == [
        "Simulated machine: 2xK40c",
        "  CPU:0   M, F free",
        "  GPU:0   Tesla K40c at 0000:05:00.0, 11.13 GiB of 11.17 GiB free",
        "  GPU:1   Tesla K40c at 0000:06:00.0, 11.13 GiB of 11.17 GiB free",
        "",
        "A small matmul, with log_device_placement=True:",
        "Device mapping:",
        "/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0",
        "/job:localhost/replica:0/task:0/device:GPU:1 -> device: 1, name: Tesla K40c, pci bus id: 0000:06:00.0",
        "b: /job:localhost/replica:0/task:0/device:GPU:0",
        "a: /job:localhost/replica:0/task:0/device:GPU:0",
        "MatMul: /job:localhost/replica:0/task:0/device:GPU:0",
        "[[22. 28.]",
        " [49. 64.]]",
        "",
        CPU_WORKS,
        works("GPU:0", "Tesla K40c"),
        works("GPU:1", "Tesla K40c"),
        "",
        "Yes, it computes on a simulated GPU: GPU:0, and both GPUs work.",
    ]


def test_computer_without_gpu(capsys, no_driver):
    code, lines = run(capsys)
    assert code == 3
    assert lines == [
        "  CPU:0   M, F free",
        "",
        "A small matmul, with log_device_placement=True:",
        "Device mapping: no known devices.",
        "b: /job:localhost/replica:0/task:0/cpu:0",
        "a: /job:localhost/replica:0/task:0/cpu:0",
        "MatMul: /job:localhost/replica:0/task:0/cpu:0",
        "[[22. 28.]",
        " [49. 64.]]",
        "",
        CPU_WORKS,
        "There is no GPU: no NVIDIA driver was found (L), and this version of berth cannot drive "
        "real GPUs yet (and CuPy, which it will need, is not installed).",
        "To try berth without one: berth check --sim 2xT4",
        "",
        "No, it computes on the CPU: there is no GPU.",
    ]


def test_driver_without_cupy(no_driver, monkeypatch):
    monkeypatch.setattr(device_check, "has_driver", lambda: True)
    assert device_check.why_no_gpu() == (
        "this version of berth cannot drive real GPUs yet (and CuPy, which it will need, is not "
        "installed)"
    )


@pytest.mark.parametrize(
    ("library", "is_there"), [(find_library("c"), True), ("libcuda-not-here.so.1", False)]
)
def test_driver_is_what_loads(monkeypatch, library, is_there):
    monkeypatch.setattr(nvidia_driver, "library_name", lambda: library)
    assert nvidia_driver.has_driver() is is_there


@pytest.mark.parametrize(
    ("environ", "code", "said"),
    [
        (
            {"CUDA_VISIBLE_DEVICES": "0"},
            0,
            [
                works("GPU:0", "Tesla T4"),
                "The Tesla T4 at 0000:03:00.0 is hidden: CUDA_VISIBLE_DEVICES=0.",
                "",
                "Yes, it computes on a simulated GPU: GPU:0.",
            ],
        ),
        (
            {"CUDA_VISIBLE_DEVICES": "1,7"},
            0,
            [
                works("GPU:0", "Tesla T4"),
                "The Tesla T4 at 0000:02:00.0 is hidden: CUDA_VISIBLE_DEVICES=1,7: there is no "
                "GPU 7, which ends the list.",
                "",
                "Yes, it computes on a simulated GPU: GPU:0.",
            ],
        ),
        (
            {"CUDA_VISIBLE_DEVICES": ""},
            3,
            [
                "The Tesla T4 at 0000:02:00.0 is hidden: CUDA_VISIBLE_DEVICES is empty.",
                "The Tesla T4 at 0000:03:00.0 is hidden: CUDA_VISIBLE_DEVICES is empty.",
                "",
                "No, it computes on the CPU: every GPU is hidden.",
            ],
        ),
        (
            {"TF_ENABLED_DEVICE_TYPES": "CPU"},
            3,
            [
                "The Tesla T4 at 0000:02:00.0 is hidden: TF_ENABLED_DEVICE_TYPES names no GPU.",
                "The Tesla T4 at 0000:03:00.0 is hidden: TF_ENABLED_DEVICE_TYPES names no GPU.",
                "",
                "No, it computes on the CPU: every GPU is hidden.",
            ],
        ),
        (
            {"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": "14975"},
            1,
            [
                "GPU:0 (Tesla T4, simulated) does not work: a 64x64 matmul needs 48 KiB, and it "
                "may hold 0 B (free memory less 14975 MiB, as asked).",
                "GPU:1 (Tesla T4, simulated) does not work: a 64x64 matmul needs 48 KiB, and it "
                "may hold 0 B (free memory less 14975 MiB, as asked).",
                "",
                "No: GPU:0 and GPU:1 do not work.",
            ],
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_environment_is_obeyed(capsys, monkeypatch, environ, code, said):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found, lines = run(capsys, "--sim", "2xT4")
    assert found == code
    assert lines[lines.index(CPU_WORKS) + 1 :] == said


def test_ignored_gpu_says_why(capsys, monkeypatch):
    monkeypatch.setenv("TF_MIN_GPU_MULTIPROCESSOR_COUNT", "50")
    code, lines = run(capsys, "--sim", "1xT4,1xV100-16GB")
    assert code == 0
    assert lines[-3] == (
        "The Tesla T4 at 0000:02:00.0 is hidden: it has 40 multiprocessors, fewer than 50 "
        "(TF_MIN_GPU_MULTIPROCESSOR_COUNT)."
    )


# --- what may be wrong ----------------------------------------------------------------------


def test_taken_gpu_names_the_process(capsys, train):
    pid = train("2xTesla K40c", visible="1")
    found = run_json(capsys, "--sim", "2xTesla K40c")
    cpu, free, taken = found["devices"]
    [holder] = taken["taken_by"]

    assert found["exit_code"] == 1
    assert [device["status"] for device in (cpu, free, taken)] == ["works", "works", "fails"]
    assert (taken["problem"], holder["pid"]) == ("memory_taken", pid)
    assert holder["command"].endswith("train.py")
    assert taken["sentence"] == (
        f"GPU:1 (Tesla K40c, simulated) does not work: its memory is taken by pid {pid} "
        f"({holder['command'][:60]}): 10.68 GiB of 11.17 GiB."
    )
    assert found["verdict"] == (
        f"No: GPU:1 does not work. CUDA_VISIBLE_DEVICES={free['uuid'][:12]} leaves the GPU that "
        "works."
    )
    assert found["computes_on"] is None
    assert found["program"]["error"].startswith(
        "ResourceExhaustedError: failed to allocate 10.64GiB"
    )


def test_advice_of_the_verdict_helps(capsys, train, monkeypatch):
    train("2xTesla K40c", visible="1")
    advice = run_json(capsys, "--sim", "2xTesla K40c")["verdict"]
    monkeypatch.setenv(*re.search(r"(CUDA_VISIBLE_DEVICES)=(\S+)", advice).groups())
    assert run_json(capsys, "--sim", "2xTesla K40c")["exit_code"] == 0


def test_growing_memory_may_still_fit(capsys, train, monkeypatch):
    train("1xT4:1GiB", visible="0", TF_DEVICE_MIN_SYS_MEMORY_IN_MB="125")
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    assert run_json(capsys, "--sim", "1xT4:1GiB")["exit_code"] == 0

    main(["check", "--json", "--sim", "1xT4:1GiB"])
    gpu = json.loads(capsys.readouterr().out)["devices"][1]
    assert gpu["problem"] == "out_of_memory"
    assert masked(gpu["sentence"]) == [
        "GPU:0 (Tesla T4, simulated) does not work: a 1024x1024 matmul needs 12 MiB, and it may "
        "hold 5 MiB (default, all that is free); its card is shared with pid P (C): 899 MiB of "
        "1 GiB."
    ]


def break_download(monkeypatch, change) -> None:
    """Let something happen to what comes back from the card with platform index 1."""
    download = ImmediateStream.download

    def broken(stream, target, source):
        download(stream, target, source)
        if stream.device == 1:
            change(target)

    monkeypatch.setattr(ImmediateStream, "download", broken)


def test_wrong_values_are_noticed(capsys, monkeypatch):
    def flip(values):
        values[2:4, 5] += 1

    break_download(monkeypatch, flip)
    code, lines = run(capsys, "--sim", "3xT4")
    wrong = re.fullmatch(
        r"GPU:1 \(Tesla T4, simulated\) does not work: 2 of the 4,096 values of a 64x64 matmul "
        r"are wrong \(at \[2, 5\] is (-?\d+), and should be (-?\d+)\)\.",
        lines[-4],
    )
    assert code == 1
    assert int(wrong[1]) == int(wrong[2]) + 1
    assert (lines[-5], lines[-3]) == (works("GPU:0", "Tesla T4"), works("GPU:2", "Tesla T4"))
    assert re.fullmatch(
        r"Only in part: GPU:1 does not work\. CUDA_VISIBLE_DEVICES=GPU-\w{8},GPU-\w{8} leaves "
        r"the 2 GPUs that work\.",
        lines[-1],
    )


def test_values_that_are_no_numbers(capsys, monkeypatch):
    break_download(monkeypatch, lambda values: values.fill(float("nan")))
    gpu = run_json(capsys, "--sim", "2xT4")["devices"][2]
    assert gpu["because"].startswith(
        "4,096 of the 4,096 values of a 64x64 matmul are wrong (at "
    )


def test_broken_gpu_does_not_end_it(capsys, monkeypatch):
    def fail(values):
        raise OSError("the card fell off the bus.\nXid 79")

    break_download(monkeypatch, fail)
    code, lines = run(capsys, "--sim", "2xT4")
    assert code == 1
    assert lines[-3] == (
        "GPU:1 (Tesla T4, simulated) does not work: OSError: the card fell off the bus."
    )


def test_small_program_is_checked_too(capsys, monkeypatch):
    monkeypatch.setattr(device_check, "_SMALL_ANSWER", [[1.0]])
    code, lines = run(capsys, "--sim", "1xT4")
    assert code == 1
    assert "It failed: the values are wrong: they should be [[1.0]]." in lines
    assert lines[-1] == "No: each device works by itself, but the small program does not."


def test_unusable_folder_is_an_error(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path / "a" / "b"))
    assert main(["check", "--sim", "1xT4"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "No such file or directory" in err


# --- words for other cases ------------------------------------------------------------------


def device(name: str | None, finding: Finding, **facts) -> DeviceCheck:
    kind = "CPU" if name == "CPU:0" else "GPU"
    facts = {"device_type": kind, "model": "L4", "simulated": False, **facts}
    return DeviceCheck(
        name=name, pci_bus_id="0:0", uuid="GPU-12345678-9", finding=finding, **facts
    )


@pytest.mark.parametrize(
    ("seconds", "times_cpu", "said"),
    [
        (0.0123, 31.4, "in 12.3 ms, 31 times the CPU's speed."),
        (0.00123, 2.345, "in 1.23 ms, 2.35 times the CPU's speed."),
        (1.2345, 0.5, "in 1,234 ms, 0.50 times the CPU's speed."),
        (0.5, None, "in 500 ms."),
    ],
)
def test_real_gpu_tells_its_speed(seconds, times_cpu, said):
    gpu = device("GPU:0", Finding(seconds=seconds), times_cpu=times_cpu)
    assert sentence(gpu, 512) == f"GPU:0 (L4) works: a 512x512 matmul came out right, {said}"


GOOD, BAD = Finding(seconds=1.0), Finding("error", "no")


@pytest.mark.parametrize(
    ("devices", "code", "said"),
    [
        ([GOOD, GOOD], 0, "Yes, it computes on the GPU: GPU:0."),
        ([BAD, GOOD], 1, "Only in part: CPU:0 does not work."),
        ([GOOD, BAD], 1, "No: GPU:0 does not work."),
        ([BAD, BAD, BAD], 1, "No: CPU:0, GPU:0 and GPU:1 do not work."),
    ],
)
def test_verdicts(devices, code, said):
    names = ["CPU:0", "GPU:0", "GPU:1"]
    program = ProgramRun("", {"MatMul": "/job:localhost/replica:0/task:0/device:GPU:0"})
    checked = [device(name, found) for name, found in zip(names, devices, strict=False)]
    report = CheckReport(None, 64, program, checked, "")
    assert (report.exit_code, verdict(report)) == (code, said)


# --- for programs ---------------------------------------------------------------------------


def test_json_has_the_documented_keys(capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    found = run_json(capsys, "--sim", "2xT4")
    of_report, of_device = JSON_PAGE.split("`berth check --json` prints one object:")[1].split(
        "and for each device:"
    )

    def documented(table):
        first_cells = [line.split("|")[1] for line in table.splitlines() if "|" in line]
        return {key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)}

    assert set(found) == documented(of_report) | {"berth", "command"}
    for one in found["devices"]:
        assert set(one) == documented(of_device)


def test_json_tells_what_was_found(capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    found = run_json(capsys, "--sim", "2xT4")
    cpu, gpu, hidden = found.pop("devices")
    program = found.pop("program")

    assert found.pop("berth") == __version__
    assert found == {
        "command": "check",
        "verdict": "Yes, it computes on a simulated GPU: GPU:0.",
        "exit_code": 0,
        "computes_on": "GPU:0",
        "simulated_machine": "2xT4",
        "no_gpu_because": "",
        "size": 64,
    }
    assert set(program["placements"]) == {"a", "b", "MatMul"}
    assert program["output"].endswith("[[22. 28.]\n [49. 64.]]\n")
    assert (cpu["name"], cpu["times_cpu"], cpu["seconds"] > 0) == ("CPU:0", None, True)
    assert gpu["times_cpu"] == pytest.approx(cpu["seconds"] / gpu["seconds"])
    assert (hidden["name"], hidden["status"], hidden["seconds"]) == (None, "hidden", None)


def test_json_without_gpu_says_why(capsys, no_driver):
    found = run_json(capsys)
    assert (found["exit_code"], found["computes_on"]) == (3, "CPU:0")
    assert found["no_gpu_because"].startswith("no NVIDIA driver was found (")


def test_pipe_gets_plain_text():
    environ = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "berth", "check", "--sim", "1xT4", "--size", "64"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert ESCAPE not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal to look at")
def test_terminal_sees_progress_apart():
    """It is on stderr: what is asked for stays whole, wherever it goes."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "berth", "check", "--sim", "1xT4", "--size", "64"]
    environ = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        command, env=environ, stdout=subprocess.PIPE, stderr=theirs, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)

    assert "Checking GPU:0 (2 of 2)" in shown
    assert masked(done.stdout.decode())[-1] == "Yes, it computes on a simulated GPU: GPU:0."
    assert ESCAPE not in done.stdout.decode()


# --- what it leaves behind ------------------------------------------------------------------


def test_all_memory_is_given_back(capsys, tmp_path):
    run(capsys, "--sim", "2xT4")
    assert list_ledgers(str(tmp_path / "ledgers")) == []


def test_interrupt_gives_memory_back(capsys, monkeypatch, tmp_path):
    def interrupt(values):
        raise KeyboardInterrupt

    break_download(monkeypatch, interrupt)
    assert main(["check", "--size", "64", "--sim", "2xT4"]) == 130
    assert list_ledgers(str(tmp_path / "ledgers")) == []


@pytest.mark.parametrize("is_eager", [True, False])
def test_state_of_the_caller_does_not_matter(capsys, sim, is_eager):
    expected = run(capsys, "--sim", "1xT4")
    sim("1xT4")
    before = set_eager(is_eager)
    graph = tf.Graph()
    try:
        with graph.as_default(), tf.device("/cpu:0"), tf.name_scope("mine"):
            assert run(capsys, "--sim", "1xT4") == expected
        assert graph.get_operations() == []
        assert tf.executing_eagerly() is is_eager
    finally:
        set_eager(before)


# --- the command and its page ---------------------------------------------------------------


@pytest.mark.parametrize("size", ["0", "-1", "8193", "1e3", "x", "²", "9" * 5000])
def test_size_is_a_sensible_number(capsys, size):
    with pytest.raises(SystemExit) as ended:
        main(["check", f"--size={size}"])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.endswith("is not a whole number from 1 to 8192\n")


def test_help_tells_the_exit_codes(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    assert " ".join(capsys.readouterr().out.split()).endswith(
        "Exit code: 0 if every visible GPU works, 1 if one does not or the check cannot be made, "
        "2 if the command is wrong, 3 if there is no GPU to compute on."
    )


def test_page_shows_what_is_printed(capsys, monkeypatch, no_driver, train):
    shown = re.findall(r"```\n\$ (\w+= )?berth check(.*?)\n(.*?)```", PAGE, re.S)
    assert len(shown) == 4
    for setting, options, output in shown:
        with monkeypatch.context() as environ:
            if setting:
                environ.setenv(setting.strip().rstrip("="), "")
            if "2xTesla K40c" in options:
                train("2xTesla K40c", visible="1")
            machine = re.search(r'--sim "(.*?)"', options)
            main(["check", *(["--sim", machine[1]] if machine else [])])
        lines = masked(capsys.readouterr().out)
        tail = re.search(r"tail -(\d+)", options)
        assert lines[-int(tail[1]) if tail else 0 :] == masked(output)
