"""Documents 000, 001, 003 and 004: their programs, word for word, with sections 4, 6.6 and 7.1.

Each program runs in a process of its own, on the machine of its document, with
`import berth.compat.v1 as tf` before it. Three things of the printed pages are read with
care: lines that a page had wrapped are one line, a literal `...` among arguments is left
out, and NumPy aligns a matrix otherwise today. Document 004 is older than 003 and writes
`/gpu:0` in its log; berth's log is that of 003.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import berth.compat.v1 as tf
from tests.parity.programs import run, run_in_shell

IMPORT = "import berth.compat.v1 as tf\n"
K40C = "1xTesla K40c"
K20M = "4xTesla K20m"
MIB = 1 << 20
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    """Read a program of examples/, without its import and the comment above that."""
    text = (EXAMPLES / f"{name}.py").read_text()
    return text.partition("import tensorflow as tf\n")[2].lstrip("\n")


# --- document 001 ---------------------------------------------------------------------------

CHECK_001 = """\
import numpy
import berth.compat.v1 as tf
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
print(sess.run(c))
"""
KEY_001 = """\
import berth.compat.v1 as tf
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
"""

# --- document 003 ---------------------------------------------------------------------------

LOGGING_003 = example("log_placement")
MANUAL_003 = example("place_by_hand")
MISSING_003 = example("one_of_many")
SOFT_003 = example("soft_placement")
TOWERS_003 = example("towers")

# --- document 004 ---------------------------------------------------------------------------


def as_in_004(program):
    """Write a program of document 003 as 004 has it: older names, indented by four."""
    deeper = re.sub(r"^( +)(?! |allow)", r"\1\1", program, flags=re.M)
    return deeper.replace("/device:GPU:", "/gpu:").replace("      allow_soft", "    allow_soft")


LOGGING_004 = as_in_004(LOGGING_003)
MANUAL_004 = as_in_004(MANUAL_003)
MISSING_004 = as_in_004(MISSING_003)
SOFT_004 = as_in_004(SOFT_003)
TOWERS_004 = as_in_004(TOWERS_003)

# --- what they print: document 003 ----------------------------------------------------------

MAPPING = """\
Device mapping:
/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus
id: 0000:05:00.0
"""
ON_GPU = """\
b: /job:localhost/replica:0/task:0/device:GPU:0
a: /job:localhost/replica:0/task:0/device:GPU:0
MatMul: /job:localhost/replica:0/task:0/device:GPU:0
"""
INPUTS_ON_CPU = """\
b: /job:localhost/replica:0/task:0/cpu:0
a: /job:localhost/replica:0/task:0/cpu:0
MatMul: /job:localhost/replica:0/task:0/device:GPU:0
"""
PRODUCT = """\
[[ 22.  28.]
 [ 49.  64.]]
"""
FOUR_GPUS = """\
Device mapping:
/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K20m, pci bus
id: 0000:02:00.0
/job:localhost/replica:0/task:0/device:GPU:1 -> device: 1, name: Tesla K20m, pci bus
id: 0000:03:00.0
/job:localhost/replica:0/task:0/device:GPU:2 -> device: 2, name: Tesla K20m, pci bus
id: 0000:83:00.0
/job:localhost/replica:0/task:0/device:GPU:3 -> device: 3, name: Tesla K20m, pci bus
id: 0000:84:00.0
"""
TOWERS = """\
Const_3: /job:localhost/replica:0/task:0/device:GPU:3
Const_2: /job:localhost/replica:0/task:0/device:GPU:3
MatMul_1: /job:localhost/replica:0/task:0/device:GPU:3
Const_1: /job:localhost/replica:0/task:0/device:GPU:2
Const: /job:localhost/replica:0/task:0/device:GPU:2
MatMul: /job:localhost/replica:0/task:0/device:GPU:2
AddN: /job:localhost/replica:0/task:0/cpu:0
[[  44.   56.]
 [  98.  128.]]
