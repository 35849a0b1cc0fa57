"""Document 002: its three programs, word for word, with sections 2.2 and 2.3.

Each program runs in a process of its own, with nothing but `import berth as tf` before
it: without a GPU, with one, with four, and again after the devices were opened otherwise.
"""

from __future__ import annotations

import pytest

from tests.parity.programs import run

IMPORT = "import berth as tf\n"

FIRST_GPU_ONLY = """\
gpus = tf.config.list_physical_devices('GPU')
if gpus:
  # Restrict TensorFlow to only use the first GPU
  try:
    tf.config.set_visible_devices(gpus[0], 'GPU')
    logical_gpus = tf.config.list_logical_devices('GPU')
    print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPU")
  except RuntimeError as e:
    # Visible devices must be set before GPUs have been initialized
    print(e)
"""

MEMORY_GROWTH = """\
gpus = tf.config.list_physical_devices('GPU')
if gpus:
  try:
    # Currently, memory growth needs to be the same across GPUs
    for gpu in gpus:
      tf.config.experimental.set_memory_growth(gpu, True)
    logical_gpus = tf.config.list_logical_devices('GPU')
    print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
  except RuntimeError as e:
    # Memory growth must be set before GPUs have been initialized
    print(e)
"""

MEMORY_LIMIT = """\
gpus = tf.config.list_physical_devices('GPU')
if gpus:
  # Restrict TensorFlow to only allocate 1GB of memory on the first GPU
  try:
    tf.config.set_logical_device_configuration(
        gpus[0],
        [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)])
    logical_gpus = tf.config.list_logical_devices('GPU')
    print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
  except RuntimeError as e:
    # Virtual devices must be set before GPUs have been initialized
    print(e)
"""

PROGRAMS = {
    "first GPU": FIRST_GPU_ONLY,
    "memory growth": MEMORY_GROWTH,
    "memory limit": MEMORY_LIMIT,
}

PRINTED = {
    ("first GPU", None): "",
    ("first GPU", "1xT4"): "1 Physical GPUs, 1 Logical GPU\n",
    ("first GPU", "4xTesla K20m"): "4 Physical GPUs, 1 Logical GPU\n",
    ("memory growth", None): "",
    ("memory growth", "1xT4"): "1 Physical GPUs, 1 Logical GPUs\n",
    ("memory growth", "4xTesla K20m"): "4 Physical GPUs, 4 Logical GPUs\n",
    ("memory limit", None): "",
    ("memory limit", "1xT4"): "1 Physical GPUs, 1 Logical GPUs\n",
    ("memory limit", "4xTesla K20m"): "4 Physical GPUs, 4 Logical GPUs\n",
}

# What a program did before, so that its devices are open in another configuration.
OPENED = "tf.config.list_logical_devices()\n"
HIDDEN = "tf.config.set_visible_devices([], 'GPU')\n" + OPENED
NO_GROWTH = (
    "for gpu in tf.config.list_physical_devices('GPU'):\n"
    "  tf.config.experimental.set_memory_growth(gpu, False)\n" + OPENED
)
HALVES = (
    "tf.config.set_logical_device_configuration(\n"
    "    tf.config.list_physical_devices('GPU')[0],\n"
    "    [tf.config.LogicalDeviceConfiguration(memory_limit=512)] * 2)\n" + OPENED
)

VISIBLE = "Visible devices cannot be modified after being initialized"
PHYSICAL = "Physical devices cannot be modified after being initialized"
VIRTUAL = "Virtual devices cannot be modified after being initialized"

TOO_LATE = {
    "first GPU, all open": ("first GPU", OPENED, "4xTesla K20m", VISIBLE),
    "first GPU, none open": ("first GPU", HIDDEN, "1xT4", VISIBLE),
    "first GPU of 4, none open": ("first GPU", HIDDEN, "4xTesla K20m", VISIBLE),
    "memory growth, unset": ("memory growth", OPENED, "1xT4", PHYSICAL),
    "memory growth of 4, unset": ("memory growth", OPENED, "4xTesla K20m", PHYSICAL),
    "memory growth, off": ("memory growth", NO_GROWTH, "4xTesla K20m", PHYSICAL),
    "memory limit, unset": ("memory limit", OPENED, "1xT4", VIRTUAL),
    "memory limit of 4, unset": ("memory limit", OPENED, "4xTesla K20m", VIRTUAL),
    "memory limit, halves": ("memory limit", HALVES, "1xT4", VIRTUAL),
}


def run_on(machine, program):
    """Run a program on a machine; without one, hide whatever GPUs are really there."""
    environ = {"CUDA_VISIBLE_DEVICES": ""} if machine is None else {"BERTH_SIM": machine}
    return run(IMPORT + program, **environ)


@pytest.mark.parametrize(("name", "machine"), PRINTED)
def test_program_prints_its_gpus(name, machine):
    """Document 002."""
    assert run_on(machine, PROGRAMS[name]) == PRINTED[name, machine]


@pytest.mark.parametrize(
    ("name", "before", "machine", "message"), TOO_LATE.values(), ids=TOO_LATE
)
def test_program_comes_too_late(name, before, machine, message):
    """Document 002, the `except RuntimeError` branch, with the texts of section 2.3."""
    printed = run_on(machine, before + PROGRAMS[name])
    assert printed.split("\n")[0] == message


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("machine", ["1xT4", "4xTesla K20m"])
def test_program_may_run_again(name, machine):
    """Section 2.3: setting what is set already is a no-op after initialisation."""
    assert run_on(machine, PROGRAMS[name] * 2) == PRINTED[name, machine] * 2


def test_one_gpu_is_never_late():
    """Section 2.3: the only GPU is visible already, so the first program changes nothing."""
    assert run_on("1xT4", OPENED + FIRST_GPU_ONLY) == PRINTED["first GPU", "1xT4"]


@pytest.mark.parametrize("setting", ["0", "3", "1,2"])
def test_programs_obey_the_environment(setting):
    """Document 002: which GPUs a process sees depends on CUDA_VISIBLE_DEVICES."""
    n_gpus = len(setting.split(","))
    environ = {"BERTH_SIM": "4xTesla K20m", "CUDA_VISIBLE_DEVICES": setting}
    assert run(IMPORT + MEMORY_GROWTH, **environ) == (
        f"{n_gpus} Physical GPUs, {n_gpus} Logical GPUs\n"
    )


def test_memory_limit_is_one_gigabyte():
    """Document 002: "Restrict TensorFlow to only allocate 1GB of memory"."""
    program = MEMORY_LIMIT + (
        "from berth.front.context import context\n"
        "print(context().devices.options().virtual_devices[0].memory_limit_mb)\n"
    )
    assert run_on("1xT4", program) == PRINTED["memory limit", "1xT4"] + "(1024,)\n"
