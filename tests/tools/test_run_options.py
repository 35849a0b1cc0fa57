"""The options of `berth run`: what they do, and what counts more than they."""

from __future__ import annotations

import re
import signal

import pytest

from berth.backends.ledger import Ledger
from berth.backends.machine import Machine
from berth.tools.cli import main
from tests.tools.run_programs import BERTH, berth, start, write

# Prints what a program gets: its GPUs by their PCI bus, limits, and the two switches.
SEEN = """
import berth, os
import tensorflow as tf
def seen():
    tf.config.list_logical_devices()
    gpus = berth.config.memory_report().devices
    print("CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES"))
    for gpu in gpus:
        print(gpu.name, gpu.limit_bytes, "grows" if gpu.growth else "at once")
    print("soft", tf.config.get_soft_device_placement(), "log", tf.debugging.get_log_device_placement())
"""
SETS_ALL = """
import os, tensorflow as tf
[gpu] = tf.config.list_physical_devices("GPU")
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1000)])
tf.config.set_soft_device_placement(False)
tf.debugging.set_log_device_placement(False)
"""
GIB = 2**30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("options")
    write(path, {"seen.py": SEEN + "seen()\n", "sets.py": SETS_ALL + SEEN + "seen()\n"})
    return path


def test_options_reach_the_program(folder):
    ended = berth(
        folder, "run", "-v", "--sim", "3xT4", "--gpus", "2,0", "--memory=2GiB", "--growth", "--log-placement",
        "--soft", "--report", "seen.py",
    )  # fmt: skip
    assert ended.code == 0
    assert ended.out == (
        "CUDA_VISIBLE_DEVICES 2,0\n"
        f"GPU:0 {2 * GIB} grows\n"
        f"GPU:1 {2 * GIB} grows\n"
        "soft True log True\n"
    )
    assert ended.err == (
        "berth run: seen.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.\n"
        "berth run: CUDA_VISIBLE_DEVICES=2,0, as --gpus says.\n"
        "\ndevice  model     limit  reserved  most in use  in use at the end\n"
        "GPU:0   Tesla T4  2 GiB       0 B          0 B                0 B\n"
        "GPU:1   Tesla T4  2 GiB       0 B          0 B                0 B\n"
    )


def test_program_overrides_options(folder):
    options = ["--memory", "0.5", "--growth", "--log-placement", "--soft"]
    ended = berth(folder, "run", "--sim", "1xT4", *options, "sets.py")
    assert ended.out == (
        f"CUDA_VISIBLE_DEVICES None\nGPU:0 {1000 * 2**20} at once\nsoft False log False\n"
    )
    assert ended.err == (
        "BERTH_SOFT_PLACEMENT is overridden by set_soft_device_placement(False), which the program sets.\n"
        "BERTH_LOG_PLACEMENT is overridden by set_log_device_placement(False), which the program sets.\n"
        "BERTH_GROWTH is overridden by allow_growth=False, which the program sets.\n"
        "BERTH_MEMORY=0.5 is overridden by memory_limit=1000, which the program sets.\n"
    )


SAID = {
    "growth": (
        ["--growth"],
        "import tensorflow as tf\n[gpu] = tf.config.list_physical_devices('GPU')\n"
        "tf.config.experimental.set_memory_growth(gpu, False)\ntf.config.list_logical_devices()",
        "BERTH_GROWTH is overridden by allow_growth=False, which the program sets.\n",
    ),
    "fraction": (
        ["--memory", "4GiB"],
        "import tensorflow as tf\noptions = tf.GPUOptions(per_process_gpu_memory_fraction=0.2)\n"
        "tf.Session(config=tf.ConfigProto(gpu_options=options))",
        "BERTH_MEMORY=4GiB is overridden by per_process_gpu_memory_fraction=0.2, which the program sets.\n",
    ),
    "list of GPUs": (
        ["--gpus", "0,"],
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\nimport tensorflow as tf\ntf.config.list_physical_devices()",
        "--gpus (CUDA_VISIBLE_DEVICES=0) is overridden by CUDA_VISIBLE_DEVICES=, which the program sets.\n",
    ),
    "no GPU": (
        ["--gpus", "none"],
        "import os\ndel os.environ['CUDA_VISIBLE_DEVICES']\nimport tensorflow as tf\nassert tf.config.list_physical_devices('GPU')",
        "--gpus (CUDA_VISIBLE_DEVICES=) is overridden by all GPUs, which the program sets.\n",
    ),
    "growth in a ConfigProto": (
        ["--growth"],
        "import tensorflow as tf\nconfig = tf.ConfigProto()\nconfig.gpu_options.allow_growth = False\n"
        "with tf.Session(config=config): pass\nassert tf.config.memory_report().devices[0].growth is False",
        "BERTH_GROWTH is overridden by allow_growth=False, which the program sets.\n",
    ),
    "soft placement in a ConfigProto": (
        ["--soft"],
        "import tensorflow as tf\nwith tf.device('/gpu:7'): x = tf.constant(1.0)\n"
        "try: tf.Session(config=tf.ConfigProto(allow_soft_placement=False)).run(x)\n"
        "except tf.errors.InvalidArgumentError: pass\nelse: raise SystemExit('it was moved')",
        "BERTH_SOFT_PLACEMENT is overridden by allow_soft_placement=False, which the program sets.\n",
    ),
    "placement log in a ConfigProto": (
        ["--log-placement"],
        "import tensorflow as tf\nconfig = tf.ConfigProto(log_device_placement=False)\n"
        "tf.Session(config=config).run(tf.constant(1.0))",
        "BERTH_LOG_PLACEMENT is overridden by log_device_placement=False, which the program sets.\n",
    ),
    "nothing said": (["--gpus", "1", "--memory", "1GiB"], "import tensorflow as tf\ntf.config.list_logical_devices()", ""),
}  # fmt: skip


