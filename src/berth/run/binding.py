"""Bindings: a plan bound to memory, every step a prepared call.

Binding takes one workspace from each device's arena and makes an array for every value.
Running is then a loop over calls. What the caller gives or gets, if it is large, is used
where it is: the few calls that touch it are bound again in each run.

Invariants:
  1. A binding serves one run at a time. Several at once need a binding each.
  2. A run that fails leaves the binding fit for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from berth.backends.base import Array, Stream
from berth.devices.device import Device
from berth.ops.dispatch import bind
from berth.ops.opdef import Access, Call, Launch, Source
from berth.plan.fuse import sliced_elements
from berth.plan.partition import HOST
from berth.plan.plan import Plan
from berth.plan.structure import ArrayType, Copy, Stage, Step, Storage, Value
from berth.run.fused import FusedCall
from berth.run.launch import is_small
from berth.run.parts import over_pool
from berth.run.stage import BoundStage, fail
from berth.run.state import SessionState, VariableSlot, uninitialized
from berth.run.threads import Pool
from berth.run.transfers import (
    copy_out,
    download,
    fetch_from,
    result_array,
    return_copy,
    return_own,
    transfer,
    upload,
    wait,
)
from berth.run.workspace import Workspace, cut_array, take_workspace


class Binding:
    """One plan with one set of memory."""

    def __init__(
        self,
        plan: Plan,
        devices: Sequence[Device],
        state: SessionState,
        pool: Pool,
        feeds: Sequence[Array] = (),
    ) -> None:
        self.plan = plan
        self._given = feeds
        """Arrays of the host that are the feeds in all runs, unless each brings its own."""
        self._devices = devices
        self._state = state
        self._pool = pool
        self._join = partial(over_pool, pool=pool)
        self._types = plan.types
        self._arrays: list[Any] = [None] * len(plan.types)
        """The array of each value, by its number; None if there is none now."""
        self._fused: dict[Step, FusedCall] = {}
        self._failures: list[str] = []
        self._may_move: list[tuple[VariableSlot, Array]] = []
        self.stages: list[BoundStage] = []
        self._workspaces: dict[int, Workspace] = {}
        self._streams: dict[int, Stream] = {}
        try:
            self._make()
        except BaseException:
            self.free()
            raise

    def _make(self) -> None:
        plan, devices = self.plan, self._devices
        for device, nbytes in plan.workspace_bytes.items():
            self._workspaces[device] = take_workspace(plan, device, nbytes, devices)
        self._streams = {stage.device: self._stream(stage.device) for stage in plan.stages}
        self.remote = [s for d, s in self._streams.items() if not devices[d].is_host]
        """The streams whose work is not over when the calls are."""
        self._late = self._find_late()
        self._outputs = [value for value in plan.large if value.storage is not Storage.FEED]
        self._bind_sources()
        self._cut_workspaces()
        self._slots = [self._slot_of(v) for v in plan.structure.must_be_initialized]
        self.stages = [self._bind_stage(stage) for stage in plan.stages]
        fed = [(k, value) for k, value in enumerate(plan.feeds) if value is not None]
        self._large_feeds = [(k, value) for k, value in fed if value in self._late]
        small = [(k, value) for k, value in fed if value not in self._late]
        self._small_feeds = [
            (k, self.array_of(value)) for k, value in small if self._is_host(value.device)
        ]
        self._remote_feeds = [
            (k, self.array_of(value), self._streams_at(value.device))
            for k, value in small
            if not self._is_host(value.device)
        ]
        self._fetch = [self._fetcher(position) for position in range(len(plan.fetches))]

    # --- making it --------------------------------------------------------------------------

    def _stream(self, device: int) -> Stream:
        hardware = self._devices[device].hardware
        return hardware.backend.stream(hardware.platform)

    def _find_late(self) -> frozenset[Value]:
        """Return the values that are another array in each run."""
        fed = [value for value in self.plan.feeds if value is not None]
        return self.plan.large | {value for value in fed if value.dtype.is_object}

    def _bind_sources(self) -> None:
        for value in self.plan.structure.sources:
            if value.storage is Storage.VARIABLE:
                slot = self._slot_of(value)
                array = slot.array
                if self._state.moves:
                    self._may_move.append((slot, array))
            elif value.op.definition.source is Source.CONSTANT:
                array = self._state.constant(value.tensor, value.device)
            else:  # it was folded, and another plan may have another value for it
                known = self._types[value.number].value
                array = self._state.make_constant(value.op, value.device, known)
            self._arrays[value.number] = array

    def _slot_of(self, value: Value) -> VariableSlot:
        """Return the memory of a variable."""
        assert value.variable is not None
        dims = self._types[value.number].dims
        return self._state.variable(value.variable, value.device, dims, value.dtype)

    def _cut_workspaces(self) -> None:
        """Make the arrays of the values in the workspaces."""
        arrays, types, offsets = self._arrays, self._types, self.plan.offsets
        for device, values in self.plan.structure.workspaces.items():
            cut = self._cutter(device)
            for value in values:
                number = value.number
                if not self._late or value not in self._late:
                    arrays[number] = cut(types[number], offsets[number])
        for fed, array in zip(self.plan.feeds, self._given, strict=False):
            if fed is not None:
                arrays[fed.number] = array

    def _cutter(self, device: int) -> Callable[[ArrayType, int], Array]:
        """Make the function that makes arrays out of a device's workspace."""
        workspace = self._workspaces.get(device)
        return partial(
            cut_array, self._xp(device), None if workspace is None else workspace.array
        )

    def array_of(self, value: Value) -> Array:
        """Return the array of a value: of an alias or strings, made on first use."""
        array = self._arrays[value.number]
        if array is not None:
            return array
        dims = self._types[value.number].dims
        if value.root is not value:
            array = self.array_of(value.root).reshape(dims)
            if value.root in self._late:
                return array  # another one in the next run
        else:
            assert value.storage is Storage.OBJECTS
            array = np.empty(dims, object)
        self._arrays[value.number] = array
        return array

    def _xp(self, device: int) -> Any:
        return self._devices[device].hardware.backend.xp

    def _bind_stage(self, stage: Stage) -> BoundStage:
        stream = self._streams[stage.device]
        bound = BoundStage(stage, self._types, stream, self._failures)
        others = {self.plan.stages[number].device for number in stage.waits}
        bound.after = [self._bind_wait(stage.device, other) for other in sorted(others)]
        bound.arrivals = [(copy, self._bind_copy(copy)) for copy in stage.arrivals]
        late = self._late
        for step in stage.steps:
            if step.is_known:
                continue
            is_late = bool(late) and any(
                value.root in late for value in (*step.inputs, *step.outputs)
            )
            call = (_wait_for_run, ()) if is_late else self._bind_step(step)
            if call is None:
                continue
            if is_late:
                bound.late.append((len(bound.calls), step))
            bound.calls.append(call)
            bound.owners.append(step)
        return bound

    def _bind_step(self, step: Step) -> Call | None:
        if step.is_plain:  # most are: the short way
            return self._bind_kernel(step, [self.array_of(value) for value in step.inputs])
        if step.members:
            return self._bind_fused(step)
        op = step.op
        definition = op.definition
        if definition.is_alias or definition.access is Access.READ:
            return self._bind_passing_on(step)
        inputs = [
            self._types[value.number].value if k in step.hosts else self.array_of(value)
            for k, value in enumerate(step.inputs)
        ]
        if definition.access is Access.QUERY:
            memory: Any = self._slot_of(step.inputs[0].root)
        else:
            memory = self._state.memory_of(op) if definition.is_stateful else None
        scratch = self._scratch_of(step) if step.has_scratch else ()
        call = self._bind_kernel(step, inputs, scratch, memory)
        if definition.access is Access.ASSIGN and call is not None:
            return _assign, (*call, self._slot_of(step.inputs[0].root))
        return call

    def _bind_kernel(
        self, step: Step, inputs: list[Any], scratch: Sequence[Array] = (), memory: Any = None
    ) -> Call | None:
        outputs = [self.array_of(value) for value in step.outputs]
        xp, n_threads = self._xp(step.device), self._pool.n_threads
        launch = Launch(xp, inputs, outputs, step.op.attrs, scratch, memory, n_threads)
        try:
            return bind(step.kernel, launch, self._join)
        except Exception as error:
            fail(error, step.op)

    def _scratch_of(self, step: Step) -> list[Array]:
        placed = self.plan.scratch.get(step, ())
        cut = self._cutter(step.device)
        return [cut(each.type, each.offset) for each in placed]

    def _bind_passing_on(self, step: Step) -> Call | None:
        """Bind nothing where an output is its input; a copy where it has bytes of its own."""
        output = step.outputs[0]
        if output.root is not output:
            return None
        target = self.array_of(output)
        source = self.array_of(step.inputs[0]).reshape(target.shape)
        return self._xp(step.device).copyto, (target, source)

    def _bind_fused(self, step: Step) -> Call:
        fused = self._fused.get(step)
        if fused is None:
            n_elements, xp = sliced_elements(step, self._types), self._xp(step.device)
            [scratch] = self._scratch_of(step)
            fused = self._fused[step] = FusedCall(step, n_elements, xp, scratch, self._pool)
        fused.bind(self.array_of, self._late)
        return fused, ()

    def _bind_wait(self, device: int, other: int) -> Callable[[], None]:
        """Make a device's stream wait for another's; what the host did is done at once."""
        if self._devices[other].is_host:
            return _nothing
        if self._devices[device].is_host:
            return self._streams[other].synchronize
        return partial(wait, self._streams[device], self._streams[other])

    def _bind_copy(self, copy: Copy) -> Callable[[], None]:
        source_is_host = self._devices[copy.source.device].is_host
        target_is_host = self._devices[copy.target.device].is_host
        source = partial(self.array_of, copy.source)
        target = self.array_of(copy.target)
        if source_is_host:
            stream = self._streams[copy.target.device]
            return partial(upload, stream, target, source)
        from_stream = self._streams_at(copy.source.device)
        if target_is_host:
            return partial(download, from_stream, target, source)
        return partial(transfer, self._streams[copy.target.device], target, source)

    def _streams_at(self, device: int) -> Stream:
        """Return a device's stream; one that only sends has no stage, and gets one now."""
        if device not in self._streams:
            self._streams[device] = self._stream(device)
        return self._streams[device]

    def _is_host(self, device: int) -> bool:
        return self._devices[device].is_host

    def _is_small(self, value: Value) -> bool:
        dims = self._types[value.number].dims
        return is_small(self._devices[value.device], value.dtype, dims)

    def _fetcher(self, position: int) -> Callable[[], Any]:
        """Make the function that gives the caller one of the fetched values."""
        value = self.plan.fetches[position]
        if self.plan.request.stays:
            return self._keeper(position, value)
        if not self._devices[value.device].is_host:
            host = self._result_maker(value, self._devices[HOST])
            stream = self._streams_at(value.device)
            return partial(fetch_from, stream, self.array_of(value), host)
        if value.root in self._late:
            is_given = self._is_given(position, value)
            return partial(return_own if is_given else return_copy, self.array_of, value)
        array = self.array_of(value)
        return partial(array.__getitem__, ()) if array.ndim == 0 else array.copy

    def _is_given(self, position: int, value: Value) -> bool:
        """Tell whether a fetch is the one that gets the memory made for the caller."""
        first = next(k for k, v in enumerate(self.plan.fetches) if v.root is value.root)
        return value.root in self._outputs and position == first

    def _result_maker(self, value: Value, device: Device) -> Callable[[], Array]:
        """Make the function that allocates memory for a result."""
        array_type = self._types[value.number]
        return partial(result_array, device, value.op, array_type, self._devices)

    def _keeper(self, position: int, value: Value) -> Callable[[], Any]:
        """Make the function that gives the caller a value on the device where it is."""
        if value.root in self._late and self._is_given(position, value):
            return partial(return_own, self.array_of, value)
        if value.root not in self._late and self._is_small(value):
            return self.array_of(value).copy  # type: ignore[no-any-return]
        copy_to = self._result_maker(value, self._devices[value.device])
        stream = self._streams_at(value.device)
        return partial(copy_out, stream, copy_to, self._xp(value.device), self.array_of, value)

    # --- running it -------------------------------------------------------------------------

    def begin(self, feeds: Sequence[Any]) -> None:
        """Take what the caller gives, before a run."""
        self._failures.clear()  # an interrupt may have ended the last run before its `end`
        for slot in self._slots:
            if not slot.is_initialized:
                fail(uninitialized(slot.op), slot.op)
        for position, array in self._small_feeds:
            array[...] = feeds[position]
        for position, array, stream in self._remote_feeds:
            stream.transfer(array, feeds[position])
        if self._late:
            for position, value in self._large_feeds:
                self._arrays[value.number] = feeds[position]
            for value in self._outputs:
                make = self._result_maker(value, self._devices[value.device])
                self._arrays[value.number] = make()
            for stage in self.stages:
                for position, step in stage.late:
                    call = self._bind_step(step)
                    stage.calls[position] = call or (_nothing, ())

    @property
    def is_current(self) -> bool:
        """Whether the variables are still where they were."""
        if not self._may_move:
            return True
        return all(slot.array is array for slot, array in self._may_move)

    def finish(self) -> list[Any]:
        """Return what the caller gets, after a run."""
        for stream in self.remote:
            stream.synchronize()
        return [fetch() for fetch in self._fetch]

    def drain(self) -> None:
        """After a failure: wait for the work under way, so that its memory is unused."""
        for stream in self.remote:
            with suppress(Exception):
                stream.synchronize()

    def free(self) -> None:
        """Free the memory. No run may be using it, and none may follow."""
        self.stages.clear()  # the list itself: a worker may not yet be done with it
        self._arrays, self._fused, self._late = [], {}, frozenset()
        self._slots, self._small_feeds, self._fetch = [], [], []
        for workspace in self._workspaces.values():
            workspace.buffer.free()
        self._workspaces = {}

    def end(self) -> None:
        """Release the arrays that belong to the caller."""
        self._failures.clear()
        if self._late:
            for value in self._late:
                self._arrays[value.number] = None
            for fused in self._fused.values():
                fused.release()
            for stage in self.stages:
                for position, _ in stage.late:
                    stage.calls[position] = (_wait_for_run, ())


def _assign(copy: Callable[..., Any], arguments: tuple[Any, ...], slot: VariableSlot) -> None:
    copy(*arguments)
    slot.is_initialized = True


def _wait_for_run() -> None:
    raise AssertionError("a call that is bound in each run was made outside of one")


def _nothing() -> None:
    pass