"""

PROGRAMS = {
    "001, is it a GPU": (CHECK_001, K40C, MAPPING + ON_GPU + PRODUCT),
    "001, the key to it": (KEY_001, K40C, MAPPING),
    "003, logging": (LOGGING_003, K40C, MAPPING + ON_GPU + PRODUCT),
    "003, manual placement": (MANUAL_003, K40C, MAPPING + INPUTS_ON_CPU + PRODUCT),
    "003, soft placement": (SOFT_003, K40C, MAPPING + ON_GPU + PRODUCT),
    "003, multiple GPUs": (TOWERS_003, K20M, FOUR_GPUS + TOWERS),
    "004, logging": (LOGGING_004, K40C, MAPPING + ON_GPU + PRODUCT),
    "004, manual placement": (MANUAL_004, K40C, MAPPING + INPUTS_ON_CPU + PRODUCT),
    "004, soft placement": (SOFT_004, K40C, MAPPING + ON_GPU + PRODUCT),
    "004, multiple GPUs": (TOWERS_004, K20M, FOUR_GPUS + TOWERS),
}
MISSING = {"003": (MISSING_003, "/device:GPU:2"), "004": (MISSING_004, "/gpu:2")}
SOFT = {"003": SOFT_003, "004": SOFT_004}


def unwrapped(page):
    """Join the lines that a page had wrapped."""
    return page.replace("pci bus\nid:", "pci bus id:")


def unaligned(text):
    """Write matrices with one space between numbers; leave every other line alone."""
    lines = text.split("\n")
    return "\n".join(
        re.sub(r" +", " ", line).replace("[ ", "[") if line.lstrip().startswith("[") else line
        for line in lines
    )


@pytest.mark.parametrize(("program", "machine", "page"), PROGRAMS.values(), ids=PROGRAMS)
def test_program_prints_its_page(program, machine, page):
    printed = run(IMPORT + program, BERTH_SIM=machine)
    assert unaligned(printed) == unaligned(unwrapped(page))


@pytest.mark.parametrize(
    ("program", "machine"),
    [(LOGGING_003, "4xTesla K20m"), (MISSING_003, "4xTesla K20m"), (MISSING_004, "3xT4")],
    ids=["lowest of four", "third of four", "third of three"],
)
def test_chosen_gpu_does_the_work(program, machine):
    """Documents 003 and 004: the lowest id by default, another if it is asked for."""
    lines = run(IMPORT + program, BERTH_SIM=machine).splitlines()
    gpu = "GPU:0" if program is LOGGING_003 else "GPU:2"
    place = f"/job:localhost/replica:0/task:0/device:{gpu}"
    assert lines[-5:-2] == [f"b: {place}", f"a: {place}", f"MatMul: {place}"]


def test_log_without_gpus():
    """Section 7.1: no device has a description."""
    printed = run(IMPORT + LOGGING_003, CUDA_VISIBLE_DEVICES="")
    cpu = "/job:localhost/replica:0/task:0/cpu:0"
    logged = f"Device mapping: no known devices.\nb: {cpu}\na: {cpu}\nMatMul: {cpu}\n"
    assert unaligned(printed) == unaligned(logged + PRODUCT)


def test_later_runs_log_nothing():
    """Section 7.1: once for each placement."""
    printed = run(
        IMPORT + LOGGING_003 + "print(sess.run(c))\nsess.run([c, a])\n", BERTH_SIM=K40C
    )
    assert unaligned(printed) == unaligned(unwrapped(MAPPING + ON_GPU + PRODUCT + PRODUCT))


def test_nothing_is_logged_unasked():
    """Section 7.1: log_device_placement is off by default."""
    quiet = LOGGING_003.replace("config=tf.ConfigProto(log_device_placement=True)", "")
    assert unaligned(run(IMPORT + quiet, BERTH_SIM=K40C)) == unaligned(PRODUCT)


# --- the device that does not exist ---------------------------------------------------------


@pytest.fixture
def script(tmp_path):
    """Save a program as a script; return the line of shell that runs it."""

    def save(program):
        path = tmp_path / "my_script.py"
        path.write_text(IMPORT + program)
        return f'"$PYTHON" {path}'

    return save


@pytest.mark.parametrize(("program", "asked"), MISSING.values(), ids=MISSING)
def test_missing_device_is_an_error(program, asked):
    """Documents 003 and 004; section 6.6."""
    caught = (
        f"try:\n  exec({program!r})\n"
        "except tf.errors.InvalidArgumentError as error:\n"
        "  print(error.op.name, error.error_code)\n"
        "  print(error)\n"
    )
    printed = run(IMPORT + caught, BERTH_SIM=K40C)
    assert printed.startswith(
        unwrapped(MAPPING) + "b 3\n"
        f"Cannot assign a device to node 'b': Could not satisfy explicit device specification '{asked}'\n"
        f'\t [[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, _device="{asked}"]()]]\n'
    )


@pytest.mark.parametrize(("program", "asked"), MISSING.values(), ids=MISSING)
def test_missing_device_is_reported_once(script, program, asked):
    """Documents 003 and 004: the program ends with one error, that of node 'b'."""
    told = run_in_shell(f"{script(program)} 2>&1 >/dev/null; test $? = 1", BERTH_SIM=K40C)
    assert told.startswith("Traceback (most recent call last):\n")
    assert (
        "InvalidArgumentError: Cannot assign a device to node 'b': "
        f"Could not satisfy explicit device specification '{asked}'\n" in told
    )
    assert told.count("InvalidArgumentError") == 1


@pytest.mark.parametrize("program", SOFT.values(), ids=SOFT)
def test_soft_placement_warns_of_moves(script, program):
    """Documents 003 and 004 say nothing of it; berth does not fall back in silence."""
    told = run_in_shell(f"{script(program)} 2>&1 >/dev/null", BERTH_SIM=K40C)
    first, *moved = [
        line for line in told.splitlines() if not line.lstrip().startswith("print")
    ]
    assert "my_script.py:12: BerthWarning: Soft placement moved 3 operations" in first
    assert sorted(line.split()[0] for line in moved) == ["MatMul", "a", "b"]
    assert all("asked for /device:GPU:2, runs on GPU:0" in line for line in moved)


def test_soft_placement_finds_no_gpu(script):
    """Section 6.4: where there is no GPU at all, on the CPU."""
    line = f"{script(SOFT_003)} 2>/dev/null"
    printed = run_in_shell(line, CUDA_VISIBLE_DEVICES="").splitlines()
    assert printed[0] == "Device mapping: no known devices."
    assert {line.split(": ")[1] for line in printed[1:4]} == {
        "/job:localhost/replica:0/task:0/cpu:0"
    }


# --- memory ---------------------------------------------------------------------------------

FRACTION_000 = """\
config = tf.ConfigProto()
config.gpu_options.per_process_gpu_memory_fraction = 0.4
session = tf.Session(config=config)
"""
GPU_FRACTION_000 = """\
gpu_fraction = 0.1
gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=gpu_fraction)
sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))
"""
SEVEN_TENTHS_000 = """\
gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.7)
sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))
"""
GROWTH_000 = """\
gpu_options = tf.GPUOptions(allow_growth=True)
sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))
"""
GROWTH_003 = """\
config = tf.ConfigProto()
config.gpu_options.allow_growth = True
session = tf.Session(config=config)
"""
DEFAULT = "sess = tf.Session()\n"

# Documents 001, 003 and 004 repeat those of 000, word for word.
FRACTIONS = {
    "000, 003 and 004: 0.4": (FRACTION_000, 0.4),
    "000: 0.1": (GPU_FRACTION_000, 0.1),
    "000 and 001: 0.7": (SEVEN_TENTHS_000, 0.7),
}
GROWTH = {"000 and 001": GROWTH_000, "003 and 004": GROWTH_003}

REPORT = """
def report():
  for gpu in tf.config.memory_report().devices:
    print(gpu.name, gpu.limit_bytes, gpu.growth, gpu.reserved_bytes)
