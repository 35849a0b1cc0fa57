"""Making logical devices: a request in, devices with their memory out.

A request (`DeviceOptions`) comes from ``tf.config``'s choices or from a ConfigProto. The
maker numbers the GPUs, resolves their limits, and keeps what holds for the process as a
whole: a GPU is initialised once, the first request decides, and it stays tied to its hardware.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence

from berth.backends.base import PlatformIndex
from berth.backends.kinds import HOST_TYPE
from berth.callsite import CallSite, call_site
from berth.devices.device import CPU_LIMIT, Device
from berth.devices.environment_defaults import EnvironmentDefaults
from berth.devices.numbering import DeviceOptions, LogicalGpu, number_gpus
from berth.devices.out_of_memory import (
    card_is_taken,
    is_taken,
    other_processes,
    process_line,
)
from berth.devices.physical import Hardware, PhysicalDevice
from berth.errors import (
    AlreadyExistsError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    explain,
)
from berth.memory.dump import human_bytes
from berth.memory.limits import (
    Limit,
    configured_limit,
    default_limit,
    forced_growth,
    fraction_limit,
    split_limit,
    system_reserve_limit,
)
from berth.units import format_bytes, parse_count

_log = logging.getLogger("berth")
_MAX_FRACTION = 1000
_NO_OVERSUBSCRIPTION = (
    "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) "
    "does not support oversubscription."
)


class DeviceMaker:
    """Makes the logical devices of one program, and keeps its GPUs."""

    def __init__(
        self,
        cpu: Hardware,
        accelerators: Sequence[Hardware],
        n_platform: Mapping[str, int],
        env: Mapping[str, str],
    ) -> None:
        self._cpu = cpu
        self._accelerators: dict[str, dict[PlatformIndex, Hardware]] = {}
        for each in accelerators:
            of_type = self._accelerators.setdefault(each.info.device_type, {})
            of_type[each.platform] = each
        self._n_platform = n_platform
        """How many accelerators of each type the drivers show."""
        self._logged: set[str] = set()
        self._min_system_mb = env.get("TF_DEVICE_MIN_SYS_MEMORY_IN_MB")
        self._scrub = env.get("BERTH_SCRUB_MEMORY", "") not in ("", "0")
        self._forced_growth = env.get("TF_FORCE_GPU_ALLOW_GROWTH")
        self._defaults = EnvironmentDefaults(env, self.log_once)
        collection = env.get("TF_ENABLE_GPU_GARBAGE_COLLECTION", "true")
        self._collect_regions = collection != "false"
        if collection not in ("true", "false"):
            self.log_once(logging.ERROR, _bad_collection(collection))
        self._lock = threading.RLock()
        self.made_by: CallSite | None = None
        """The call that first got devices: a session's, or that of an eager program."""
        self._made: dict[str, Device] = {}
        """The GPUs and other accelerators of this process, by their short names."""

    def log_once(self, level: int, message: str) -> None:
        """Log a message the first time. A handler may call back: it is noted before."""
        if message and message not in self._logged:
            self._logged.add(message)
            _log.log(level, message)

    def plan(self, options: DeviceOptions) -> list[Device]:
        """Return the logical devices a request gets, without opening any."""
        n_cpus = options.device_count.get(HOST_TYPE, 1)
        if n_cpus < 1:
            raise NotFoundError(None, None, "No CPU devices are available in this process")
        devices = [
            Device(index, self._cpu, CPU_LIMIT, scrub=self._scrub) for index in range(n_cpus)
        ]
        for device_type in self._n_platform:
            devices += self._plan_accelerators(device_type, options.of_type(device_type))
        return devices

    def _plan_accelerators(self, device_type: str, options: DeviceOptions) -> Iterator[Device]:
        hardware = self._accelerators.get(device_type, {})
        wanted = self._defaults.growth(options.allow_growth)
        growth, level, message = forced_growth(wanted, self._forced_growth)
        n_platform = self._n_platform[device_type]
        numbered = number_gpus(options, n_platform, list(hardware), device_type)
        if numbered:
            self.log_once(level, message)
        for index, logical in enumerate(numbered):
            gpu = hardware[logical.platform]
            yield Device(
                index,
                gpu,
                self._limit(gpu, logical, options),
                growth=growth,
                priority=logical.priority,
                collect_regions=self._collect_regions,
                fragmentation_fraction=options.fragmentation_fraction,
                scrub=self._scrub,
            )

    def _limit(self, gpu: Hardware, logical: LogicalGpu, options: DeviceOptions) -> Limit:
        """Resolve what one logical GPU may hold: the program's choice, or the default."""
        chosen = self._chosen_limit(gpu, logical, options)
        limit = self._defaults.limit(gpu.info.memory_bytes, chosen) or chosen
        if limit is None:
            free = gpu.backend.memory(gpu.platform).free
            limit = default_limit(free, gpu.info.compute_capability)
        is_shared = logical.memory_limit_mb is None and logical.n_sharing > 1
        return split_limit(limit, logical.n_sharing) if is_shared else limit

    def _chosen_limit(
        self, gpu: Hardware, logical: LogicalGpu, options: DeviceOptions
    ) -> Limit | None:
        """Resolve the limit that the program sets for one logical GPU."""
        if logical.memory_limit_mb is not None:
            return configured_limit(logical.memory_limit_mb)
        if not 0 <= options.memory_fraction <= _MAX_FRACTION:
            raise InvalidArgumentError(
                None,
                None,
                f"per_process_gpu_memory_fraction must be from 0 to {_MAX_FRACTION}, and not "
                f"{options.memory_fraction:g}.",
            )
        memory = gpu.backend.memory(gpu.platform)
        capability = gpu.info.compute_capability
        if options.memory_fraction > 1 and (capability or (0, 0)) < (6, 0):
            raise InternalError(None, None, _NO_OVERSUBSCRIPTION)
        limit = self._system_limit(memory.free, options)
        if limit is None and options.memory_fraction > 0:
            limit = fraction_limit(memory.total, options.memory_fraction)
        return limit

    def _system_limit(self, free_bytes: int, options: DeviceOptions) -> Limit | None:
        """Apply TF_DEVICE_MIN_SYS_MEMORY_IN_MB, or the option that it overrides."""
        system_mb = options.system_memory_mb
        if self._min_system_mb is not None:
            if not (self._min_system_mb.isascii() and self._min_system_mb.isdigit()):
                self.log_once(
                    logging.WARNING,
                    f"The requested reserved device memory {self._min_system_mb} is invalid. "
                    "The request will be ignored.",
                )
            else:
                system_mb = parse_count(self._min_system_mb)
        if system_mb <= 0:
            return None
        limit = system_reserve_limit(free_bytes, system_mb)
        if limit is None:
            self.log_once(
                logging.WARNING,
                f"The requested reserved device memory {human_bytes(system_mb * 2**20)} is "
                f"larger than the available memory of {human_bytes(free_bytes)}. The request "
                "is ignored.",
            )
        return limit

    def make(self, options: DeviceOptions, *, take_memory: bool = False) -> list[Device]:
        """Return the logical devices a request gets, with their memory if that is asked.

        A GPU is initialised once in a process, and the first request decides: later
        ones get the same device, and the log says so if they asked for something else. If
        the memory cannot be had, nothing was made.
        """
        with self._lock:
            devices = [self._first_of(device, options) for device in self.plan(options)]
            gpus = [device for device in devices if not device.is_host]
            if take_memory:
                self._take_memory(gpus)
            self._made.update({gpu.short_name: gpu for gpu in gpus})
            self.made_by = self.made_by or call_site()
            return devices

    def _first_of(self, device: Device, options: DeviceOptions) -> Device:
        if device.is_host:
            return device
        if device.short_name not in self._made:
            _check_allocator(device, options.allocator_type)
        made = self._made.get(device.short_name, device)
        now, before = device.hardware.platform, made.hardware.platform
        if before != now:
            raise AlreadyExistsError(None, None, _mapped_twice(device.short_name, now, before))
        if not device.limit.is_default and made.limit.nbytes != device.limit.nbytes:
            self.log_once(
                logging.WARNING,
                f"{made.short_name} keeps its limit of {made.limit.nbytes >> 20} MiB "
                f"({made.limit.source}): what was asked for later "
                f"({device.limit.source}) is ignored.",
            )
        elif made.growth != device.growth and _asks_for_growth(options, device):
            self.log_once(
                logging.WARNING,
                f"{made.short_name} was made with allow_growth={made.growth}: what was asked "
                "for later is ignored.",
            )
        return made

    def _take_memory(self, gpus: Sequence[Device]) -> None:
        """Reserve what each GPU without growth is entitled to, or nothing at all."""
        for gpu in gpus:
            if is_taken(gpu):
                raise card_is_taken(gpu, gpus)
        try:
            at_once = [gpu for gpu in gpus if not gpu.growth and gpu.limit.nbytes]
            for position, gpu in enumerate(at_once):
                if not gpu.arena.reserve_all(_share_of_card(gpu, at_once[position:])):
                    raise card_is_taken(gpu, gpus)
        except BaseException:
            for gpu in gpus:
                if gpu.short_name not in self._made:
                    gpu.arena.trim()
            raise
        self._announce(gpus)

    def _announce(self, gpus: Sequence[Device]) -> None:
        """Tell other processes what may be held here, and the user what was not to be had."""
        limits: dict[PhysicalDevice, int] = {}
        for gpu in gpus:
            hardware, arena = gpu.hardware, gpu.arena
            limit = limits[hardware.device] = limits.get(hardware.device, 0) + arena.limit_bytes
            hardware.backend.announce(hardware.platform, limit, growth=gpu.growth)
            if not gpu.growth and arena.reserved_bytes < arena.limit_bytes & -256:
                others = " ".join(process_line(process) for process in other_processes(gpu))
                self.log_once(
                    logging.WARNING,
                    f"{gpu.short_name} got {format_bytes(arena.reserved_bytes)} of the "
                    f"{format_bytes(arena.limit_bytes)} it may hold ({gpu.limit.source}): its "
                    f"card has no more. {others}".rstrip(),
                )

    def made(self) -> list[Device]:
        """List the GPUs that were made."""
        return list(self._made.values())


