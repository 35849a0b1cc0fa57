"""Section 3.1 and the table of documents 000 and 001: CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import pytest

import berth as tf
from berth.backends.driver import device_order, select
from tests.parity.programs import run, run_in_shell

UUIDS = [
    "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
    "GPU-1234aaaa-0000-0000-0000-000000000001",
    "GPU-1234bbbb-0000-0000-0000-000000000002",
    "GPU-5678cccc-0000-0000-0000-000000000003",
    "GPU-9abcdddd-0000-0000-0000-000000000004",
]

ALL = [0, 1, 2, 3]

# Documents 000 and 001: as it is typed in a terminal, the value, the GPUs that remain.
DOCUMENT = {
    "CUDA_VISIBLE_DEVICES=1": ("1", [1]),
    "CUDA_VISIBLE_DEVICES=0,1": ("0,1", [0, 1]),
    'CUDA_VISIBLE_DEVICES="0,1"': ("0,1", [0, 1]),
    "CUDA_VISIBLE_DEVICES=0,2,3": ("0,2,3", [0, 2, 3]),
    'CUDA_VISIBLE_DEVICES=""': ("", []),
}

# The other settings in the documents' text.
DOCUMENT_TEXT = {
    "CUDA_VISIBLE_DEVICES=0": ("0", [0]),
    'CUDA_VISIBLE_DEVICES="0"': ("0", [0]),
    'CUDA_VISIBLE_DEVICES="2"': ("2", [2]),
}
SETTINGS = DOCUMENT | DOCUMENT_TEXT

# Section 3.1: the value, the number of GPUs, those that are visible, in their order.
DRIVER = {
    "unset": (None, 4, ALL),
    "empty": ("", 4, []),
    "minus one": ("-1", 4, []),
    "invalid first": ("abc,0", 4, []),
    "all": ("0,1,2,3", 4, ALL),
    "order of the list": ("3,1", 4, [3, 1]),
    "reversed": ("3,2,1,0", 4, [3, 2, 1, 0]),
    "stops at -1": ("0,2,-1,1", 4, [0, 2]),
    "stops past the end": ("0,99,1", 2, [0]),
    "stops past the end, later": ("1,5,0", 2, [1]),
    "past the end": ("4", 4, []),
    "trailing letters": ("1gpu2,2ampere", 4, [1, 2]),
    "blanks": (" 1 , 0 ", 2, [1, 0]),
    "plus": ("+3", 4, [3]),
    "minus zero": ("-0", 4, [0]),
    "stops at a word": ("4,3,two,one", 5, [4, 3]),
    "word first": ("one,two,3", 4, []),
    "duplicate": ("0,1,2,1", 4, []),
    "duplicate of first": ("0,0", 4, []),
    "duplicate, other spelling": ("1,+1", 4, []),
    "no GPU": ("0", 0, []),
}

# Section 3.1: UUIDs, on a machine with the five above.
BY_UUID = {
    "whole": (UUIDS[0], [0]),
    "prefix": ("GPU-8932f937", [0]),
    "short prefix": ("GPU-8", [0]),
    "order of the list": ("GPU-9abc,GPU-8932f937", [4, 0]),
    "ambiguous": ("GPU-1234", []),
    "unique again": ("GPU-1234b", [2]),
    "every GPU": ("GPU-", []),
    "unknown": ("GPU-ffff", []),
    "stops at unknown": ("GPU-8932f937,GPU-ffff,GPU-5678", [0]),
    "stops at ambiguous": ("GPU-8932f937,GPU-1234,GPU-5678", [0]),
    "stops at a number": ("GPU-8932f937, 2", [0]),
    "number first stops at UUID": ("2,GPU-8932f937", [2]),
    "one GPU twice": ("GPU-8932f937,GPU-8932", []),
    "one GPU twice, later": ("GPU-5678,GPU-8932f937,GPU-8932", []),
    "without GPU-": ("8932f937", []),
}


@pytest.mark.parametrize(("value", "n_gpus", "visible"), DRIVER.values(), ids=DRIVER)
def test_driver_reads_the_list(value, n_gpus, visible):
    """Section 3.1."""
    uuids = [f"GPU-{index}" for index in range(n_gpus)]
    assert list(select(value, uuids).indices) == visible


@pytest.mark.parametrize(("value", "visible"), BY_UUID.values(), ids=BY_UUID)
def test_driver_reads_uuids(value, visible):
    """Section 3.1: any unique prefix; the first entry decides the kind."""
    assert list(select(value, UUIDS).indices) == visible


def buses(program):
    return [info.pci_bus_id for info in program.devices.gpu_backend.devices()]


@pytest.mark.parametrize(
    ("value", "n_gpus", "visible"),
    [row for row in DRIVER.values() if row[1] > 0],
    ids=[name for name, row in DRIVER.items() if row[1] > 0],
)
def test_visible_gpus_are_renumbered(sim, value, n_gpus, visible):
    """Section 3.1: CUDA numbers the visible ones 0..k-1, in the order of the list."""
    machine = buses(sim(f"{n_gpus}xT4"))
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    program = sim(f"{n_gpus}xT4", **environ)
    assert buses(program) == [machine[index] for index in visible]
    assert [device.name for device in tf.config.list_physical_devices("GPU")] == [
        f"/physical_device:GPU:{index}" for index in range(len(visible))
    ]
    assert len(tf.config.list_logical_devices("GPU")) == len(visible)


def test_machine_is_chosen_by_uuid(sim):
    """Section 3.1: the UUIDs are those that the driver tells."""
    machine = sim("3xT4").devices.gpu_backend.devices()
    chosen = sim("3xT4", CUDA_VISIBLE_DEVICES=f"{machine[2].uuid},{machine[0].uuid}")
    assert chosen.devices.gpu_backend.devices() == (machine[2], machine[0])


@pytest.mark.parametrize(("value", "hidden"), [("1", [0, 2, 3]), ("", ALL), ("3,0", [1, 2])])
def test_masked_gpus_are_listed(sim, value, hidden):
    """Documents 000 and 001: "device 1 is masked"."""
    machine = buses(sim("4xT4"))
    program = sim("4xT4", CUDA_VISIBLE_DEVICES=value)
    told = [each.info.pci_bus_id for each in program.devices.gpu_backend.hidden()]
    assert sorted(told) == [machine[index] for index in hidden]


@pytest.mark.parametrize(
    ("order", "speeds", "sorted_gpus"),
    [
        (None, [1.0, 3.0, 2.0], 1),
        ("FASTEST_FIRST", [1.0, 2.0, 3.0], 2),
        ("FASTEST_FIRST", [3.0, 2.0, 1.0], 0),
    ],
)
def test_fastest_gpu_is_first(order, speeds, sorted_gpus):
    """Section 3.1, CUDA_DEVICE_ORDER: the rest is unspecified, but complete."""
    ordered = device_order(order, speeds)
    assert ordered[0] == sorted_gpus
    assert sorted(ordered) == [0, 1, 2]


@pytest.mark.parametrize("speeds", [[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]], ids=str)
def test_bus_order_ignores_speed(speeds):
    """Section 3.1, CUDA_DEVICE_ORDER: ascending bus ids, as they are given."""
    assert device_order("PCI_BUS_ID", speeds) == [0, 1, 2]


@pytest.mark.parametrize(
    ("environ", "models"),
    [
        ({}, ["Tesla V100-SXM2-16GB", "Tesla K20m"]),
        ({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, ["Tesla V100-SXM2-16GB", "Tesla K20m"]),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["Tesla K20m", "Tesla V100-SXM2-16GB"]),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ["Tesla V100-SXM2-16GB"]),
        (
            {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"},
            ["Tesla K20m"],
        ),
    ],
    ids=str,
)
def test_indices_refer_to_order(sim, environ, models):
    """Section 3.1, CUDA_DEVICE_ORDER: it is applied before CUDA_VISIBLE_DEVICES."""
    program = sim("1xK20m,1xV100-16GB", **environ)
    devices = program.devices.gpu_backend.devices()
    assert [info.model for info in devices] == models


def test_bus_order_is_ascending(sim):
    """Section 3.1, CUDA_DEVICE_ORDER."""
    program = sim("1xK20m,2xT4,1xV100-16GB", CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert len(buses(program)) == 4
    assert buses(program) == sorted(buses(program))


def test_late_change_has_no_effect():
    """Section 3.1: read once; a program that looked keeps what it saw."""
    printed = run(
        """
