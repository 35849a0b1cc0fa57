"""Ctrl-C, at every moment that there is in an operation of the arena.

After an interrupt the arena is exactly as before the operation or as after it: the same chunks
at the same addresses, the same counters. What only a buffer owned is free once that is gone.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import berth.memory
from berth.memory.arena import Arena, ArenaOptions
from berth.memory.buffer import Buffer, Holder
from tests.memory.interrupts import Interrupter, arrival, default_handler, let_signals_arrive
from tests.memory.sources import Addresses

KiB, MiB = 2**10, 2**20
MEMORY = Path(berth.memory.__file__).parent


class Source(Addresses):
    """Releases at once, also what is gone: an interrupted release is repeated."""

    def release(self, address: int) -> None:
        self.live.pop(address, None)


class Scene:
    """An arena with holes, on a source that is known."""

    def __init__(self, **options: Any) -> None:
        self.source = Source()
        self.arena = Arena("arena", self.source, 64 * MiB, ArenaOptions(**options))
        sizes = [1 * KiB, 4 * KiB, 2 * KiB, 1 * MiB, 8 * KiB, 300, 16 * KiB]
        self.held = [self.arena.allocate(size) for size in sizes]
        self.buffers = [Buffer(self.arena, size, Holder("x")) for size in (5 * KiB, 700)]
        for index in (1, 3, 5):
            self.arena.free(self.held[index])
        self.arena.check()

    def free(self, *indices: int) -> None:
        for index in indices:
            self.arena.free(self.held[index])

    def state(self) -> Any:
        """Describe everything that later calls could depend on, and check it."""
        self.arena.check()
        arena, stats = self.arena, self.arena.stats
        chunks = [
            (c.address, c.size, c.requested, c.allocation_id)
            for region in arena.regions
            for c in region.chunks()
        ]
        counted = stats.in_use_bytes, stats.peak_bytes, stats.n_allocations, stats.largest_bytes
        reserved = arena.reserved_bytes, stats.peak_reserved_bytes, arena.next_region_bytes
        assert sum(self.source.live.values()) == arena.reserved_bytes
        return chunks, counted, reserved


OPERATIONS: dict[str, Callable[[Scene], Any]] = {
    "allocate a part of a chunk": lambda scene: scene.arena.allocate(500_000),
    "allocate a whole chunk": lambda scene: scene.arena.allocate(4 * KiB),
    "allocate nothing": lambda scene: scene.arena.allocate(0),
    "allocate too much": lambda scene: scene.arena.allocate(65 * MiB),
    "free": lambda scene: scene.free(0),
    "count a free": lambda scene: (scene.free(0), scene.arena.stats.in_use_bytes),
    "free between free chunks": lambda scene: (scene.free(2), scene.arena.stats.peak_bytes),
    "free a buffer": lambda scene: scene.buffers[0].free(),
    "look": lambda scene: (scene.arena.holders(), scene.arena.largest_free_bytes()),
    "clear the counters": lambda scene: scene.arena.stats.clear(),
    "trim": lambda scene: scene.arena.trim(),
    "reserve all": lambda scene: scene.arena.reserve_all(64 * MiB),
}
GROWING: dict[str, Callable[[Scene], Any]] = {
    "grow": lambda scene: scene.arena.allocate(3 * MiB),
    "grow for a large chunk": lambda scene: scene.arena.allocate(30 * MiB),
}


def states_of(make: Callable[[], Scene], operation: Callable[[Scene], Any]) -> list[Any]:
    """Return the states before and after, the operation not being interrupted."""
    before, after = make(), make()
    operation(after)
    return [before.state(), after.state()]


def interrupted_everywhere(make: Callable[[], Scene], operation: Callable[[Scene], Any]):
    """Yield a scene, and whether the operation ended, for an interrupt at each moment."""
    interrupter, n = Interrupter(MEMORY), 0
    is_reached = True
    while is_reached:
        n += 1
        scene = make()
        is_reached, is_over = interrupter.run(lambda scene=scene: operation(scene), n)
        yield scene, is_over
    assert n > 1
    assert is_over


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_interrupted_operation_is_whole_or_not_begun(operation):
    for make in (Scene, lambda: Scene(growth=True)):
        expected = states_of(make, operation)
        for scene, is_over in interrupted_everywhere(make, operation):
            assert scene.state() in (expected[1:] if is_over else expected)


@pytest.mark.parametrize("operation", GROWING.values(), ids=GROWING)
def test_interrupted_growth_is_whole(operation):
    """The region may be there without its allocation; nothing of the source is lost."""

    def make():
        return Scene(growth=True)

    [before, after] = states_of(make, operation)
    for scene, is_over in interrupted_everywhere(make, operation):
        state = scene.state()
        assert state[1] in (before[1], after[1])
        assert state[2][0] in (before[2][0], after[2][0])
        if is_over:
            assert state == after
        elif state[1] == before[1]:
            assert operation(scene) is not None  # it works now
            scene.arena.check()


def test_interrupted_collection_is_whole():
    def make():
        scene = Scene(growth=True)
        scene.arena.free(scene.arena.allocate(30 * MiB))
        return scene

    for scene, _ in interrupted_everywhere(make, lambda scene: scene.arena.allocate(50 * MiB)):
        scene.state()
        if not any(size > 32 * MiB for _, size, _, _ in scene.state()[0]):
            assert scene.arena.allocate(50 * MiB) is not None


def test_interrupted_close_gives_everything_back():
    for scene, _ in interrupted_everywhere(Scene, lambda scene: scene.arena.close()):
        scene.arena.close()
        assert scene.source.live == {}
        assert scene.arena.stats.in_use_bytes == scene.arena.reserved_bytes == 0


def test_interrupted_buffer_leaks_nothing():
    """The memory has an owner from its first moment on, or is not taken."""
    before = Scene().state()
    for scene, is_over in interrupted_everywhere(
        Scene, lambda scene: scene.buffers.append(Buffer(scene.arena, 500_000, Holder("y")))
    ):
        assert (len(scene.buffers) == 3) or not is_over
        del scene.buffers[2:]
        assert scene.state()[0] == before[0]


def test_finalizer_swallows_no_interrupt():
    """A buffer's finalizer is C code: Ctrl-C cannot arrive in it, and is not lost."""
    scene = Scene()
    del scene.buffers[1]
    expected = scene.state()
    scene = Scene()
    is_reached, _ = Interrupter(MEMORY).run(scene.buffers.pop, 1)
    assert not is_reached
    assert scene.state() == expected

    scene = Scene()
    with default_handler(), pytest.raises(KeyboardInterrupt):
        let_signals_arrive((arrival[signal.SIGINT], scene.buffers.pop()))
    assert scene.state() == expected


def test_interrupted_mending_is_mended():
    """A second interrupt while the arena rebuilds itself after the first."""
    expected = states_of(Scene, lambda scene: scene.free(2))
    interrupter, n = Interrupter(MEMORY), 0
    is_reached = True
    while is_reached:
        n += 1
        scene = Scene()
        scene.free(2)
        # In the middle of joining the chunk with both of its neighbours.
        interrupter.run(lambda scene=scene: scene.arena.stats.in_use_bytes, 90)
        assert scene.arena._is_changing
        is_reached, _ = interrupter.run(lambda scene=scene: scene.arena.stats.in_use_bytes, n)
        assert scene.state() == expected[1]
    assert n > 100


def test_broken_off_change_leaves_addresses_as_they_would_be():
    """Later allocations are those of an arena that never was interrupted."""
    sizes = [300, 70_000, 4 * KiB, 1 * KiB, 900_000, 2 * KiB]

    def make():
        scene = Scene()
        scene.free(2)
        return scene

    untouched = make()
    expected = [untouched.arena.allocate(size) for size in sizes]
    for scene, _ in interrupted_everywhere(make, lambda scene: scene.arena.stats.in_use_bytes):
        assert [scene.arena.allocate(size) for size in sizes] == expected
