"""The rules of berth.backends.base, for every backend alike.

The tests use only what the protocol promises: they synchronize before they look, they
never read device memory from the host except by `download`, and they take nothing for
granted about when work happens.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from berth.backends.base import Backend, PlatformIndex, Region, Stream
from berth.errors import DeviceMemoryError
from tests.contracts.backends import BACKENDS

FIRST = PlatformIndex(0)
MiB = 2**20


@pytest.fixture(params=BACKENDS.values(), ids=BACKENDS.keys())
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    backend = request.param()
    yield backend
    backend.close()


@pytest.fixture
def region(backend: Backend) -> Iterator[Region]:
    """A MiB on the first device."""
    region = backend.reserve(FIRST, MiB)
    yield region
    backend.release(region)


def put(backend: Backend, region: Region, values: np.ndarray, offset: int = 0):
    """Make a device array with these values."""
    array = backend.view(region.device, region.address + offset, values.shape, values.dtype)
    stream = backend.stream(region.device)
    stream.upload(array, values)
    stream.synchronize()
    return array


def get(stream: Stream, array) -> np.ndarray:
    """Read a device array, after everything given to the stream so far."""
    host = np.full(array.shape, 99, array.dtype)
    stream.download(host, array)
    stream.synchronize()
    return host


# --- devices --------------------------------------------------------------------------


def test_devices_describe_themselves(backend):
    for info in backend.devices():
        assert info.device_type in ("CPU", "GPU")
        assert info.model
        assert info.memory_bytes > 0
        assert bool(info.pci_bus_id and info.uuid) == (info.device_type == "GPU")


def test_listing_is_stable(backend):
    assert backend.devices() == backend.devices()
    assert backend.hidden() == backend.hidden()


def test_free_memory_is_within_total(backend):
    for index, info in enumerate(backend.devices()):
        free, total = backend.memory(PlatformIndex(index))
        assert 0 < free <= total == info.memory_bytes


# --- regions --------------------------------------------------------------------------


def test_regions_are_aligned_and_disjoint(backend):
    regions = [backend.reserve(FIRST, 1000) for _ in range(5)]
    spans = sorted((r.address, r.address + r.nbytes) for r in regions)

    assert all(start % 256 == 0 for start, _ in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    for region in regions:
        backend.release(region)


def test_reserved_memory_is_not_free(backend):
    if backend.name == "host":
        pytest.skip("what is free on the host changes by itself")
    before = backend.memory(FIRST).free

    region = backend.reserve(FIRST, 3 * MiB)
    # At least: a driver may take whole pages, as CUDA does.
    assert backend.memory(FIRST).free <= before - 3 * MiB

    backend.release(region)
    assert backend.memory(FIRST).free == before


def test_reserving_too_much_changes_nothing(backend):
    total = backend.memory(FIRST).total
    with pytest.raises(DeviceMemoryError) as raised:
        backend.reserve(FIRST, total + 1)

    assert (raised.value.nbytes, raised.value.total) == (total + 1, total)
    backend.release(backend.reserve(FIRST, MiB))


@pytest.mark.parametrize("nbytes", [0, -1])
def test_reserving_nothing_is_an_error(backend, nbytes):
    with pytest.raises(ValueError, match=f"Cannot reserve {nbytes} bytes"):
        backend.reserve(FIRST, nbytes)


def test_releasing_twice_is_an_error(backend):
    region = backend.reserve(FIRST, MiB)
    backend.release(region)
    with pytest.raises(ValueError, match="not reserved"):
        backend.release(region)


def test_devices_have_memories_of_their_own(backend):
    if len(backend.devices()) < 2:
        pytest.skip("one device")
    second = PlatformIndex(1)
    before = backend.memory(second).free
    region = backend.reserve(FIRST, MiB)

    assert backend.memory(second).free == before
    with pytest.raises(ValueError, match="No region"):
        backend.view(second, region.address, (4,), np.float32)
    backend.release(region)


def test_processes_that_hold_memory_are_listed(backend):
    region = backend.reserve(FIRST, MiB)
    backend.announce(FIRST, 2 * MiB, growth=True)
    told = [process for process in backend.processes(FIRST) if process.pid == os.getpid()]

    assert len(told) <= 1  # not every driver tells
    if backend.name == "sim":
        assert (told[0].limit_bytes, told[0].growth) == (2 * MiB, True)
        assert told[0].nbytes >= MiB
    backend.release(region)


def test_closing_gives_everything_back(backend):
    before = backend.memory(FIRST).free
    for _ in range(3):
        backend.reserve(FIRST, MiB)
    backend.close()
    backend.close()

    assert backend.name == "host" or backend.memory(FIRST).free >= before


def test_release_from_a_finalizer_inside_reserve(backend):
    """Garbage that owns a region may be collected at any allocation, ours included."""

    class Owner:
        def __init__(self) -> None:
            self.region = backend.reserve(FIRST, MiB)
            self.cycle = self

        def __del__(self) -> None:
            backend.release(self.region)

    threshold = gc.get_threshold()
    gc.set_threshold(1)  # a collection at nearly every allocation of an object
    try:
        for _ in range(50):
            Owner()
            backend.release(backend.reserve(FIRST, MiB))
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    backend.release(backend.reserve(FIRST, backend.memory(FIRST).free // 2))


def test_threads_reserve_and_release(backend):
    before = backend.memory(FIRST).free

    def work() -> None:
        for _ in range(100):
            backend.release(backend.reserve(FIRST, 4096))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert backend.name == "host" or backend.memory(FIRST).free == before


# --- views ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex128", "float16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (4, 5)])
def test_view_has_shape_and_dtype(backend, region, shape, dtype):
    array = backend.view(FIRST, region.address + 256, shape, dtype)

    assert array.shape == shape
    assert array.dtype == np.dtype(dtype)


def test_views_of_the_same_memory_share_it(backend, region):
    put(backend, region, np.arange(4, dtype=np.float32))
    again = backend.view(FIRST, region.address, (2, 2), np.float32)

    assert get(backend.stream(FIRST), again).tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("offset", [-4, MiB - 12, MiB])
def test_view_outside_a_region_is_an_error(backend, region, offset):
    with pytest.raises(ValueError, match=r"No region .* holds the 16 bytes at"):
        backend.view(FIRST, region.address + offset, (4,), np.float32)


def test_view_keeps_its_owner_alive(backend, region):
    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    array = backend.view(FIRST, region.address, (4,), np.float32, owner=owner)
    part = array[1:].reshape(3, 1)
    del owner, array
    gc.collect()
    assert alive() is not None

    del part
    gc.collect()
    assert alive() is None


# --- copies ---------------------------------------------------------------------------


def test_upload_then_download(backend, region):
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    array = put(backend, region, values)

    assert np.array_equal(get(backend.stream(FIRST), array), values)


def test_transfer_between_devices(backend, region):
    values = np.linspace(0, 1, 7)
    source = put(backend, region, values)
    target_device = PlatformIndex(len(backend.devices()) - 1)
    other = backend.reserve(target_device, MiB)
    target = backend.view(target_device, other.address, (7,), np.float64)
    stream = backend.stream(target_device)
    stream.transfer(target, source)

    assert np.array_equal(get(stream, target), values)
    backend.release(other)


@pytest.mark.parametrize("direction", ["upload", "download", "transfer"])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((3,), "float32"), ((2, 2), "float32"), ((4,), "int32")]
)
def test_copy_changes_neither_shape_nor_dtype(backend, region, direction, shape, dtype):
    device_array = backend.view(FIRST, region.address, (4,), np.float32)
    if direction == "transfer":
        other = backend.view(FIRST, region.address + 4096, shape, dtype)
        target, source = device_array, other
    elif direction == "upload":
        target, source = device_array, np.zeros(shape, dtype)
    else:
        target, source = np.zeros(shape, dtype), device_array
    with pytest.raises(ValueError, match="a copy keeps shape and dtype"):
        getattr(backend.stream(FIRST), direction)(target, source)


@pytest.mark.parametrize("direction", ["upload", "download", "transfer"])
def test_copy_needs_contiguous_arrays(backend, region, direction):
    device_array = backend.view(FIRST, region.address, (8,), np.float32)
    strided = device_array[::2]
    if direction == "transfer":
        other = backend.view(FIRST, region.address + 4096, (4,), np.float32)
        target, source = other, strided
    elif direction == "upload":
        target, source = strided, np.zeros(4, np.float32)
    else:
        target, source = np.zeros(8, np.float32)[::2], device_array[:4]
    with pytest.raises(ValueError, match="not C-contiguous"):
        getattr(backend.stream(FIRST), direction)(target, source)


# --- streams --------------------------------------------------------------------------


def test_work_on_a_stream_happens_in_order(backend, region):
    xp = backend.xp
    array = put(backend, region, np.ones(4, np.float32))
    stream = backend.stream(FIRST)
    stream.launch(lambda: xp.add(array, array, out=array))
    stream.upload(array[:2], np.full(2, 10, np.float32))
    stream.launch(lambda: xp.multiply(array, array, out=array))

    assert get(stream, array).tolist() == [100, 100, 4, 4]


def test_work_happens_on_the_last_device_too(backend):
    last = PlatformIndex(len(backend.devices()) - 1)
    region = backend.reserve(last, MiB)
    array = put(backend, region, np.ones(4, np.float32))
    stream = backend.stream(last)
    stream.launch(lambda: backend.xp.add(array, array, out=array))
    stream.record().synchronize()

    assert get(stream, array).tolist() == [2] * 4
    backend.release(region)


def test_streams_are_ordered_by_events(backend, region):
    xp = backend.xp
    array = put(backend, region, np.zeros(4, np.float32))
    producer, consumer = backend.stream(FIRST), backend.stream(FIRST)
    producer.launch(lambda: array.fill(5))
    consumer.wait(producer.record())
    consumer.launch(lambda: xp.add(array, array, out=array))

    assert get(consumer, array).tolist() == [10] * 4


def test_event_covers_only_what_came_before(backend, region):
    array = put(backend, region, np.zeros(4, np.float32))
    stream = backend.stream(FIRST)
    stream.launch(lambda: array.fill(1))
    event = stream.record()
    stream.launch(lambda: array.fill(2))
    event.synchronize()

    assert event.done()
    assert get(stream, array).tolist() == [2] * 4


def test_polling_an_event_ends(backend, region):
    array = put(backend, region, np.zeros(4, np.float32))
    stream = backend.stream(FIRST)
    for _ in range(10):
        stream.launch(lambda: array.fill(3))
    event = stream.record()

    assert any(event.done() for _ in range(100_000))
    assert get(stream, array).tolist() == [3] * 4


def test_stream_knows_its_device(backend):
    for index in range(len(backend.devices())):
        assert backend.stream(PlatformIndex(index)).device == index


def test_failed_work_leaves_the_stream_usable(backend, region):
    array = put(backend, region, np.zeros(4, np.float32))
    stream = backend.stream(FIRST)

    def fail() -> None:
        raise ZeroDivisionError("work failed")

    with pytest.raises(ZeroDivisionError, match="work failed"):  # noqa: PT012 - either
        stream.launch(fail)
        stream.synchronize()
    stream.launch(lambda: array.fill(7))
    assert get(stream, array).tolist() == [7] * 4


def test_threads_use_streams_of_their_own(backend, region):
    xp = backend.xp
    results = {}

    def work(slot: int) -> None:
        address = region.address + 4096 * slot
        array = backend.view(FIRST, address, (64,), np.float32)
        stream = backend.stream(FIRST)
        stream.upload(array, np.full(64, slot, np.float32))
        for _ in range(20):
            stream.launch(lambda: xp.add(array, 1, out=array))
        results[slot] = get(stream, array)

    threads = [threading.Thread(target=work, args=[slot]) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((results[slot] == slot + 20).all() for slot in range(4))


def test_threads_that_wait_for_each_other_finish(backend, region):
    """Two streams, each waiting for the other's earlier work, forced by two threads."""
    array = put(backend, region, np.zeros(4, np.float32))
    one, two = backend.stream(FIRST), backend.stream(FIRST)
    for _ in range(50):
        one.launch(lambda: array.fill(1))
        two.wait(one.record())
        two.launch(lambda: array.fill(2))
        one.wait(two.record())
    threads = [threading.Thread(target=stream.synchronize) for stream in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert get(one, array).tolist() == [2] * 4
