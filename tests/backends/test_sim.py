"""What only simulated GPUs do."""

from __future__ import annotations

import numpy as np
import pytest

from berth.backends import open_backend
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.errors import BackendUnavailableError, DeviceMemoryError
from tests.conftest import LEDGERS

MiB = 2**20


@pytest.fixture
def make():
    """Open backends, and close them at the end: the memory of a machine is shared."""
    opened = []

    def open_one(text: str, **options) -> SimBackend:
        opened.append(SimBackend(Machine.parse(text), ledger_directory=LEDGERS, **options))
        return opened[-1]

    yield open_one
    for backend in opened:
        backend.close()


def test_each_process_occupies_its_context(make):
    backend = make("1xT4")
    free, total = backend.memory(0)

    assert total == 15095 * MiB
    assert total - free == 40 * 3 * MiB


def test_small_cards_have_small_contexts(make):
    free, total = make("1xT4:64MiB").memory(0)
    assert (free, total) == (56 * MiB, 64 * MiB)


def test_memory_is_bounded_exactly(make):
    backend = make("1xT4:64MiB")
    free = backend.memory(0).free
    with pytest.raises(DeviceMemoryError) as raised:
        backend.reserve(0, free + 1)
    assert str(raised.value) == (
        "GPU:0 (Tesla T4) cannot reserve 58,720,257 bytes: "
        "58,720,256 of 67,108,864 bytes are free."
    )

    backend.reserve(0, free)
    assert backend.memory(0).free == 0


def test_a_card_larger_than_the_computer_fits(make):
    """Pages are taken when touched, so the size of a region costs nothing."""
    backend = make("1xH200")
    region = backend.reserve(0, 100 * 2**30)
    end = region.address + region.nbytes - 400
    array = backend.view(0, end, (100,), np.float32)
    array[:] = 3

    assert array.sum() == 300


def test_lazy_streams_show_a_forgotten_wait(make):
    """What a real GPU does now and then, they do every time."""
    backend = make("1xT4:64MiB", lazy=True)
    region = backend.reserve(0, MiB)
    array = backend.view(0, region.address, (4,), np.float32)
    producer, consumer = backend.stream(0), backend.stream(0)
    producer.launch(lambda: array.fill(5))
    copy = np.empty(4, np.float32)
    consumer.download(copy, array)  # no consumer.wait(producer.record())
    consumer.synchronize()

    assert copy.tolist() == [0, 0, 0, 0]


def test_backends_open_by_name():
    assert open_backend("host").devices()[0].device_type == "CPU"
    assert [info.model for info in open_backend("sim", "2xT4").devices()] == ["Tesla T4"] * 2


def test_cuda_says_why_it_is_unavailable(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(BackendUnavailableError) as raised:
        open_backend("cuda")
    assert str(raised.value).splitlines()[0] == (
        "The cuda backend is unavailable: this version of berth cannot drive real GPUs yet "
        "(and CuPy, which it will need, is not installed)."
    )


class FakeCupy:
    """As much of CuPy as is asked before its GPUs could be used."""

    def __init__(self, n_gpus: int) -> None:
        self.cuda = self
        self.runtime = self
        self.is_available = lambda: n_gpus > 0
        self.getDeviceCount = lambda: n_gpus


@pytest.mark.parametrize(
    ("n_gpus", "reason"),
    [
        (0, "(and CuPy finds no CUDA driver, or no GPU)"),
        (2, "(CuPy finds 2)"),
    ],
)
def test_cuda_reasons_name_what_is_missing(monkeypatch, n_gpus, reason):
    monkeypatch.setitem(__import__("sys").modules, "cupy", FakeCupy(n_gpus))
    with pytest.raises(BackendUnavailableError) as raised:
        open_backend("cuda")
    assert str(raised.value) == (
        "The cuda backend is unavailable: this version of berth cannot drive real GPUs yet "
        f"{reason}.\n"
        "  Simulated GPUs work anywhere: set BERTH_SIM=4xT4, for instance."
    )


def test_unknown_backend_names_the_known():
    with pytest.raises(BackendUnavailableError) as raised:
        open_backend("cdua")
    assert str(raised.value) == (
        "There is no backend called 'cdua': known are host, sim, cuda.\n  Did you mean 'cuda'?"
    )
