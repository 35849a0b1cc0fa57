"""Document 000, with real processes: who gets which GPU, and how much of it."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack

import pytest

import berth as tf
from berth.front.context import context
from tests.fork_server import Program

PROGRAM = """
import os
import sys
import numpy as np
import berth as tf
from berth.devices.out_of_memory import allocate_tensor
from berth.front.context import context
from berth.memory.buffer import Holder

v1 = tf.compat.v1
options = {options}
if options:
    v1.enable_eager_execution(v1.ConfigProto(gpu_options=v1.GPUOptions(**options)))
try:
    tf.config.list_logical_devices()
    gpus = context().devices.opened[1:]
    held = [
        allocate_tensor(gpus[0], Holder("x"), (1 << 20,), np.uint8) for _ in range({take_mib})
    ]
except tf.errors.ResourceExhaustedError as error:
    print("failed", error, flush=True)
else:
    print("runs", [gpu.arena.reserved_bytes >> 20 for gpu in gpus], flush=True)
os.close(1)  # all is said
sys.stdin.read()
"""


class Programs:
    """Starts programs that hold what they get until they are told to end."""

    def __init__(self, stack: ExitStack, directory: str, machine: str) -> None:
        self._stack = stack
        self._environ = {**os.environ, "BERTH_SIM": machine, "BERTH_LEDGER_DIR": directory}

    def start(self, take_mib: int = 0, visible: str | None = None, **options):
        """Return a running program, and what it printed once it had its devices."""
        environ = dict(self._environ)
        if visible is not None:
            environ["CUDA_VISIBLE_DEVICES"] = visible
        process = self._stack.enter_context(
            Program(["-c", PROGRAM.format(options=options, take_mib=take_mib)], environ)
        )
        self._stack.callback(self.end, process)
        return process, process.stdout.read()

    @staticmethod
    def end(process) -> None:
        process.kill()
        process.wait()


@pytest.fixture
def two_k40c(tmp_path):
    with ExitStack() as stack:
        yield Programs(stack, str(tmp_path), "2xTesla K40c")


def test_default_holds_both_cards(two_k40c):
    a, said = two_k40c.start()
    assert said == "runs [10896, 10896]\n"

    _, said = two_k40c.start()
    lines = said.splitlines()
    assert lines[0] == (
        "failed failed to allocate 10.64GiB (11425284096 bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    )
    assert lines[1] == (
        "  GPU:0 (Tesla K40c, 0000:05:00.0): other processes hold 10.68 GiB of 11.17 GiB, and "
        "a program that sets no memory options takes nearly all of a card."
    )
    assert lines[2].startswith(f"  pid {a.pid} (")
    assert "holds 10.68 GiB since" in lines[2]
    assert lines[3] == (
        "  Wait until the others end, or let all of them share the card, each with "
        "set_memory_growth(), a memory_limit or per_process_gpu_memory_fraction."
    )


def test_other_card_is_free_only_if_it_is(two_k40c):
    a, _ = two_k40c.start()
    _, said = two_k40c.start(visible="1")
    assert said.startswith("failed")
    two_k40c.end(a)

    two_k40c.start(visible="0")
    _, said = two_k40c.start(visible="1")
    assert said == "runs [10896]\n"


def test_free_card_is_recommended(two_k40c):
    two_k40c.start(visible="0")
    _, said = two_k40c.start()
    [line] = [line for line in said.splitlines() if "is free" in line]
    assert line.startswith("  GPU:1 is free: CUDA_VISIBLE_DEVICES=GPU-")

    uuid = line.split("=")[1].split()[0]
    _, said = two_k40c.start(visible=uuid)
    assert said == "runs [10896]\n"


def test_fractions_share_a_card(two_k40c):
    fraction = {"per_process_gpu_memory_fraction": 0.4}
    _, first = two_k40c.start(**fraction)
    _, second = two_k40c.start(**fraction)
    _, third = two_k40c.start(**fraction)
    assert first == second == "runs [4576, 4576]\n"

    # What is left: 11441 - 2 x 4576.4 - 3 x 45 = 2153.
    assert third == "runs [2153, 2153]\n"


def test_growing_programs_share_until_full(two_k40c):
    _, first = two_k40c.start(take_mib=6000, allow_growth=True)
    _, second = two_k40c.start(take_mib=2000, allow_growth=True)
    assert first.startswith("runs [8190")
    assert second.startswith("runs [")
    _, third = two_k40c.start(take_mib=6000, allow_growth=True)
    assert third.startswith("failed OOM when allocating tensor with shape[1048576]")


def test_killed_holder_returns_its_memory(two_k40c):
    a, _ = two_k40c.start()
    os.kill(a.pid, signal.SIGKILL)
    a.wait()
    _, said = two_k40c.start()
    assert said == "runs [10896, 10896]\n"


def test_first_to_make_a_gpu_decides(sim, caplog):
    """§4.3: and the second is told, once."""
    sim("1xT4:1GiB")
    tf.device_lib.list_local_devices()
    options = tf.compat.v1.GPUOptions(per_process_gpu_memory_fraction=0.25)
    config = tf.compat.v1.ConfigProto(gpu_options=options)
    for _ in range(2):
        [_, gpu] = tf.device_lib.list_local_devices(config)
        assert gpu.memory_limit == 679 * 2**20
    assert caplog.messages == [
        "GPU:0 keeps its limit of 679 MiB (default, free memory less 225 MiB): what was asked "
        "for later (per_process_gpu_memory_fraction=0.25) is ignored."
    ]


def test_listing_takes_no_memory(sim):
    program = sim("2xT4:1GiB")
    tf.config.list_physical_devices()
    tf.config.get_visible_devices()
    backend = program.devices.gpu_backend
    assert [len(backend.processes(index)) for index in range(2)] == [0, 0]

    tf.config.list_logical_devices()
    assert [len(backend.processes(index)) for index in range(2)] == [1, 1]


def test_trim_gives_back_and_takes_again(sim):
    program = sim("1xT4:1GiB")
    tf.config.list_logical_devices()
    device = program.devices.opened[1]
    reserved = device.arena.reserved_bytes
    free = program.devices.gpu_backend.memory(0).free

    assert tf.trim() == reserved
    assert program.devices.gpu_backend.memory(0).free == free + reserved
    assert device.arena.allocate(1000) is not None
    assert tf.trim() == 0


def test_reset_gives_everything_back(sim):
    import numpy as np

    from berth.devices.out_of_memory import allocate_tensor
    from berth.memory.buffer import Holder

    program = sim("1xT4:1GiB")
    tf.config.list_logical_devices()
    held = allocate_tensor(
        context().devices.opened[1], Holder("weights", "Variable"), (9,), np.int8
    )
    tf.reset()
    with pytest.raises(RuntimeError) as raised:
        _ = held.address
    assert str(raised.value).startswith(
        "The memory of 'weights' (Variable) is gone: it went with GPU_0_bfc, by reset() at "
        "test_sharing.py:"
    )
    held.free()

    gpu = tf.config.list_physical_devices("GPU")[0]
    tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.list_logical_devices()
    assert program.devices.opened[1].growth
    assert program.devices.gpu_backend.memory(0).free == (1024 - 120) * 2**20


def resident_bytes() -> int:
    if not os.path.exists("/proc/self/statm"):
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_reset_leaves_nothing_behind(sim, tmp_path):
    """A thousand times: no bytes in the ledger, no descriptors, no threads, no memory."""
    import threading

    from berth.backends.ledger import list_ledgers

    sim("2xT4:1GiB", BERTH_LEDGER_DIR=str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for round_ in range(1000):
        if round_ == 100:  # by then everything that is kept once is there
            resident = resident_bytes()
        tf.config.list_logical_devices()
        tf.reset()
    assert resident_bytes() - resident < 4 * 2**20
    after = len(os.listdir("/proc/self/fd")) if before else 0

    assert after == before
    assert threading.active_count() == 1
    assert list_ledgers(str(tmp_path)) == []


def test_failed_opening_makes_nothing(two_k40c, tmp_path, sim):
    """After the error the program can choose better, and go on."""
    a, _ = two_k40c.start()
    sim("2xTesla K40c", BERTH_LEDGER_DIR=str(tmp_path))
    with pytest.raises(tf.errors.ResourceExhaustedError):
        tf.config.list_logical_devices()
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.list_logical_devices()

    assert [d.growth for d in context().devices.opened[1:]] == [True, True]
    assert a.poll() is None


@pytest.mark.parametrize("n_parts", [1, 2])
def test_limit_larger_than_the_card_gets_all_of_it(sim, n_parts, caplog):
    program = sim("1xT4")
    backend = program.devices.gpu_backend
    free = backend.memory(0).free
    part = tf.config.LogicalDeviceConfiguration(memory_limit=65536)
    [gpu] = tf.config.list_physical_devices("GPU")
    tf.config.set_logical_device_configuration(gpu, [part] * n_parts)
    tf.config.list_logical_devices()
    reserved = [device.arena.reserved_bytes for device in program.opened()[1:]]
    assert free - sum(reserved) < 2**20
    assert max(reserved) - min(reserved) < 2**20
    assert backend.memory(0).free < 2**20
    assert "its card has no more" in caplog.text