report()
"""
LIMITS = """
for device in (sess if 'sess' in globals() else session).list_devices():
  if device.device_type == 'GPU':
    print(device.memory_limit_bytes)
"""


def card_bytes(sim, machine):
    """Return how much memory the first GPU of a machine has."""
    return sim(machine).devices.gpu_backend.devices()[0].memory_bytes


@pytest.mark.parametrize("machine", [K40C, "2xT4"])
@pytest.mark.parametrize(("program", "fraction"), FRACTIONS.values(), ids=FRACTIONS)
def test_fraction_bounds_the_memory(sim, program, fraction, machine):
    """Document 000: the card's memory times the fraction; section 4.1: truncated."""
    limit = int(card_bytes(sim, machine) * fraction)
    n_gpus = int(machine[0])
    rows = run(IMPORT + program + REPORT + LIMITS, BERTH_SIM=machine).splitlines()
    for index in range(n_gpus):
        name, limit_bytes, growth, reserved_bytes = rows[index].split()
        assert (name, int(limit_bytes), growth) == (f"GPU:{index}", limit, "False")
        # Regions are of whole units (section 5.1), and taken at once.
        assert limit - MIB < int(reserved_bytes) <= limit
    assert rows[n_gpus:] == [str(limit)] * n_gpus


def test_fraction_is_a_true_bound():
    """Documents 003 and 004: "truly bound the amount of GPU memory"; section 5.11."""
    large = """
with tf.device('/gpu:0'):
  x = tf.zeros([20000, 20000]) + tf.placeholder(tf.float32, [])
try:
  sess.run(x, {x.op.inputs[1]: 1.0})
except tf.errors.ResourceExhaustedError as error:
  print(str(error).splitlines()[0])
print(sess.run(tf.constant(2.0) + 1.0))
"""
    printed = run(IMPORT + GPU_FRACTION_000 + large, BERTH_SIM=K40C).splitlines()
    assert printed[0].startswith(
        "OOM when allocating tensor with shape[20000,20000] and type float on "
    )
    assert printed[0].endswith(
        "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    )
    assert printed[1:] == ["3.0"]


@pytest.mark.parametrize("program", GROWTH.values(), ids=GROWTH)
def test_growth_starts_small(program):
    """Documents 000, 001, 003 and 004: "it starts out allocating very little memory"."""
    rows = run(IMPORT + program + REPORT, BERTH_SIM=K40C).splitlines()
    assert len(rows) == 1
    name, limit_bytes, growth, reserved_bytes = rows[0].split()
    assert (name, growth) == ("GPU:0", "True")
    assert int(limit_bytes) > 10_000 * MIB
    assert int(reserved_bytes) <= 2 * MIB


def test_growth_takes_what_is_needed():
    """Documents 003 and 004: more "as Sessions get run", and none is released."""
    growing = """
small = tf.Variable(tf.ones([10]))
large = tf.Variable(tf.ones([4000, 1000]))
sess.run(small.initializer)
report()
sess.run(large.initializer)
report()
sess.close()
report()
"""
    printed = run(IMPORT + GROWTH_000 + REPORT + growing, BERTH_SIM=K40C)
    _, small, large, closed = (int(row.split()[3]) for row in printed.splitlines())
    assert small == 2 * MIB  # section 4.2
    assert 16_000_000 < large < 128 * MIB
    assert closed == large


def test_session_takes_nearly_all(sim):
    """Documents 000 and 003: as much as possible by default; section 4.1: but 500 MiB."""
    row = run(IMPORT + DEFAULT + REPORT, BERTH_SIM=K40C).split()
    total = card_bytes(sim, K40C)
    assert row[2] == "False"
    assert total - 1024 * MIB < int(row[1]) <= total - 500 * MIB
    assert int(row[1]) - MIB < int(row[3]) <= int(row[1])


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        (tf.ConfigProto(), DEFAULT, "ResourceExhaustedError"),
        (tf.ConfigProto(), GROWTH_000, "runs"),
        (
            tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.4)),
            FRACTION_000,
            "runs",
        ),
        (
            tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True)),
            SEVEN_TENTHS_000,
            "runs",
        ),
    ],
    ids=["all, all", "all, growth", "0.4, 0.4", "growth, 0.7"],
)
def test_two_programs_share_a_card(sim, first, second, printed):
    """Document 000: who takes all of a GPU leaves nothing to another program."""
    sim(K40C)
    attempt = f"try:\n  exec({second!r})\n  print('runs')\nexcept tf.errors.OpError as error:\n  print(type(error).__name__)\n"
    with tf.Graph().as_default(), tf.Session(config=first):
        assert run(IMPORT + attempt, BERTH_SIM=K40C) == printed + "\n"


