"""Making logical devices: a request in, devices with their memory out.

A request (`DeviceOptions`) comes from ``tf.config``'s choices or from a ConfigProto. The
maker numbers the GPUs, resolves their limits, and sees to what holds for the process as a
whole: a GPU is made once, by whoever asks first, and stays tied to its hardware.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

from berth.backends.base import PlatformIndex
from berth.devices.device import CPU_LIMIT, Device
from berth.devices.environment_defaults import EnvironmentDefaults
from berth.devices.numbering import DeviceOptions, LogicalGpu, number_gpus
from berth.devices.out_of_memory import (
    card_is_taken,
    is_taken,
    other_processes,
    process_line,
)
from berth.devices.physical import Hardware
from berth.errors import (
    AlreadyExistsError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
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
        self, cpu: Hardware, gpus: Sequence[Hardware], n_platform: int, env: Mapping[str, str]
    ) -> None:
        self._cpu = cpu
        self._gpus = {gpu.platform: gpu for gpu in gpus}
        self._n_platform = n_platform
        self._said: set[str] = set()
        self._min_system_mb = env.get("TF_DEVICE_MIN_SYS_MEMORY_IN_MB")
        self._scrub = env.get("BERTH_SCRUB_MEMORY", "") not in ("", "0")
        self._forced_growth = env.get("TF_FORCE_GPU_ALLOW_GROWTH")
        self._wishes = EnvironmentDefaults(env, self.say)
        collection = env.get("TF_ENABLE_GPU_GARBAGE_COLLECTION", "true")
        self._collect_regions = collection != "false"
        if collection not in ("true", "false"):
            self.say(logging.ERROR, _bad_collection(collection))
        self._lock = threading.RLock()
        self._made: dict[int, Device] = {}
        """The GPUs of this process, by their logical index."""

    def say(self, level: int, message: str) -> None:
        """Log a message, once. It counts as said before a handler can ask anything."""
        if message and message not in self._said:
            self._said.add(message)
            _log.log(level, message)

    def plan(self, options: DeviceOptions) -> list[Device]:
        """Return the logical devices a request gets, without opening any."""
        n_cpus = options.device_count.get("CPU", 1)
        if n_cpus < 1:
            raise NotFoundError(None, None, "No CPU devices are available in this process")
        devices = [
            Device(index, self._cpu, CPU_LIMIT, scrub=self._scrub) for index in range(n_cpus)
        ]
        wanted = self._wishes.growth(options.allow_growth)
        growth, level, message = forced_growth(wanted, self._forced_growth)
        numbered = number_gpus(options, self._n_platform, list(self._gpus))
        if numbered:
            self.say(level, message)
        for index, logical in enumerate(numbered):
            gpu = self._gpus[logical.platform]
            limit = self._limit(gpu, logical, options)
            devices.append(
                Device(
                    index,
                    gpu,
                    limit,
                    growth=growth,
                    priority=logical.priority,
                    collect_regions=self._collect_regions,
                    fragmentation_fraction=options.fragmentation_fraction,
                    scrub=self._scrub,
                )
            )
        return devices

    def _limit(self, gpu: Hardware, logical: LogicalGpu, options: DeviceOptions) -> Limit:
        """Resolve what one logical GPU may hold: what the program says, or is wished."""
        said = self._said_limit(gpu, logical, options)
        limit = self._wishes.limit(gpu.info.memory_bytes, said) or said
        if limit is None:
            free = gpu.backend.memory(gpu.platform).free
            limit = default_limit(free, gpu.info.compute_capability)
        is_shared = logical.memory_limit_mb is None and logical.n_sharing > 1
        return split_limit(limit, logical.n_sharing) if is_shared else limit

    def _said_limit(
        self, gpu: Hardware, logical: LogicalGpu, options: DeviceOptions
    ) -> Limit | None:
        """Resolve what the program says that one logical GPU may hold (§4.1)."""
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
                self.say(
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
            self.say(
                logging.WARNING,
                f"The requested reserved device memory {human_bytes(system_mb * 2**20)} is "
                f"larger than the available memory of {human_bytes(free_bytes)}. The request "
                "is ignored.",
            )
        return limit

    def make(self, options: DeviceOptions, *, take_memory: bool = False) -> list[Device]:
        """Return the logical devices a request gets, with their memory if that is asked.

        A GPU is made once in a process, by whoever asks first (§4.3): others get the
        same device, and are told if they asked for something else. If the memory cannot
        be had, nothing was made.
        """
        with self._lock:
            devices = [self._first_of(device) for device in self.plan(options)]
            gpus = [device for device in devices if device.device_type == "GPU"]
            if take_memory:
                self._take_memory(gpus)
            self._made.update({gpu.index: gpu for gpu in gpus})
            return devices

    def _first_of(self, device: Device) -> Device:
        if device.device_type != "GPU":
            return device
        made = self._made.get(device.index, device)
        now, before = device.hardware.platform, made.hardware.platform
        if before != now:
            raise AlreadyExistsError(None, None, _mapped_twice(device.index, now, before))
        if not device.limit.is_default and made.limit.nbytes != device.limit.nbytes:
            self.say(
                logging.WARNING,
                f"{made.short_name} keeps its limit of {made.limit.nbytes >> 20} MB "
                f"({made.limit.source}): what was asked for later "
                f"({device.limit.source}) is ignored.",
            )
        elif made.growth != device.growth:
            self.say(
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
            for gpu in gpus:
                if not gpu.growth and gpu.limit.nbytes and not gpu.arena.reserve_all():
                    raise card_is_taken(gpu, gpus)
        except BaseException:
            for gpu in gpus:
                if gpu.index not in self._made:
                    gpu.arena.trim()
            raise
        self._announce(gpus)

    def _announce(self, gpus: Sequence[Device]) -> None:
        """Tell other processes what may be held here, and the user what was not to be had."""
        limits: dict[PlatformIndex, int] = {}
        for gpu in gpus:
            platform, arena = gpu.hardware.platform, gpu.arena
            limits[platform] = limits.get(platform, 0) + arena.limit_bytes
            gpu.hardware.backend.announce(platform, limits[platform], growth=gpu.growth)
            if not gpu.growth and arena.reserved_bytes < arena.limit_bytes & -256:
                others = " ".join(process_line(process) for process in other_processes(gpu))
                self.say(
                    logging.WARNING,
                    f"{gpu.short_name} got {format_bytes(arena.reserved_bytes)} of the "
                    f"{format_bytes(arena.limit_bytes)} it may hold ({gpu.limit.source}): its "
                    f"card has no more. {others}".rstrip(),
                )

    def made(self) -> list[Device]:
        """List the GPUs that were made."""
        return list(self._made.values())


def _bad_collection(setting: str) -> str:
    return (
        "The TF_ENABLE_GPU_GARBAGE_COLLECTION environment variable is set but could not be "
        f'parsed: "{setting}". Valid values are "true" or "false". Using the default value '
        '"true".'
    )


def _mapped_twice(index: int, now: int, before: int) -> str:
    return (
        f"TensorFlow device (GPU:{index}) is being mapped to multiple devices ({now} now, "
        f"and {before} previously), which is not supported. This may be the result of "
        "providing different GPU configurations (ConfigProto.gpu_options, for example "
        "different visible_device_list) when creating multiple Sessions in the same "
        "process. This is not currently supported, see "
        "https://github.com/tensorflow/tensorflow/issues/19083"
    )
