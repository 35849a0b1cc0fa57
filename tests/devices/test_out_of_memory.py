"""Running out of memory: the facts, advice that is true, and nothing changed by it."""

from __future__ import annotations

import gc
import pickle
import re

import numpy as np
import pytest

import berth as tf
from berth.callsite import CallSite
from berth.devices.out_of_memory import allocate_tensor
from berth.errors import OutOfMemoryError
from berth.front.context import context
from berth.memory.buffer import Holder

MiB = 2**20
WHERE = CallSite("matmul", "/home/me/train.py", 12, 1)


def open_gpus(sim, machine: str, *limits_mb: float):
    """Open a machine whose first GPU is split so; return the logical GPUs."""
    sim(machine)
    gpus = tf.config.list_physical_devices("GPU")
    if limits_mb:
        parts = [tf.config.LogicalDeviceConfiguration(memory_limit=mb) for mb in limits_mb]
        tf.config.set_logical_device_configuration(gpus[0], parts)
    tf.config.list_logical_devices()
    return context().devices.opened[1:]


def take(device, mib: float, name: str = "x", elsewhere=()):
    holder = Holder(name, "MatMul", WHERE)
    return allocate_tensor(device, holder, (int(mib * MiB),), np.uint8, elsewhere=elsewhere)


def advice(error: OutOfMemoryError) -> list[str]:
    return [
        line.strip() for line in str(error).splitlines() if "fit" in line and "asks" not in line
    ]


def test_message_has_all_the_facts(sim):
    gpu, other = open_gpus(sim, "1xT4:1GiB", 64, 128)
    held = [take(gpu, 10, "bias"), take(gpu, 26, "weights")]
    with pytest.raises(OutOfMemoryError) as raised:
        allocate_tensor(
            gpu, Holder("y", "MatMul", WHERE), (1024, 10240), np.float32, elsewhere=[gpu, other]
        )

    assert str(raised.value) == (
        "OOM when allocating tensor with shape[1024,10240] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
        "  'y' (MatMul) at train.py:12 asks for 40 MiB (41,943,040 bytes).\n"
        "  GPU:0 may hold 64 MiB (memory_limit=64): 36 MiB are in use, 28 MiB are free "
        "(largest free block: 28 MiB).\n"
        "  Held by: 'weights' (MatMul) at train.py:12 26 MiB, 'bias' (MatMul) at train.py:12 "
        "10 MiB.\n"
        "  What is held now and this would fit together under a limit of 76 MiB.\n"
        "  It fits if 'weights' (MatMul) at train.py:12 is freed.\n"
        "  It fits on GPU:1."
    )
    error = raised.value
    assert (error.requested_bytes, error.limit_bytes) == (40 * MiB, 64 * MiB)
    assert (error.in_use_bytes, error.largest_free_bytes) == (36 * MiB, 28 * MiB)
    assert error.dump.startswith(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 40.00MiB (rounded to "
        "41943040)requested by op MatMul\n"
    )
    assert isinstance(error, tf.errors.ResourceExhaustedError)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.holders, copy.dump) == (str(error), error.holders, error.dump)
    assert len(held) == 2


def test_fragmentation_is_named_as_the_cause(sim):
    [gpu] = open_gpus(sim, "1xT4:1GiB", 40)
    held = [take(gpu, 10, f"t{i}") for i in range(4)]
    held[0].free()
    held[2].free()
    with pytest.raises(OutOfMemoryError) as raised:
        take(gpu, 20)

    assert "The cause is fragmentation: enough is free, but not in one piece." in str(
        raised.value
    )
    assert "It fits if 't3' (MatMul) at train.py:12 is freed." in advice(raised.value)
    held[3].free()
    assert take(gpu, 20)


SIZES = [("a", 8), ("b", 24), ("c", 16), ("d", 12)]


def test_advice_is_true(sim):
    """Whatever is said to help, helps."""
    gpu, other = open_gpus(sim, "1xT4:1GiB", 64, 128)
    held = {name: take(gpu, mib, name) for name, mib in SIZES}
    with pytest.raises(OutOfMemoryError) as raised:
        take(gpu, 20, elsewhere=[gpu, other])
    assert advice(raised.value) == [
        "What is held now and this would fit together under a limit of 80 MiB.",
        "It fits if 'b' (MatMul) at train.py:12 is freed.",
        "It fits on GPU:1.",
    ]
    assert take(other, 20)
    held["b"].free()
    assert take(gpu, 20)


@pytest.mark.parametrize(("limit_mb", "fits"), [(80, True), (79, False)])
def test_limit_that_is_said_to_suffice_does(sim, limit_mb, fits):
    """The same tensors in the same order, under the limit of the advice above."""
    [gpu] = open_gpus(sim, "1xT4:1GiB", limit_mb)
    held = [take(gpu, mib, name) for name, mib in SIZES]
    assert (gpu.try_allocate(20 * MiB, Holder("x")) is not None) == fits
    assert held