import os
import berth as tf
before = tf.config.list_physical_devices("GPU")
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
print(len(before), len(tf.config.list_physical_devices("GPU")))
print(len(tf.config.list_logical_devices("GPU")), len(tf.device_lib.list_local_devices()))
""",
        BERTH_SIM="4xT4",
    )
    assert printed == "4 4\n4 5\n"


# --- The documents' table, in programs of their own ---

SCRIPT = """
import berth as tf
for device in tf.device_lib.list_local_devices():
    if device.device_type == "GPU":
        print(device.name, device.physical_device_desc)
for device in tf.config.list_logical_devices("GPU"):
    print(device.name)
"""


def expected(sim, visible):
    """What SCRIPT prints where these of four GPUs are visible."""
    machine = buses(sim("4xT4"))
    described = [
        f"/device:GPU:{number} device: {number}, name: Tesla T4, "
        f"pci bus id: {machine[index]}, compute capability: 7.5\n"
        for number, index in enumerate(visible)
    ]
    return "".join(described + [f"/device:GPU:{k}\n" for k in range(len(visible))])


@pytest.fixture
def my_script(tmp_path):
    path = tmp_path / "my_script.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.parametrize("setting", SETTINGS)
def test_terminal_sets_the_gpus(sim, my_script, setting):
    """Documents 000 and 001: `CUDA_VISIBLE_DEVICES=1 python my_script.py`."""
    line = f'{setting} "$PYTHON" {my_script}'
    assert run_in_shell(line, BERTH_SIM="4xT4") == expected(sim, SETTINGS[setting][1])


@pytest.mark.parametrize("setting", SETTINGS)
def test_export_sets_the_gpus(sim, my_script, setting):
    """Document 000: `export CUDA_VISIBLE_DEVICES="0"`, then `python your_python.py`."""
    line = f'export {setting}\n"$PYTHON" {my_script}'
    assert run_in_shell(line, BERTH_SIM="4xT4") == expected(sim, SETTINGS[setting][1])


@pytest.mark.parametrize("import_first", [True, False], ids=["import first", "environ first"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_python_sets_the_gpus(sim, setting, import_first):
    """Documents 000 and 001: `os.environ[...] = ...`; section 3.1: before first use."""
    value, visible = SETTINGS[setting]
    lines = ["import os", f'os.environ["CUDA_VISIBLE_DEVICES"] = "{value}"']
    lines.insert(0 if import_first else 2, "import berth")
    printed = run("\n".join(lines) + SCRIPT, BERTH_SIM="4xT4")
    assert printed == expected(sim, visible)


def test_all_gpus_by_default(sim, my_script):
    """Documents 000 and 001: TensorFlow uses all GPUs if nothing is set."""
    line = f'"$PYTHON" {my_script}'
    assert run_in_shell(line, BERTH_SIM="4xT4") == expected(sim, ALL)
