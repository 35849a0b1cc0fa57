"""What is said of GPUs that CUDA_VISIBLE_DEVICES hides."""

from __future__ import annotations

import pytest

from berth.backends.driver import select
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend

UUIDS = ["GPU-aa01", "GPU-aa02", "GPU-bb03"]


@pytest.mark.parametrize(
    ("value", "indices", "reason"),
    [
        (None, (0, 1, 2), ""),
        ("", (), "CUDA_VISIBLE_DEVICES is empty"),
        ("  ", (), "CUDA_VISIBLE_DEVICES is empty"),
        ("0,2", (0, 2), "CUDA_VISIBLE_DEVICES=0,2"),
        ("-1", (), "CUDA_VISIBLE_DEVICES=-1: '-1' is no GPU here, and ends the list"),
        ("1,9", (1,), "CUDA_VISIBLE_DEVICES=1,9: there is no GPU 9, which ends the list"),
        ("0,0", (), "CUDA_VISIBLE_DEVICES=0,0: '0' is named twice, so none counts"),
        ("GPU-bb", (2,), "CUDA_VISIBLE_DEVICES=GPU-bb"),
        (
            "GPU-aa",
            (),
            "CUDA_VISIBLE_DEVICES=GPU-aa: 'GPU-aa' is no GPU here, and ends the list",
        ),
    ],
)
def test_hidden_gpus_have_a_reason(value, indices, reason):
    selection = select(value, UUIDS)
    assert (selection.indices, selection.reason) == (indices, reason)


def test_fastest_gpu_is_first_unless_by_bus():
    machine = Machine.parse("1xT4,1xH100,1xT4")
    fastest = SimBackend(machine).devices()
    by_bus = SimBackend(machine, device_order_by="PCI_BUS_ID").devices()

    assert [info.pci_bus_id[5:7] for info in fastest] == ["03", "02", "83"]
    assert [info.pci_bus_id[5:7] for info in by_bus] == ["02", "03", "83"]
