"""The open scopes of a graph: what a new node gets beside its name and inputs."""

from __future__ import annotations

from berth.blocks import Stack, Use
from berth.graph.device_scopes import DeviceStack
from berth.graph.gradient_overrides import GradientOverrides
from berth.graph.operation import Operation


class Scopes:
    """Devices, colocations, control dependencies and gradient overrides of open blocks."""

    __slots__ = ("_devices", "beside", "overrides", "waits")

    def __init__(self, devices: DeviceStack | None = None) -> None:
        self._devices = devices or DeviceStack()
        self.beside: Stack[tuple[tuple[Operation, ...], DeviceStack]] = Stack()
        """The colocations of open blocks, each with the device scopes inside."""
        self.waits: Stack[tuple[Operation, ...]] = Stack()
        """The control dependencies of open blocks."""
        self.overrides = GradientOverrides()

    @property
    def devices(self) -> DeviceStack:
        """The device scopes that apply: those inside of the innermost colocation."""
        return self.beside.innermost[1] if self.beside else self._devices

    @property
    def colocated(self) -> tuple[Operation, ...]:
        """The operations that new ones are placed beside."""
        return self.beside.innermost[0] if self.beside else ()

    def copy(self) -> Scopes:
        """Return scopes that are open too, to be opened and closed apart.

        Threads that build one graph in turn, as replicas do, have one each.
        """
        copy = Scopes(self.devices.copy())
        if self.beside:
            copy.beside[Use()] = (self.colocated, copy._devices)
        copy.waits.update(self.waits)
        copy.overrides = self.overrides.copy()
        return copy