def _check_allocator(device: Device, allocator_type: str) -> None:
    """Refuse an allocator that there is not."""
    if allocator_type not in ("", "BFC"):
        raise InternalError(
            None,
            None,
            explain(
                f"Failed to get memory allocator for TF {device.device_type} {device.index} "
                f"with {device.limit.nbytes} bytes of memory.",
                f"Invalid allocator type: {allocator_type!r}. Write 'BFC', or leave it out.",
            ),
        )


def _asks_for_growth(options: DeviceOptions, device: Device) -> bool:
    """Tell whether a program itself said if a device's memory should grow."""
    wanted = options.of_type(device.device_type)
    return wanted.is_growth_asked and wanted.allow_growth is not None


def _share_of_card(gpu: Device, waiting: Sequence[Device]) -> int:
    """Return how much of its card's free memory a GPU can have.

    All of it, unless limits that are larger than the card share it: then, in proportion.
    """
    free = gpu.hardware.backend.memory(gpu.hardware.platform).free
    if gpu.limit.nbytes <= free:
        return free
    limits = [each.limit.nbytes for each in waiting if each.hardware is gpu.hardware]
    return free * gpu.limit.nbytes // sum(limits)


def _bad_collection(setting: str) -> str:
    return (
        "The TF_ENABLE_GPU_GARBAGE_COLLECTION environment variable is set but could not be "
        f'parsed: "{setting}". Valid values are "true" or "false". Using the default value '
        '"true".'
    )


def _mapped_twice(short_name: str, now: int, before: int) -> str:
    return (
        f"TensorFlow device ({short_name}) is being mapped to multiple devices ({now} now, "
        f"and {before} previously), which is not supported. This may be the result of "
        "providing different GPU configurations (ConfigProto.gpu_options, for example "
        "different visible_device_list) when creating multiple Sessions in the same "
        "process. This is not currently supported, see "
        "https://github.com/tensorflow/tensorflow/issues/19083"
    )
