"""Memory under fire: callbacks, forks, races and failures lose nothing and hang nothing."""

from __future__ import annotations

import gc
import logging
import os
import threading

import numpy as np
import pytest

import berth as tf
from berth.devices.out_of_memory import allocate_tensor
from berth.errors import DeviceMemoryError, OutOfMemoryError
from berth.front.context import context
from berth.memory.arena import Arena, ArenaOptions
from berth.memory.buffer import Holder
from berth.memory.trial import could_extend
from tests.memory.sources import Addresses

MiB = 2**20
X = Holder("x")


def limit_first_gpu(*limits_mb: float) -> None:
    gpu = tf.config.list_physical_devices("GPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration(memory_limit=mb) for mb in limits_mb]
    tf.config.set_logical_device_configuration(gpu, parts)


def test_listener_may_look_at_the_arena(sim):
    """Telling of a collection happens after the lock was let go."""
    sim("1xT4:1GiB", TF_FORCE_GPU_ALLOW_GROWTH="true")
    tf.config.list_logical_devices()
    arena = context().devices.opened[1].arena
    seen = []

    class Curious(logging.Handler):
        def emit(self, record):
            seen.append(str(tf.config.memory_report()))

    handler = Curious()
    logging.getLogger("berth").addHandler(handler)
    try:
        arena.free(arena.allocate(300 * MiB))
        assert arena.allocate(600 * MiB) is not None
    finally:
        logging.getLogger("berth").removeHandler(handler)
    assert len(seen) == 1


@pytest.mark.parametrize("seed", range(200))
def test_what_could_extend_does(seed):
    """The prediction is what happens: growth, back-off, collection, any source."""
    import random

    random_ = random.Random(seed)
    source = Addresses(capacity=random_.randrange(1, 400) * MiB)
    options = ArenaOptions(
        growth=random_.random() < 0.7, collect_regions=random_.random() < 0.5
    )
    arena = Arena("arena", source, random_.randrange(1, 400) * MiB, options)
    held = [arena.allocate(random_.randrange(1, 40) * MiB) for _ in range(random_.randrange(4))]
    for address in held[:2]:
        if address is not None:
            arena.free(address)
    size = random_.randrange(1, 300) * MiB
    free = source.capacity - sum(source.live.values())
    predicted = arena.largest_free_bytes() >= size or could_extend(arena, size, free)

    assert (arena.allocate(size) is not None) == predicted
    arena.check()


def test_report_promises_what_fits(sim):
    """Also where the card has less than the limit, and the arena backs off by tenths."""
    program = sim("1xT4:1GiB", TF_FORCE_GPU_ALLOW_GROWTH="true")
    limit_first_gpu(3000)
    tf.config.list_logical_devices()
    [row] = tf.config.memory_report().devices
    assert 512 * MiB < row.largest_tensor_bytes < 904 * MiB
    assert allocate_tensor(program.devices.opened[1], X, (row.largest_tensor_bytes,), np.uint8)


def test_closed_arena_stays_closed():
    """Threads that allocate while it closes get an error or memory, and none is left."""
    for _ in range(100):
        source = Addresses()
        arena = Arena("arena", source, 64 * MiB, ArenaOptions(growth=True))

        def work(arena=arena):
            try:
                for _ in range(50):
                    arena.allocate(1000)
            except RuntimeError as error:
                assert "was closed by" in str(error)  # noqa: PT017 - in a thread

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        arena.close()
        for thread in threads:
            thread.join()
        assert (source.live, arena.reserved_bytes, arena.stats.in_use_bytes) == ({}, 0, 0)


def test_finalizer_during_close_does_no_harm():
    arena = Arena("arena", Addresses(), 64 * MiB)
    address = arena.allocate(1000)
    arena._lock.acquire()
    arena.free(address)  # left for the next that takes the lock: that will be `close`
    arena._lock.release()
    other = Arena("other", Addresses(), MiB)
    chunk = other._in_use[other.allocate(1000)]
    number = chunk.allocation_id
    other.close()
    other._freed.append((chunk, number))

    arena.close()
    assert arena.stats.in_use_bytes == other.stats.in_use_bytes == 0


def test_trim_restarts_growth(sim):
    program = sim("1xT4:1GiB", TF_FORCE_GPU_ALLOW_GROWTH="true")
    tf.config.list_logical_devices()
    arena = program.devices.opened[1].arena
    for _ in range(10):
        arena.free(arena.allocate(1))
        assert tf.trim() == 2 * MiB


def test_failed_opening_gives_back_what_it_took(sim, monkeypatch):
    program = sim("2xT4:1GiB")
    backend = program.devices.gpu_backend
    before = backend.memory(0).free
    reserve = backend.reserve

    def broken(device, nbytes):
        if device == 1:
            raise KeyboardInterrupt
        return reserve(device, nbytes)

    monkeypatch.setattr(backend, "reserve", broken)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            tf.config.list_logical_devices()
        assert backend.memory(0).free == before
    monkeypatch.undo()
    assert len(tf.config.list_logical_devices("GPU")) == 2


def test_less_than_the_limit_is_logged(sim, caplog):
    sim("1xT4:1GiB")
    limit_first_gpu(1000)
    tf.config.list_logical_devices()
    assert caplog.messages == [
        "GPU:0 got 904 MiB of the 1000 MiB it may hold (memory_limit=1000): its card has no "
        "more."
    ]


def test_limits_of_one_card_are_announced_together(sim):
    program = sim("1xT4:1GiB")
    limit_first_gpu(300, 100)
    tf.config.list_logical_devices()
    [process] = program.devices.gpu_backend.processes(0)
    assert process.limit_bytes == 400 * MiB


@pytest.mark.parametrize("fraction", [-0.5, float("nan"), float("inf"), 2000])
def test_fraction_must_be_sensible(sim, fraction):
    sim("1xT4")
    config = tf.compat.v1.ConfigProto()
    config.gpu_options.per_process_gpu_memory_fraction = fraction
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be from 0 to 1000"):
        tf.device_lib.list_local_devices(config)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_starts_afresh(sim):
    """Also while other threads of the parent are in the middle of an allocation."""
    program = sim("1xT4:1GiB", TF_FORCE_GPU_ALLOW_GROWTH="true")
    tf.config.list_logical_devices()
    device = program.devices.opened[1]
    held = allocate_tensor(device, Holder("weights"), (10,), np.uint8)
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            device.arena.free(device.arena.allocate(5000))

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        answers = [in_child(held) for _ in range(10)]
    finally:
        stop.set()
        thread.join()
    assert set(answers) == {
        "The memory of 'weights' is gone: it went with GPU_0_bfc, by the fork of this process "
        f"from process {os.getpid()}. 1"
    }
    assert held.address
    device.arena.check()


def in_child(held) -> str:
    """Fork; in the child use what was inherited, and open devices afresh."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        import signal

        signal.alarm(10)
        try:
            _ = held.address
            text = "no error"
        except RuntimeError as error:
            text = str(error)
        tf.reset()
        text += f" {len(tf.config.list_logical_devices('GPU'))}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


def test_closed_backend_takes_no_more(sim):
    program = sim("1xT4:1GiB")
    backend = program.devices.gpu_backend
    backend.close()
    with pytest.raises(RuntimeError, match="The sim backend is closed"):
        backend.reserve(0, MiB)
    tf.reset()
    fresh = context().devices.gpu_backend
    with pytest.raises(DeviceMemoryError):
        fresh.reserve(0, 2**40)


def test_out_of_memory_with_many_tensors_is_quick(sim):
    """Advice that would need long trials is left out; the rest is there."""
    program = sim("1xT4:1GiB")
    limit_first_gpu(64)
    tf.config.list_logical_devices()
    device = program.devices.opened[1]
    held = [device.arena.allocate(256) for _ in range(6000)]
    with pytest.raises(OutOfMemoryError) as raised:
        allocate_tensor(device, X, (100 * MiB,), np.uint8)
    assert "would fit together" not in str(raised.value)
    assert len(held) == 6000
    gc.collect()
