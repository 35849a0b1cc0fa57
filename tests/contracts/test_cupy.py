"""That the fake of CuPy bites, that its names are CuPy's, and what CUDA adds.

The contract itself is in test_backend.py, which holds the `cupy-shaped` backend to it
like any other.
"""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Iterator
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from berth.backends.base import PlatformIndex
from berth.errors import DeviceMemoryError
from tests.contracts.cupy_backend import CupyBackend
from tests.contracts.fake_cuda import CUDARuntimeError
from tests.contracts.fake_cupy import make_fake_cupy

FIRST, SECOND = PlatformIndex(0), PlatformIndex(1)
MiB = 2**20


@pytest.fixture
def cupy() -> Any:
    return make_fake_cupy(2)


@pytest.fixture
def backend(cupy: Any) -> CupyBackend:
    return CupyBackend(cupy)


def floats(backend: CupyBackend, device: PlatformIndex = FIRST):
    region = backend.reserve(device, MiB)
    return backend.view(device, region.address, (4,), np.float32)


def peek(array) -> list[float]:
    """Look at device memory as no program may: without waiting for anything."""
    return array._locate()().tolist()


# --- the fake bites -------------------------------------------------------------------


def test_nothing_happens_before_it_is_forced(backend):
    array = floats(backend)
    stream = backend.stream(FIRST)
    stream.launch(lambda: array.fill(5))
    assert peek(array) != [5] * 4

    stream.synchronize()
    assert peek(array) == [5] * 4


def test_a_forgotten_wait_shows(backend):
    array, host = floats(backend), np.zeros(4, np.float32)
    producer, consumer = backend.stream(FIRST), backend.stream(FIRST)
    producer.launch(lambda: array.fill(5))
    consumer.download(host, array)
    consumer.synchronize()

    assert host.tolist() != [5] * 4


def test_a_source_overwritten_too_early_shows(backend):
    array, source = floats(backend), np.ones(4, np.float32)
    stream = backend.stream(FIRST)
    stream.upload(array, source)
    source[:] = 2
    stream.synchronize()

    assert peek(array) == [2] * 4


def test_work_without_a_stream_goes_to_the_null_stream(cupy, backend):
    array = floats(backend)
    array.fill(5)
    backend.stream(FIRST).synchronize()
    assert peek(array) != [5] * 4

    cupy.cuda.Stream.null.synchronize()
    assert peek(array) == [5] * 4


def test_the_host_cannot_read_device_arrays(backend):
    array = floats(backend)
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(array)
    with pytest.raises(TypeError, match="from the host"):
        list(array)


def test_kernels_take_arrays_of_the_current_device_only(cupy, backend):
    here, there = floats(backend, FIRST), floats(backend, SECOND)
    with pytest.raises(ValueError, match=r"resides \(1\) is different"):
        backend.stream(FIRST).launch(lambda: cupy.add(here, there, out=here))
    with pytest.raises(TypeError, match="Unsupported type"):
        backend.stream(FIRST).launch(lambda: cupy.add(here, np.ones(4, np.float32), out=here))


def test_streams_and_events_serve_their_own_device_only(cupy):
    stream, event = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event()
    with cupy.cuda.Device(1):
        with pytest.raises(RuntimeError, match="does not match"):
            stream.use()
        other = cupy.cuda.Stream(non_blocking=True)
    with pytest.raises(RuntimeError, match="InvalidResourceHandle"):
        other.record(event)


def test_memory_used_after_it_was_freed_is_an_error(backend):
    region = backend.reserve(FIRST, MiB)
    array = backend.view(FIRST, region.address, (4,), np.float32)
    stream = backend.stream(FIRST)
    stream.launch(lambda: array.fill(5))
    backend.release(region)
    with pytest.raises(RuntimeError, match="IllegalAddress"):
        stream.synchronize()


# --- the backend, where CUDA is particular ---------------------------------------------


def test_work_and_copies_on_another_device_than_the_current_one(cupy, backend):
    array, host = floats(backend, SECOND), np.zeros(4, np.float32)
    stream, other = backend.stream(SECOND), backend.stream(FIRST)
    stream.launch(lambda: array.fill(5))
    stream.launch(lambda: cupy.multiply(array, array, out=array))
    other.wait(stream.record())  # an event crosses devices
    other.synchronize()
    assert peek(array) == [25] * 4

    stream.download(host, array)
    stream.synchronize()
    assert host.tolist() == [25] * 4


