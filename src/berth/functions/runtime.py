"""Execution of a traced function's graph: its engine, and the devices of its arguments."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from berth.devices.device import Device
from berth.dtypes import DType
from berth.eager.placement import log_execution, log_line, soft_placement_message
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError, explain
from berth.front.context import context
from berth.graph.expect import current_expectation
from berth.graph.func_graph import FuncGraph
from berth.graph.tensor import SymbolicTensor
from berth.lru import LRUCache
from berth.plan.candidates import Candidates
from berth.plan.placement import Placement
from berth.plan.placement_errors import check_expectations
from berth.plan.plan import Feed, Request
from berth.run.engine import Engine
from berth.run.launch import to_device
from berth.run.planner import Options
from berth.run.resources import Resources
from berth.run.runner import RequestRunner, Runner
from berth.run.state import SessionState

MAX_RUNNERS = 16


def _handles(graph: FuncGraph) -> list[Any]:
    """List the variables of the program that a function uses."""
    return [handle for handle in graph.handles.values() if hasattr(handle, "lock")]


def _key_of(given: Sequence[Any]) -> Hashable:
    """Return a key for the shapes and devices of tensors."""
    try:
        return tuple([(tensor.dims, tensor.place) for tensor in given])
    except AttributeError:
        raise _out_of_scope(given) from None


def _out_of_scope(given: Sequence[Any]) -> TypeError:
    symbol = next(tensor for tensor in given if not hasattr(tensor, "place"))
    return TypeError(
        f"{symbol} is out of scope and cannot be used here. Use return values, explicit Python "
        "locals or TensorFlow collections to access it."
    )


_RLock: Any = type(threading.RLock())


class FunctionState(SessionState):
    """State of a function between calls. Its variables are those of the program."""

    moves = True

    def __init__(self, graph: FuncGraph, devices: Sequence[Any]) -> None:
        super().__init__(devices)
        self._handles = graph.handles

    def variable(self, op: Any, device: int, dims: Any, dtype: Any) -> Any:
        """Return what stands for a variable outside."""
        return self._handles[op]


class _PlannedCall(NamedTuple):
    """What runs calls with arguments of certain shapes on certain devices."""

    runner: RequestRunner
    results: list[tuple[Device, DType]]
    """The device and type of each result."""
    on_host: bool
    """Whether arguments are fed from the host."""


class _Opened(NamedTuple):
    """A graph on the devices of the program, with its calls: replaced whole when they go."""

    engine: Engine
    devices: Sequence[Device]
    calls: LRUCache[Any, _PlannedCall]

    def position_of(self, tensor: EagerTensor) -> int:
        """Return the number of a tensor's device; raise RuntimeError if that is gone."""
        place = tensor.place
        for number, device in enumerate(self.devices):
            # The host's memory outlives `berth.reset()`.
            if device is place or (place.is_host and device.name == place.name):
                return number
        raise place.gone()


