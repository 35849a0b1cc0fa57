"""OneDeviceStrategy: everything on one device, written as for several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.distribute.mirrored_strategy import canonical_name
from berth.distribute.strategy import Strategy, StrategyExtended
from berth.front.device_scope import device
from berth.public import public_v2


class OneDeviceExtended(StrategyExtended):
    """A strategy for one device, for libraries."""

    def __init__(self, container_strategy: Strategy, name: str) -> None:
        super().__init__(container_strategy)
        self._device = canonical_name(name)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return (self._device,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return (self._device,)

    def create_variable(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Create a variable on the device."""
        with device(self._device):
            return next_creator(**options)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function on the device; return its value."""
        with device(self._device):
            return super().call_for_each_replica(fn, args, kwargs)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Tell whether a variable was created under this strategy."""
        return bool(v.device == self._device)


@public_v2("distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """Training on one device, in the form of a strategy: to test code for several."""

    def __init__(self, device: str) -> None:
        super().__init__(OneDeviceExtended(self, device))