@pytest.mark.parametrize(("options", "program", "told"), SAID.values(), ids=SAID)
def test_what_is_overridden_is_logged(tmp_path, options, program, told):
    ended = berth(tmp_path, "run", "--sim", "1xT4", *options, "-c", program)
    assert ended == ("", told, 0)


def test_report_comes_however_it_ends(tmp_path):
    """It goes to standard error, after all that the program says, whose code stays."""
    program = "import tensorflow as tf\nx = tf.ones([1000])\nprint('done')\nraise SystemExit(3)"
    ended = berth(
        tmp_path, "run", "--sim", "1xT4", "--memory", "1GiB", "--report", "-c", program
    )
    assert (ended.out, ended.code) == ("done\n", 3)
    assert re.fullmatch(
        r"\ndevice  model     limit  reserved  most in use  in use at the end\n"
        r"GPU:0   Tesla T4  1 GiB +1 GiB +[\d.]+ KiB +[\d.]+ KiB\n",
        ended.err,
    )
    ended = berth(tmp_path, "run", "--report", "-c", "print(1)")
    assert ended == ("1\n", "\n<string> opened no GPU.\n", 0)


def test_report_is_not_for_forked_children(tmp_path):
    program = "import os\nif child := os.fork(): os.waitpid(child, 0)"
    ended = berth(tmp_path, "run", "--report", "-c", program)
    assert ended == ("", "\n<string> opened no GPU.\n", 0)


def test_children_inherit_the_options(folder):
    """Also what was claimed: the memory is theirs, though others count it as held."""
    write(
        folder,
        {
            "parent.py": "import multiprocessing, subprocess, sys\n"
            "def work():\n    import seen\n"
            "if __name__ == '__main__':\n"
            "    code = subprocess.run([sys.executable, 'seen.py']).returncode\n"
            "    for method in ('fork', 'spawn'):\n"
            "        child = multiprocessing.get_context(method).Process(target=work)\n"
            "        child.start(); child.join(); code = code or child.exitcode\n"
            "    sys.exit(code)\n"
        },
    )
    ended = berth(folder, "run", "--sim", "2xT4", "--gpus", "1", "--soft", "parent.py")
    assert (ended.err, ended.code) == ("", 0)
    [limit] = set(re.findall(r"GPU:0 (\d+) at once", ended.out))
    assert int(limit) > 13 * GIB
    printed = f"CUDA_VISIBLE_DEVICES 0\nGPU:0 {limit} at once\nsoft True log False\n"
    assert ended.out == printed * 3


# --- --gpus ---------------------------------------------------------------------------------

