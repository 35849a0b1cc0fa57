"""One program's devices: physical → visible → logical, and when that is fixed (``tf.config``).

The model is a state machine with one transition that cannot be undone:

    listed ──configure──▶ listed ──open──▶ opened

  1. While *listed*, the program chooses: which devices are visible, whether memory
     grows, how a device is split. Nothing is checked against anything but the physical
     devices, as in TensorFlow; what does not go together is found at `open`.
  2. `open` turns the choices into `DeviceOptions`, has the devices made, and takes the
     memory of those that do not grow. If that fails, nothing has changed and another try
     may follow.
  3. Once *opened*, setting a value again to what it is does nothing; setting another
     raises RuntimeError and names the line that opened the devices.

A Session gets its devices from the same `maker`, by its own options.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from berth.backends.base import Backend, HiddenDevice
from berth.backends.kinds import ACCELERATOR_TYPES, DEVICE_TYPES, HOST_TYPE, kind_of
from berth.callsite import CallSite, call_site
from berth.devices.device import Device, LogicalDeviceConfiguration
from berth.devices.full_name import parse_full_name, parse_local_name
from berth.devices.maker import DeviceMaker
from berth.devices.numbering import DeviceOptions
from berth.devices.physical import (
    Hardware,
    IgnoredGpu,
    PhysicalDevice,
    list_hardware,
    split_usable,
)
from berth.devices.split import check_parts, parts_of, virtual_devices
from berth.errors import explain

Method = TypeVar("Method", bound=Callable[..., Any])


def _one_at_a_time(method: Method) -> Method:
    """Let one thread at a time change the choices, or settle them."""

    @wraps(method)
    def locked(self: Devices, *args: Any) -> Any:
        with self._lock:
            return method(self, *args)

    return cast(Method, locked)


class Choices(NamedTuple):
    """What a program has chosen by `tf.config`, or by the options of its first session."""

    physical: list[PhysicalDevice]
    visible: list[PhysicalDevice]
    growth: dict[PhysicalDevice, bool | None]
    split: dict[PhysicalDevice, Sequence[LogicalDeviceConfiguration]]


class Devices:
    """What a program can see and use, and what it has chosen."""

    def __init__(
        self, host: Backend, accelerators: Sequence[Backend], env: Mapping[str, str]
    ) -> None:
        self.accelerators = accelerators
        self._enabled_types = env.get("TF_ENABLED_DEVICE_TYPES")
        shown = [h for each in accelerators for h in list_hardware(each) if self._is_enabled(h)]
        usable, ignored, complaint = split_usable(
            shown, env.get("TF_MIN_GPU_MULTIPROCESSOR_COUNT")
        )
        [cpu] = list_hardware(host)
        n_platform = Counter(h.info.device_type for h in shown)
        self.maker = DeviceMaker(cpu, usable, n_platform, env)
        for message in [complaint, *(gpu.message for gpu in ignored)]:
            self.maker.log_once(logging.INFO, message)
        self.ignored: Sequence[IgnoredGpu] = ignored
        self.opened_by: CallSite | None = None
        self.opened: tuple[Device, ...] = ()
        self._lock = threading.RLock()
        self._hardware = {h.device: h for h in [cpu, *usable]}
        self._visible = list(self._hardware)
        self._growth: dict[PhysicalDevice, bool | None] = {h.device: None for h in usable}
        self._split: dict[PhysicalDevice, Sequence[LogicalDeviceConfiguration]] = {}
        self._adopted = DeviceOptions()
        """What tf.config has no function for, and only a ConfigProto can ask."""

    # --- what there is ---------------------------------------------------------------

    @property
    def gpu_backend(self) -> Backend | None:
        """The backend of the GPUs, if there is one."""
        return next(iter(self.accelerators), None)

    def physical(self) -> list[PhysicalDevice]:
        return list(self._hardware)

    def hardware(self, device: PhysicalDevice) -> Hardware:
        return self._hardware[device]

    def hidden(self) -> Sequence[HiddenDevice]:
        """List the GPUs of the machine that a setting keeps from this process."""
        hidden: list[HiddenDevice] = []
        for backend in self.accelerators:
            for hardware in list_hardware(backend):
                if not self._is_enabled(hardware):
                    reason = f"TF_ENABLED_DEVICE_TYPES names no {hardware.info.device_type}"
                    hidden.append(HiddenDevice(hardware.info, reason))
            hidden += backend.hidden()
        return hidden

    # --- what the program chooses ----------------------------------------------------

    def visible(self) -> list[PhysicalDevice]:
        return list(self._visible)

    @_one_at_a_time
    def set_visible(self, devices: Any, device_type: str | None) -> None:
        wanted = [self._known(d) for d in (devices if isinstance(devices, list) else [devices])]
        for device in wanted:
            if device_type is not None and device.device_type != device_type:
                raise ValueError(
                    explain(
                        f"Unrecognized device: {device!r}",
                        f"It is not a {device_type}, the type that is being set.",
                    )
                )
        kept = [d for d in self._visible if device_type not in (None, d.device_type)]
        visible = kept + wanted
        if visible == self._visible:
            return
        self._check_not_opened("Visible devices cannot be modified after being initialized")
        self._visible = visible

    def growth(self, device: Any) -> bool | None:
        return self._growth[self._known(device)]

    @_one_at_a_time
    def set_growth(self, device: Any, enable: bool) -> None:
        device = self._known(device)
        if device in self._split:
            raise ValueError(
                "Cannot set memory growth on device when virtual devices configured"
            )
        if device not in self._growth:
            raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
        if self._growth[device] == enable:
            return
        if not isinstance(enable, int | np.bool_):
            raise TypeError(f"enable must be True or False, and not {enable!r}.")
        self._check_not_opened("Physical devices cannot be modified after being initialized")
        self._growth[device] = bool(enable)

    def split(self, device: Any) -> Sequence[LogicalDeviceConfiguration] | None:
        return self._split.get(self._known(device))

    @_one_at_a_time
    def set_split(self, device: Any, parts: Sequence[LogicalDeviceConfiguration]) -> None:
        device = self._known(device)
        check_parts(device.device_type, parts)
        if self._split.get(device) == parts:
            return
        self._check_not_opened("Virtual devices cannot be modified after being initialized")
        self._split[device] = parts

    def choices(self) -> Choices:
        """Return what the program has chosen so far."""
        return Choices(
            self.physical(), list(self._visible), dict(self._growth), dict(self._split)
        )

    def inherit(self, parent: Choices) -> None:
        """Choose as the parent of this forked process did, where it has the same devices."""
        self._growth |= {d: g for d, g in parent.growth.items() if d in self._growth}
        if parent.physical == self.physical():
            self._visible, self._split = parent.visible, parent.split

    @_one_at_a_time
    def adopt(self, options: DeviceOptions) -> None:
        """Choose what a ConfigProto requests (TensorFlow's `_import_config`), or nothing."""
        before = list(self._visible), dict(self._growth), dict(self._split), self._adopted
        try:
            self._adopt(options)
        except Exception:
            self._visible, self._growth, self._split, self._adopted = before
            raise

    def _adopt(self, options: DeviceOptions) -> None:
        n_cpus = options.device_count.get(HOST_TYPE, 1)
        if n_cpus == 0:
            self.set_visible([], HOST_TYPE)
        elif n_cpus > 1:
            [cpu] = self._of_type(HOST_TYPE)
            self.set_split(cpu, [LogicalDeviceConfiguration()] * n_cpus)
        for device_type in ACCELERATOR_TYPES:
            self._adopt_accelerators(device_type, options.of_type(device_type))
        adopted = DeviceOptions(
            memory_fraction=options.memory_fraction,
            system_memory_mb=options.system_memory_mb,
            fragmentation_fraction=options.fragmentation_fraction,
            n_virtual_devices_per_gpu=options.n_virtual_devices_per_gpu,
        )
        if adopted != self._adopted:
            self._check_not_opened(
                "Physical devices cannot be modified after being initialized"
            )
            self._adopted = adopted

    def _adopt_accelerators(self, device_type: str, options: DeviceOptions) -> None:
        visible = _listed(options.visible_device_list, self._of_type(device_type))
        visible = visible[: options.device_count.get(device_type, len(visible))]
        self.set_visible(visible, device_type)
        for device, division in zip(visible, options.virtual_devices, strict=False):
            self.set_split(device, parts_of(division))
        for device in visible:
            if options.allow_growth or (
                options.allow_growth is False and device not in self._split
            ):
                self.set_growth(device, options.allow_growth)

    def details(self, device: PhysicalDevice) -> dict[str, Any]:
        """Tell a GPU's model and capability; nothing of a CPU."""
        info = self._hardware[device].info
        if kind_of(info.device_type).is_host:
            return {}
        details: dict[str, Any] = {"device_name": info.model}
        if info.compute_capability is not None:
            details["compute_capability"] = info.compute_capability
        if info.simulated:
            details["simulated"] = True
        return details

    # --- what comes of it ------------------------------------------------------------

    def options(self) -> DeviceOptions:
        """Return the program's choices as for a ConfigProto (TensorFlow's `Context.config`)."""
        count = dict.fromkeys(DEVICE_TYPES, 0)
        for device in (each for each in self._hardware if each in self._visible):
            count[device.device_type] += len(self._split.get(device, [device]))
        first, *others = (self._accelerator_options(each, count) for each in ACCELERATOR_TYPES)
        return first._replace(other_types=dict(zip(ACCELERATOR_TYPES[1:], others, strict=True)))

    def _accelerator_options(self, device_type: str, count: dict[str, int]) -> DeviceOptions:
        devices = [each for each in self._of_type(device_type) if each in self._visible]
        # A split of any device, even a hidden one, switches growth off: TensorFlow's rule.
        is_split = bool(self._split)
        if is_split and any(self._growth[each] for each in devices):
            self.maker.log_once(
                logging.WARNING,
                "Memory growth is ignored, since a device has a logical configuration.",
            )
        return self._adopted._replace(
            device_count=count,
            visible_device_list=",".join(str(self._hardware[d].platform) for d in devices),
            virtual_devices=tuple(virtual_devices(self._split.get(d, ())) for d in devices)
            if is_split
            else (),
            allow_growth=False if is_split else self._common_growth(devices),
        )

    @_one_at_a_time
    def open(self) -> tuple[Device, ...]:
        """Settle the choices and take the memory, once; return the logical devices."""
        if self.opened_by is None:
            self.opened = tuple(self.maker.make(self.options(), take_memory=True))
            self.opened_by = call_site()
        return self.opened

    @_one_at_a_time
    def close(self) -> None:
        """Close the devices and release their memory."""
        for device in self.all():
            device.arena.close()
        for backend in self.accelerators:
            backend.close()

    def abandon(self, reason: str) -> None:
        """In a forked child: leave everything to the parent, and touch no lock."""
        for device in self.all():
            device.abandon(reason)

    def all(self) -> set[Device]:
        """Return every device that was made, for eager programs and for sessions."""
        return {*self.opened, *self.maker.made()}

    def find(self, name: str) -> Device:
        """Return the one opened device that a full or local name means, or ValueError."""
        if not isinstance(name, str):
            raise TypeError(f"A device's name is a text like 'GPU:0', and not {name!r}.")
        wanted = parse_full_name(name) or parse_local_name(name)
        if wanted is None:
            raise ValueError(
                f"Failed parsing device name: '{name}'. Note a valid device string should "
                'at least contain a device type and a device index, like "GPU:0".'
            )
        found = [device for device in self.opened if wanted.matches(device.full_name)]
        names = [device.name for device in found]
        if len(found) > 1:
            raise ValueError(
                f"Multiple devices match the provided string '{name}': "
                f"'{names[0]}' and '{names[1]}'."
            )
        if not found:
            have = ", ".join(f"{d.device_type}:{d.index}" for d in self.opened)
            raise ValueError(
                explain(f"No matching devices found for '{name}'", f"This program has {have}.")
            )
        return found[0]

    # --- helpers ---------------------------------------------------------------------

    def _is_enabled(self, hardware: Hardware) -> bool:
        enabled = self._enabled_types
        return not enabled or hardware.info.device_type in enabled.split(",")

    def _of_type(self, device_type: str) -> list[PhysicalDevice]:
        return [device for device in self._hardware if device.device_type == device_type]

    def _known(self, device: Any) -> PhysicalDevice:
        """Return the physical device that a value is equal to."""
        for known in self._hardware:
            if isinstance(device, tuple) and known == device:
                return known
        names = ", ".join(repr(known.name) for known in self._hardware)
        raise ValueError(
            explain(
                f"Unrecognized device: {device!r}",
                f"Physical devices are {names}; list_physical_devices() returns them.",
                "Several devices must be a list." if _holds_devices(device) else "",
            )
        )

    def _check_not_opened(self, first_line: str) -> None:
        if self.opened_by is not None:
            raise RuntimeError(
                explain(
                    first_line,
                    f"The devices were opened by {self.opened_by}: configure them first, or "
                    "after berth.reset().",
                )
            )

    def _common_growth(self, gpus: Sequence[PhysicalDevice]) -> bool | None:
        settings = {self._growth[gpu] for gpu in gpus}
        if len(settings) > 1:
            shown = ", ".join(f"{gpu.name}: {self._growth[gpu]}" for gpu in gpus)
            raise ValueError(
                explain(
                    "Memory growth cannot differ between GPU devices",
                    f"It is set to {shown}. Set it alike on all visible GPUs.",
                )
            )
        return settings.pop() if settings else None


def _holds_devices(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(v, PhysicalDevice) for v in value)


def _listed(text: str, gpus: Sequence[PhysicalDevice]) -> list[PhysicalDevice]:
    """Pick GPUs by a visible_device_list; without any GPU it is not even read."""
    if not text or not gpus:
        return list(gpus)
    picked = []
    for index in text.split(","):
        if not 0 <= int(index) < len(gpus):
            raise ValueError(f"Invalid visible device index: {index}")
        picked.append(gpus[int(index)])
    return picked