class FunctionRuntime:
    """Runs one graph for some of its tensors, on the devices of the program."""

    def __init__(self, graph: FuncGraph, fetches: Sequence[SymbolicTensor], name: str) -> None:
        self._graph = graph
        self._name = name
        self._fetches = tuple(fetches)
        self._inputs = [*graph.inputs, *(inner for _, inner in graph.captures)]
        self._targets = tuple(graph.effects)
        self._written = graph.written()
        self._locks: list[Any] = []
        self._opened: _Opened | None = None
        self._logged: Placement | None = None

    def run(self, given: Sequence[EagerTensor], key: Hashable = None) -> list[EagerTensor]:
        """Run the graph on tensors; return tensors.

        `key` is a key of the caller's for their shapes and devices, if it has one.
        """
        program = context()
        devices = program.opened()
        opened = self._opened
        if opened is None or opened.devices is not devices:
            opened = self._start(program, devices)
        if key is None:
            key = _key_of(given)
        call = opened.calls.get(key)
        if call is None or call.runner.is_released:
            call = opened.calls[key] = self._plan(opened, given)
        if program.switches.log_placement:
            self._log_operations(opened.engine.placement)
            log_execution(self._name, program.builder.placer.device_for())
        if current_expectation() is not None:
            self._check_expected(opened.engine.placement)
        runner, results, on_host = call
        fed = [t.value for t in given] if on_host else [t.array for t in given]
        arrays = self._run_locked(runner, fed) if self._locks else runner.run(fed)
        make = partial(self._brought, devices) if on_host else EagerTensor
        if len(results) == 1:  # as mostly: quicker than a comprehension, which is a call
            return [make(arrays[0], *results[0])]
        return [make(array, *result) for array, result in zip(arrays, results, strict=True)]

    def _brought(
        self, devices: Sequence[Device], array: Any, place: Device, dtype: DType
    ) -> EagerTensor:
        """Bring a result from the host to the device that it is on for the program."""
        host, value = devices[0], np.asarray(array)
        if value.dtype == object:  # strings, or rows of several shapes: only the host has them
            return EagerTensor(value, host, dtype)
        value = value.astype(dtype.np_dtype, copy=False)
        there = to_device(host, place, value, dtype, self._name, devices)
        return EagerTensor(there, place, dtype)

    def _check_expected(self, placement: Any) -> None:
        """Raise if an operation of the function is elsewhere than `expect_device` demands."""
        placed = [op for op in self._graph.ops if op in placement.devices]
        fed = {tensor.op for tensor in self._inputs}
        made_here = [op for op in placed if op not in fed]
        check_expectations(placement, made_here, current_expectation())

    def _run_locked(self, runner: Any, fed: Sequence[Any]) -> Any:
        """Run while no other thread writes to the variables that are used."""
        # Each lock is acquired and noted, and all are released, by one C call: Ctrl-C between
        # the two would leave a lock that is never released.
        held: list[Any] = []
        releases = map(_RLock.release, held)
        try:
            held.extend(filter(_RLock.acquire, self._locks))
            for handle in self._written:
                handle.prepare_write()
            return runner.run(fed)
        finally:
            deque(releases, 0)

    def restart(self) -> None:
        """Let random operations start over with their first values."""
        if (opened := self._opened) is not None:
            opened.engine.state.restart()

    def drop_idle(self) -> None:
        """Free the memory that no call is using."""
        if (opened := self._opened) is not None:
            opened.engine.drop_idle()

    def invalidate(self, reason: str, *, to_parent: bool = False) -> None:
        """Drop the engine with its devices: the next call makes another."""
        opened, self._opened = self._opened, None
        if opened is not None and not to_parent:
            opened.engine.close()

    def _start(self, program: Any, devices: Sequence[Device]) -> _Opened:
        """Make an engine for the devices that there are now."""
        for handle in _handles(self._graph):
            if handle.place not in devices:
                raise RuntimeError(
                    f"The variable {handle.name} cannot be used any more: its devices went by "
                    f"{handle.place.gone_by}."
                )
        # Always in the same order, or two functions could wait for each other.
        self._locks = [h.lock for h in sorted(_handles(self._graph), key=id)]
        switches = program.switches
        soft = switches.soft_placement
        is_soft = soft is None or soft
        if not is_soft:
            self._check_devices(devices)
        engine = Engine(
            self._graph,
            Resources(devices, program, pool=program.pool),
            Options(soft_placement=is_soft),
            state=FunctionState(self._graph, devices),
        )
        opened = _Opened(engine, devices, LRUCache("function runners", MAX_RUNNERS))
        self._opened = opened
        program.sessions.add(self)  # when there is something to close
        return opened

    def _check_devices(self, devices: Sequence[Any]) -> None:
        """Raise InvalidArgumentError for what asks for a device that is not there."""
        candidates = Candidates(devices, soft=False)
        for op in self._graph.ops:
            request = candidates.read(op.device)
            if request is None or not candidates.exists(request):
                names = ", ".join(device.short_name for device in devices)
                raise InvalidArgumentError(
                    None,
                    None,
                    explain(
                        f"Unable to find any devices for spec {op.device} [Op:{self._name}]",
                        f"{op.name} was made at {op.where.place}.",
                        f"The devices are {names}.",
                    ),
                )

    def _log_moves(self, placement: Placement | None, devices: Sequence[Device]) -> None:
        """Log, once, which operations soft placement runs elsewhere than they ask for."""
        if placement is None:
            return
        for op in placement.moved:
            device = placement.devices[op]
            message = soft_placement_message(op.type, op.device, device, devices)
            context().log_once(message)

    def _log_operations(self, placement: Placement | None) -> None:
        """Log where each operation runs, when the graph is placed."""
        if placement is not None and placement is not self._logged:
            self._logged = placement
            arguments = dict.fromkeys((symbol.op for symbol in self._inputs), "_Arg")
            for line in placement.lines(arguments):
                log_line(line)

    def _plan(self, opened: _Opened, given: Sequence[EagerTensor]) -> _PlannedCall:
        """Plan a call with tensors like these."""
        engine, devices = opened.engine, opened.devices
        feeds = tuple(
            Feed(symbol, tensor.dims, opened.position_of(tensor))
            for symbol, tensor in zip(self._inputs, given, strict=True)
        )
        request = Request(self._fetches, self._targets, feeds, stays=True)
        runner = engine.runner(request)
        self._log_moves(engine.placement, devices)
        if isinstance(runner, Runner):
            places = [devices[value.device] for value in runner.plan.fetches]
            return _PlannedCall(runner, self._results(places), False)
        # Shapes depend on values: everything goes through the host.
        feeds = tuple(Feed(feed.tensor, feed.dims) for feed in feeds)
        request = Request(self._fetches, self._targets, feeds)
        placed = engine.place(request).devices
        homes = {id(symbol): t.place for symbol, t in zip(self._inputs, given, strict=True)}
        places = [homes.get(id(fetch)) or placed[fetch.op] for fetch in self._fetches]
        return _PlannedCall(engine.runner(request), self._results(places), True)

    def _results(self, places: Sequence[Device]) -> list[tuple[Device, DType]]:
        types = [fetch.dtype.base_dtype for fetch in self._fetches]
        return list(zip(places, types, strict=True))