WRITE_IT = (
    "write the numbers of GPUs with commas between (0,2 or just 1,), how many (2), or none."
)
AMBIGUOUS = "--gpus 0 could mean two things: write '--gpus 0,' with a comma for the GPU with that number, or '--gpus none' for no GPU."
REFUSED = {
    "3": (1, "--gpus 3: this program would see 2 in all."),
    "99999999999999999999": (
        1,
        "--gpus 99999999999999999999: this program would see 2 in all.",
    ),
    "0,2": (1, "--gpus 0,2: there is no GPU 2, this program would see GPU:0-1."),
    "0": (2, AMBIGUOUS),
    "00": (2, AMBIGUOUS),
    "1,1": (2, "--gpus 1,1: name each GPU once."),
    "x": (2, f"--gpus 'x': {WRITE_IT}"),
    "": (2, f"--gpus '': {WRITE_IT}"),
    ",": (2, f"--gpus ',': {WRITE_IT}"),
    ",1": (2, f"--gpus ',1': {WRITE_IT}"),
    "0,,1": (2, f"--gpus '0,,1': {WRITE_IT}"),
    "1.5": (2, f"--gpus '1.5': {WRITE_IT}"),
    "²": (2, f"--gpus '²': {WRITE_IT}"),
    "all": (2, f"--gpus 'all': {WRITE_IT}"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stay in this process: what is refused is refused before anything runs."""
    for name in ("BERTH_SIM", "CUDA_VISIBLE_DEVICES", "BERTH_MEMORY", "BERTH_GROWTH"):
        monkeypatch.setenv(name, "")  # `berth run` sets them: so they are unset again
        monkeypatch.delenv(name)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("BERTH_LEDGER_DIR", str(tmp_path))
    return tmp_path


def refusal(capsys, *words: str) -> tuple[int, str]:
    try:
        code = main(["run", *words, "-c", "raise AssertionError('it runs')"])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


@pytest.mark.parametrize("text", REFUSED)
def test_wrong_gpus_are_refused(here, capsys, text):
    code, told = REFUSED[text]
    assert refusal(capsys, "--sim", "2xT4", "--gpus", text) == (code, f"berth run: {told}\n")


UNSEEN = {
    "CUDA_VISIBLE_DEVICES": ("", "CUDA_VISIBLE_DEVICES is empty"),
    "TF_ENABLED_DEVICE_TYPES": ("CPU", "TF_ENABLED_DEVICE_TYPES names no GPU"),
    "TF_MIN_GPU_MULTIPROCESSOR_COUNT": (
        "100",
        "it has 40 multiprocessors, fewer than 100 (TF_MIN_GPU_MULTIPROCESSOR_COUNT)",
    ),
}


@pytest.mark.parametrize("gpus", ["1", "0,"])
@pytest.mark.parametrize("name", UNSEEN)
def test_hidden_gpus_are_refused(here, capsys, monkeypatch, name, gpus):
    value, reason = UNSEEN[name]
    monkeypatch.setenv(name, value)
    assert refusal(capsys, "--sim", "2xT4", "--gpus", gpus) == (
        1,
        f"berth run: --gpus {gpus}: this program would see no GPU.\n"
        f"  Hidden 0000:02:00.0, 0000:03:00.0: {reason}.\n",
    )


def test_gpus_are_refused_without_any(here, capsys):
    assert refusal(capsys, "--gpus", "1") == (
        1,
        "berth run: --gpus 1: this program would see no GPU.\n"
        "  This machine has none that berth can use: --sim 2xT4 gives it two simulated ones.\n",
    )
    assert refusal(capsys, "--gpus", "x") == (2, f"berth run: --gpus 'x': {WRITE_IT}\n")


# The K20m has 13 multiprocessors, and comes first.
SMALL_FIRST = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "TF_MIN_GPU_MULTIPROCESSOR_COUNT": "14"}
IGNORED = {
    "2": "--gpus 2: this program would see 1 in all.",
    "0,": "--gpus 0,: there is no GPU 0, this program would see GPU:1.",
}


@pytest.mark.parametrize("gpus", IGNORED)
def test_ignored_gpus_are_refused(here, capsys, monkeypatch, gpus):
    for name, value in SMALL_FIRST.items():
        monkeypatch.setenv(name, value)
    assert refusal(capsys, "--sim", "1xK20m,1xT4", "--gpus", gpus) == (
        1,
        f"berth run: {IGNORED[gpus]}\n"
        "  Hidden 0000:02:00.0: it has 13 multiprocessors, fewer than 14 "
        "(TF_MIN_GPU_MULTIPROCESSOR_COUNT).\n",
    )


def test_ignored_gpus_are_not_chosen(folder):
    """Not even if they have more free memory."""
    words = ["--sim", "1xK20m,1xT4:2GiB", "--gpus", "1", "seen.py"]
    seen = berth(folder, "run", *words, **SMALL_FIRST).out.splitlines()
    assert (seen[0], len(seen)) == ("CUDA_VISIBLE_DEVICES 1", 3)


def test_gpus_are_among_the_visible(here, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    told = (
        "berth run: --gpus 0,3: there is no GPU 3, this program would see GPU:0.\n"
        "  Hidden 0000:02:00.0, 0000:03:00.0, 0000:83:00.0: CUDA_VISIBLE_DEVICES=3.\n"
    )
    assert refusal(capsys, "--sim", "4xT4", "--gpus", "0,3") == (1, told)


MEMORY = {
    "0": "Cannot read '0' as a share: write a size like 4GiB, or a part like 0.4.",
    "4": "Cannot read '4' as a share: write a size like 4GiB, or a part like 0.4.",
    "nan": "Cannot read 'nan' as a share: write a size like 4GiB, or a part like 0.4.",
    "0GiB": "Cannot read '0GiB' as a share: write a size like 4GiB, or a part like 0.4.",
    "50%": "Cannot read '50%' as a share: write a size like 4GiB, or a part like 0.4.",
}


@pytest.mark.parametrize("text", MEMORY)
def test_wrong_memory_is_refused(here, capsys, text):
    code, err = refusal(capsys, "--memory", text)
    assert (code, err.splitlines()[1]) == (
        2,
        f"berth run: error: argument --memory: {MEMORY[text]}",
    )


def test_wrong_machine_is_refused(here, capsys):
    code, err = refusal(capsys, "--sim", "4xFoo")
    assert code == 2
    assert err.startswith(
        "berth run: Cannot simulate '4xFoo': no profile is called 'Foo'. Nearest:"
    )


VISIBLE = {
    "count": (["--gpus", "2"], {}, "0,1"),
    "count of the visible": (["--gpus", "1"], {"CUDA_VISIBLE_DEVICES": "3,2"}, "3"),
    "list of the visible": (["--gpus", "1,"], {"CUDA_VISIBLE_DEVICES": "3,2"}, "2"),
    "spaces": (["--gpus", " 3 , 1 "], {}, "3,1"),
    "none": (["--gpus", "none"], {"CUDA_VISIBLE_DEVICES": "3,2"}, ""),
    "not said": ([], {"CUDA_VISIBLE_DEVICES": "3,2"}, "3,2"),
}
SAYS_VISIBLE = "import os; print(repr(os.environ.get('CUDA_VISIBLE_DEVICES')))"


@pytest.mark.parametrize(("options", "environ", "visible"), VISIBLE.values(), ids=VISIBLE)
def test_gpus_become_visible_devices(tmp_path, options, environ, visible):
    ended = berth(tmp_path, "run", "--sim", "4xT4", *options, "-c", SAYS_VISIBLE, **environ)
    assert ended == (f"{visible!r}\n", "", 0)


# --- reserved at once -----------------------------------------------------------------------

HOLDS = f"{SAYS_VISIBLE}; print(flush=True); input()"
OPENS = f"import tensorflow as tf; tf.config.list_logical_devices(); {HOLDS}"


@pytest.fixture
def holders(tmp_path):
    """Start programs that stay until they are told to go: ``holders("--gpus", "1", code)``."""
    started = []

    def begin(*words: str, wait: bool = True):
        process = start([*BERTH, "run", "--sim", "3xT4", *words], tmp_path)
        started.append(process)
        return said(process) if wait else process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def said(process) -> str:
    """Return what a program says once it has its GPUs."""
    answer = process.stdout.readline().strip()
    assert process.stdout.readline() == "\n", process.communicate()[1]
    return answer.strip("'")


@pytest.fixture
def used(tmp_path):
    """Ask how many GiB of each card are held: ``used()``."""
    (tmp_path / ".ledgers").mkdir(mode=0o700)
    ledger = Ledger.open(Machine.parse("3xT4"), tmp_path / ".ledgers")
    yield lambda: [round(ledger.used(card) / GIB, 1) for card in range(3)]
    ledger.close()


@pytest.mark.parametrize("program", [HOLDS, OPENS], ids=["claims", "opens"])
def test_programs_at_once_get_different_gpus(holders, used, tmp_path, program):
    """Three start together, on three GPUs; the fourth is told who holds them."""
    together = [holders("--gpus", "1", "-c", program, wait=False) for _ in range(3)]
    assert sorted(map(said, together)) == ["0", "1", "2"]
    assert used() == [13.7, 13.7, 13.7]

    refused = berth(tmp_path, "run", "--sim", "3xT4", "--gpus", "1", "-c", "pass")
    assert (refused.out, refused.code) == ("", 1)
    told = refused.err.splitlines()
    assert told[0] == "berth run: --gpus 1: none of the GPUs here has room enough."
    assert told[1] == ("  GPU:0 (Tesla T4): 930 MiB of 14.74 GiB free")
    assert re.match(
        r"    pid \d+ \(berth run --sim 3xT4 --gpus 1 -c .*\) holds 13\.72 GiB", told[2]
    )
    assert told[-1] == (
        "  Ask for fewer, for less memory each (--memory 1GiB, --growth), or wait."
    )

    # One that is killed, even while it has only a claim, leaves its GPU to the next.
    together[1].kill()
    together[1].wait()
    assert used().count(0.0) == 1
    free = str(used().index(0.0))
    assert holders("--gpus", "1", "-c", program) == free


def test_claims_follow_memory_and_growth(holders, used):
    assert holders("--gpus", "2", "--memory", "4GiB", "-c", HOLDS) == "0,1"
    assert used() == [4.1, 4.1, 0.0]
    assert holders("--gpus", "1", "--memory", "0.5", "-c", HOLDS) == "2"
    assert used() == [4.1, 4.1, 7.5]
    assert holders("--gpus", "1", "--growth", "-c", HOLDS) == "0"
    assert used() == [4.2, 4.1, 7.5]
    assert holders("--gpus", "1", "--growth", "-c", OPENS) == "1"
    assert used() == [4.2, 4.2, 7.5]


def test_claim_is_given_back_if_less_is_taken(holders, used):
    takes_less = (
        "import tensorflow as tf; gpus = tf.config.list_physical_devices('GPU')\n"
        "tf.config.set_visible_devices(gpus[1], 'GPU')\n"
        "tf.config.set_logical_device_configuration(gpus[1], [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])\n"
    )
    assert holders("--gpus", "3", "-c", takes_less + OPENS) == "0,1,2"
    assert used() == [0.0, 1.1, 0.0]


def test_other_gpus_than_chosen_free_the_claim(holders, used):
    chooses = "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '2'\n"
    assert holders("--gpus", "1", "-c", chooses + OPENS) == "2"
    assert used() == [0.0, 0.0, 13.7]


def test_none_are_claimed_of_too_few(used, tmp_path, holders):
    assert holders("--gpus", "2", "-c", HOLDS) == "0,1"
    refused = berth(tmp_path, "run", "--sim", "3xT4", "--gpus", "2", "-c", "pass")
    assert refused.err.startswith(
        "berth run: --gpus 2: only 1 of the 3 GPUs here has room enough.\n"
    )
    assert used() == [13.7, 13.7, 0.0]
    small = berth(
        tmp_path, "run", "--sim", "3xT4", "--gpus", "2", "--memory", "2GiB", "-c", "pass"
    )
    told = "berth run: --gpus 2: only 1 of the 3 GPUs here has room for 2GiB.\n"
    assert (small.err.startswith(told), small.code) == (True, 1)
    part = berth(tmp_path, "run", "--sim=3xT4", "--gpus=2", "--memory=0.9", "-c", "pass")
    told = "berth run: --gpus 2: only 1 of the 3 GPUs here has 0.9 of its memory free.\n"
    assert (part.err.startswith(told), part.code) == (True, 1)


def test_forced_growth_claims_little(tmp_path):
    words = ["--sim", "1xT4", "--gpus", "1", "-v", "-c", ""]
    ended = berth(tmp_path, "run", *words, TF_FORCE_GPU_ALLOW_GROWTH="true")
    assert ended.err.splitlines()[-1] == (
        "berth run: CUDA_VISIBLE_DEVICES=0: most memory is free there, and 120 MiB is reserved "
        "now."
    )


def test_more_than_a_card_is_all_of_it(used, holders):
    assert holders("--gpus", "1", "--memory", "40GiB", "-c", HOLDS) == "0"
    assert holders("--gpus", "1", "--memory", "1.0", "-c", HOLDS) == "1"
    assert used() == [14.7, 14.7, 0.0]


def test_claim_ends_with_the_program(used, tmp_path):
    ended = [
        berth(tmp_path, "run", "--sim", "3xT4", "--gpus", "3", "-c", code).code
        for code in ("raise SystemExit(2)", "import os; os.abort()")
    ]
    assert ended == [2, -signal.SIGABRT]
    assert used() == [0.0, 0.0, 0.0]


def test_shared_card_is_reported(tmp_path, holders):
    asked = ("--gpus", "3", "--memory", "4GiB", "-c")
    assert holders(*asked, HOLDS) == "0,1,2"
    second = berth(
        tmp_path, "run", "--sim", "3xT4", "--gpus", "1", "--memory", "4GiB", "-c", "pass"
    )
    assert second.code == 0
    assert re.match(
        r"berth run: --gpus 1: GPU \d is shared, since no other is free\. pid \d+ \(",
        second.err,
    )