def test_launch_leaves_what_the_thread_had_chosen(cupy, backend):
    mine = cupy.cuda.Stream(non_blocking=True).use()
    backend.stream(FIRST).launch(lambda: None)
    backend.stream(SECOND).launch(lambda: None)
    with pytest.raises(ZeroDivisionError):
        backend.stream(SECOND).launch(lambda: 1 / 0)

    assert cupy.cuda.get_current_stream() is mine
    assert cupy.cuda.Device().id == FIRST


def test_dropped_host_arrays_live_until_their_copies_have_happened(backend):
    """Large ones, which go back to the system at once when they are freed."""
    region = backend.reserve(FIRST, 32 * MiB)
    array = backend.view(FIRST, region.address, (4 * MiB,), np.float32)
    producer, consumer = backend.stream(FIRST), backend.stream(FIRST)
    for value in range(10):
        producer.upload(array, np.full(4 * MiB, value, np.float32))
    consumer.wait(producer.record())
    del producer
    consumer.synchronize()

    assert peek(array[:2]) == [9, 9]
    assert not backend._in_flight._copies


def test_a_dropped_target_lives_until_it_has_been_written(backend):
    stream, array = backend.stream(FIRST), floats(backend)
    host = np.zeros(4, np.float32)
    alive = weakref.ref(host)
    stream.download(host, array)
    del host
    assert alive() is not None

    stream.synchronize()
    assert alive() is None


def test_an_event_of_another_backend_is_waited_for_by_the_host(backend):
    class Elsewhere:
        waited = False

        def done(self) -> bool:
            return self.waited

        def synchronize(self) -> None:
            self.waited = True

    event = Elsewhere()
    backend.stream(FIRST).wait(event)
    assert event.waited


def test_failed_polling_is_an_error_and_not_for_ever(cupy, backend):
    event = backend.stream(FIRST).record()
    cupy.cuda.runtime.eventQuery = lambda _: 700
    with pytest.raises(RuntimeError, match="IllegalAddress"):
        event.done()


def test_memory_comes_from_the_device_asked_for(backend):
    first, second = backend.memory(FIRST), backend.memory(SECOND)
    backend.reserve(SECOND, 2 * MiB)

    assert backend.memory(FIRST) == first
    assert backend.memory(SECOND).free == second.free - 2 * MiB


@pytest.mark.parametrize("nbytes", [65 * MiB, 2**70])
def test_too_much_memory_is_berths_own_error(backend, nbytes):
    with pytest.raises(DeviceMemoryError) as raised:
        backend.reserve(SECOND, nbytes)
    assert raised.value.free == backend.memory(SECOND).free


# --- CuPy itself, where it is installed; it needs no GPU for this -----------------------


def public_names(fake: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name in [name for name in dir(fake) if not name.startswith("_")]:
        value = getattr(fake, name)
        yield f"{path}{name}", value
        if isinstance(value, SimpleNamespace | type) and value is not CUDARuntimeError:
            yield from public_names(value, f"{path}{name}.")


def words_about(thing: Any) -> list[str]:
    """List the words of a signature, or of the text that Cython has in its place."""
    try:
        signature = str(inspect.signature(thing))
    except ValueError:
        signature = ""
    return re.findall(r"\w+", f"{signature} {thing.__doc__}")


def test_cupy_has_the_names_and_parameters_of_the_fake(cupy):
    real = pytest.importorskip("cupy", reason="CuPy is not installed")
    for path, fake in public_names(cupy):
        thing = attrgetter(path)(real)
        if callable(fake) and path not in ("add", "multiply"):
            parameters = inspect.signature(fake).parameters
            assert set(parameters) <= set(words_about(thing)), path


def test_views_by_cupy_itself(backend):
    real = pytest.importorskip("cupy", reason="CuPy is not installed")
    region = backend.reserve(SECOND, MiB)
    backend.xp, backend._cuda = real, real.cuda

    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    array = backend.view(SECOND, region.address + 256, (4, 5), np.float16, owner=owner)
    part = array[1:].reshape(15)
    assert (array.shape, array.dtype, array.nbytes) == ((4, 5), np.float16, 40)
    assert part.data.ptr == region.address + 256 + 10
    assert part.data.device_id == SECOND
    assert part.flags.c_contiguous
    assert not array[:, 1:].flags.c_contiguous

    del owner, array
    assert alive() is not None
    del part
    assert alive() is None