# --- CUDA_VISIBLE_DEVICES -------------------------------------------------------------------

BUSES = ["0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0"]

# Documents 000 and 001: as it is typed in a terminal, and the GPUs that will be seen.
VISIBLE = {
    "CUDA_VISIBLE_DEVICES=1": [1],
    "CUDA_VISIBLE_DEVICES=0,1": [0, 1],
    'CUDA_VISIBLE_DEVICES="0,1"': [0, 1],
    "CUDA_VISIBLE_DEVICES=0,2,3": [0, 2, 3],
    'CUDA_VISIBLE_DEVICES=""': [],
    # The other settings in their text.
    "CUDA_VISIBLE_DEVICES=0": [0],
    'CUDA_VISIBLE_DEVICES="2"': [2],
}


def visible_page(visible):
    """Write what the first program of 003 prints where these of four GPUs are seen."""
    mapped = [
        f"/job:localhost/replica:0/task:0/device:GPU:{index} -> device: {index}, name: Tesla K20m, pci bus id: {BUSES[gpu]}\n"
        for index, gpu in enumerate(visible)
    ]
    if not mapped:
        return (
            "Device mapping: no known devices.\n"
            + ON_GPU.replace("device:GPU", "cpu")
            + PRODUCT
        )
    return "Device mapping:\n" + "".join(mapped) + ON_GPU + PRODUCT