def test_no_limit_is_advised_that_the_card_cannot_give(sim):
    [gpu] = open_gpus(sim, "1xT4:64MiB", 40)
    with pytest.raises(OutOfMemoryError) as raised:
        take(gpu, 60)
    assert advice(raised.value) == []


def test_everything_goes_on_after_it(sim):
    [gpu] = open_gpus(sim, "1xT4:1GiB", 64)
    held = take(gpu, 40)
    before = tf.config.experimental.get_memory_info("GPU:0")
    for _ in range(3):
        with pytest.raises(OutOfMemoryError):
            take(gpu, 40)
    assert tf.config.experimental.get_memory_info("GPU:0") == before

    held.free()
    assert take(gpu, 40)
    gpu.arena.check()


def test_garbage_is_collected_before_giving_up(sim):
    [gpu] = open_gpus(sim, "1xT4:1GiB", 64)

    class Cycle:
        def __init__(self) -> None:
            self.buffer = take(gpu, 40)
            self.itself = self

    gc.disable()
    try:
        Cycle()
        assert take(gpu, 40)
    finally:
        gc.enable()


@pytest.mark.parametrize("limit_mb", [1, 3, 64, 100.7, 255, 700])
@pytest.mark.parametrize("growth", [False, True])
def test_promised_tensor_fits_and_no_more(sim, limit_mb, growth):
    """For every limit: what the report promises on an empty device, and 256 bytes more."""
    environ = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"} if growth else {}
    sim("1xT4:1GiB", **environ)
    gpu = tf.config.list_physical_devices("GPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration(memory_limit=limit_mb)]
    tf.config.set_logical_device_configuration(gpu, parts)
    tf.config.list_logical_devices()
    device = context().devices.opened[1]
    [row] = tf.config.memory_report().devices

    assert row.growth == growth
    assert row.largest_tensor_bytes == int(limit_mb) * MiB
    holder = Holder("x")
    with pytest.raises(OutOfMemoryError):
        allocate_tensor(device, holder, (row.largest_tensor_bytes + 256,), np.uint8)
    assert allocate_tensor(device, holder, (row.largest_tensor_bytes,), np.uint8)


def test_default_and_fraction_promises_hold(sim):
    sim("1xT4:1GiB")
    tf.config.list_logical_devices()
    [row] = tf.config.memory_report().devices
    assert row.largest_tensor_bytes == row.limit_bytes == (1024 - 120 - 225) * MiB

    sim("1xT4:1GiB")
    options = tf.compat.v1.GPUOptions(per_process_gpu_memory_fraction=0.5)
    tf.compat.v1.enable_eager_execution(tf.compat.v1.ConfigProto(gpu_options=options))
    tf.config.list_logical_devices()
    [row] = tf.config.memory_report().devices
    assert row.largest_tensor_bytes == 512 * MiB


def test_freed_memory_is_scrubbed_on_request(sim):
    program = sim("1xT4:1GiB", BERTH_SCRUB_MEMORY="1")
    tf.config.list_logical_devices()
    gpu = program.devices.opened[1]
    buffer = allocate_tensor(gpu, Holder("x"), (4,), np.float32)
    array = gpu.view(buffer, (4,), np.float32)
    array[:] = 1
    buffer.free()
    assert np.isnan(array).all()


def test_buffer_is_freed_exactly_once(sim):
    [gpu] = open_gpus(sim, "1xT4:1GiB", 64)
    buffer = take(gpu, 10, "x")
    buffer.free()
    buffer.free()
    assert gpu.arena.stats.in_use_bytes == 0
    with pytest.raises(RuntimeError) as raised:
        _ = buffer.address
    assert str(raised.value) == "The memory of 'x' (MatMul) at train.py:12 was freed."

    kept = take(gpu, 10)
    array = gpu.view(kept, (10,), np.uint8)
    del kept
    gc.collect()
    assert gpu.arena.stats.in_use_bytes == 10 * MiB  # the array keeps it
    del array
    gc.collect()
    assert gpu.arena.stats.in_use_bytes == 0


def test_empty_tensors_take_nothing(sim):
    [gpu] = open_gpus(sim, "1xT4:1GiB", 64)
    buffer = allocate_tensor(gpu, Holder("x"), (0, 5), np.float32)
    buffer.free()
    assert gpu.arena.stats.n_allocations == 0


def test_tensors_of_one_line_are_counted_together(sim, eager):
    sim("1xT4:1GiB")
    kept = [tf.zeros([1024, 1024]) for _ in range(5)]
    with pytest.raises(OutOfMemoryError) as error:
        tf.zeros([1024, 1024, 1024])
    assert len(kept) == 5
    [held] = [line for line in error.value.message.split("\n") if "Held by" in line]
    assert re.match(r"  Held by: 'Fill' \(Fill\) at \S+ 20 MiB in 5 tensors, ", held)