@pytest.mark.parametrize(("setting", "visible"), VISIBLE.items(), ids=VISIBLE)
def test_terminal_chooses_the_gpus(script, setting, visible):
    """Documents 000 and 001: `CUDA_VISIBLE_DEVICES=1 python my_script.py`."""
    printed = run_in_shell(f"{setting} {script(LOGGING_003)}", BERTH_SIM=K20M)
    assert unaligned(printed) == unaligned(visible_page(visible))


@pytest.mark.parametrize(
    ("setting", "visible"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"]="0"', [0]),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2"', [2]),
    ],
    ids=["000", "001"],
)
def test_python_chooses_the_gpus(setting, visible):
    """Documents 000 and 001, in the code; section 3.1: before the first use."""
    printed = run(f"import os\n{setting}\n{IMPORT}{LOGGING_003}", BERTH_SIM=K20M)
    assert unaligned(printed) == unaligned(visible_page(visible))


def test_masked_gpu_cannot_be_asked():
    """Documents 000 and 001: "device 1 is masked", so three GPUs are left of four."""
    program = LOGGING_003.replace("\na = ", "\nwith tf.device('/gpu:3'): a = ")
    attempt = f"try:\n  exec({program!r})\nexcept tf.errors.InvalidArgumentError as error:\n  print(error)\n"
    printed = run(IMPORT + attempt, BERTH_SIM=K20M, CUDA_VISIBLE_DEVICES="0,2,3")
    assert (
        "\nCannot assign a device to node 'a': Could not satisfy explicit device specification '/gpu:3'\n"
        in printed
    )
