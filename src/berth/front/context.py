"""The default context: the environment, the devices, and the program's switches.

The only state of berth that programs share without asking, and the only place where the
library reads environment variables.

The environment is read when the devices are first listed, like a CUDA driver does, and
not again: `Context.devices` warns once for each later change. `simulate` may replace
the machine as long as no device is open.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Mapping
from typing import Any, cast

from berth.backends.base import Backend
from berth.backends.driver import DEVICE_ORDERS
from berth.backends.host import HostBackend
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.blocks import FunctionBlock, Stack, Use
from berth.callsite import CallSite, call_site
from berth.devices.device import Device
from berth.devices.devices import Choices, Devices
from berth.devices.environment_defaults import is_switched_on, overridden
from berth.devices.spec import DeviceSpecV2
from berth.errors import BerthWarning, MachineSpecError, explain
from berth.finalizers import WeakSet
from berth.front.environment_check import suspicious_settings
from berth.proto.message import Message
from berth.public import public_v2
from berth.run.threads import Pool, n_cores

_log = logging.getLogger("berth")
READ_ONCE = (
    "BERTH_SIM",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "TF_ENABLED_DEVICE_TYPES",
    "TF_MIN_GPU_MULTIPROCESSOR_COUNT",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_ENABLE_GPU_GARBAGE_COLLECTION",
    "TF_DEVICE_MIN_SYS_MEMORY_IN_MB",
    "BERTH_LEDGER_DIR",
    "BERTH_SCRUB_MEMORY",
    "BERTH_MEMORY",
    "BERTH_GROWTH",
    "BERTH_LOG_PLACEMENT",
    "BERTH_LOG_AS_TF2",
    "BERTH_SOFT_PLACEMENT",
    "BERTH_CLAIMED_BY",
)
"""The variables that decide which devices there are, and what memory they take."""


class Switches:
    """Settings that may be changed while the program runs."""

    def __init__(self) -> None:
        self.soft_placement: bool | None = None
        """None: the program has not chosen."""
        self.log_placement: bool | None = None
        self.device_policy = "silent"
        self.intra_op_threads: int | None = None
        self.inter_op_threads: int | None = None
        self.is_synchronous = True
        self.uses_jit = False
        self.optimizer_options: dict[str, bool | int] = {}


class EagerScope(threading.local):
    """What differs between threads: the device that eager operations ask for."""

    def __init__(self) -> None:
        self.blocks: Stack[tuple[str, DeviceSpecV2]] = Stack(
            lambda _: RuntimeError("Exiting device scope without proper scope nesting")
        )
        """The device that each open block requests."""
        self.device_policy: str | None = None
        """This thread's own policy; None: the program's."""

    @property
    def device_name(self) -> str:
        """The device that operations request here; empty if none is requested."""
        return self.blocks.innermost[0] if self.blocks else ""


class Context:
    """One program's devices and switches. Nothing is looked up before it is asked for."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.switches = Switches()
        self.eager_scope = EagerScope()
        self.builder: Any = None
        """What computes operations as they are written; made when the first one is."""
        self.sessions: WeakSet[Any] = WeakSet()
        """Sessions and functions, which are invalidated when the devices are closed."""
        self._pool: Pool | None = None
        self._environ = environ
        self._machine: Machine | None = None
        self._devices: Devices | None = None
        self._inherited: Choices | None = None
        """What the parent of this process had chosen when it was forked."""
        self._listed_by: CallSite | None = None
        # `os.environ` decodes what it looks up: comparing what it holds is quicker by far.
        self._raw_environ: Mapping[Any, Any] = getattr(environ, "_data", environ)
        encode = getattr(environ, "encodekey", str)
        self._raw_names = [encode(name) for name in READ_ONCE]
        self._last_seen: tuple[Any, ...] = ()
        self._in_force: dict[str, str | None] = {}
        self._warned: dict[str, str | None] = {}
        # Re-entrant: a warning or log record may end in code that asks for the devices.
        self._lock = threading.RLock()
        _contexts.add(self)

    @property
    def devices(self) -> Devices:
        """The devices, listed on first use."""
        with self._lock:
            if self._devices is None:
                self._devices = self._list_devices()
                self._listed_by = call_site()
            else:
                self._warn_of_changes()
            return self._devices

    def keras_backend(self) -> str | None:
        """Return the backend of Keras that KERAS_BACKEND asks for, if it is set."""
        return self._environ.get("KERAS_BACKEND") or None

    def keras_home(self) -> str | None:
        """Return the folder of Keras's settings that KERAS_HOME names, if it is set."""
        return self._environ.get("KERAS_HOME")

    def choose_keras_backend(self) -> None:
        """Let Keras, here and in child processes, use the backend `tensorflow`."""
        cast("dict[str, str]", self._environ)["KERAS_BACKEND"] = "tensorflow"

    def asked_api(self) -> str | None:
        """Return the API that BERTH_API requests: v1 or v2, if it is set."""
        return self._environ.get("BERTH_API")

    def cluster_config(self) -> str:
        """Return TF_CONFIG, which describes the cluster that this process belongs to."""
        return self._environ.get("TF_CONFIG", "")

    @property
    def logs_placement(self) -> bool:
        """Whether eager operations log where they run: the program's choice, or the default."""
        chosen = self.switches.log_placement
        return self.default_of("BERTH_LOG_PLACEMENT") if chosen is None else chosen

    def default_of(self, variable: str) -> bool:
        """Tell whether an environment variable switches something on, for want of a choice."""
        return is_switched_on(self._environ, variable)

    def option(self, config: Message, field: str, variable: str) -> bool:
        """Return a switch of a ConfigProto, or the environment's default if it is not set."""
        if not config.is_set(field):
            return self.default_of(variable)
        chosen: bool = getattr(config, field)
        self.log_override(variable, chosen, f"{field}={chosen}")
        return chosen

    def log_once(self, message: str) -> None:
        """Log a warning that was not logged before, for these devices."""
        self.devices.maker.log_once(logging.WARNING, message)

    def log_override(self, variable: str, enabled: bool, choice: str) -> None:
        """Log that the program switches off what the environment switches on."""
        if self.default_of(variable) and not enabled:
            _log.warning(overridden(variable, choice))

    @property
    def pool(self) -> Pool:
        """The threads that eager operations and functions divide large work among."""
        with self._lock:
            if self._pool is None:
                self._pool = Pool(self.switches.intra_op_threads or n_cores())
            return self._pool

    @property
    def has_listed_devices(self) -> bool:
        return self._devices is not None

    @property
    def opened_by(self) -> CallSite | None:
        """The call that opened the devices, if any has."""
        return self._devices.opened_by if self._devices else None

    def open(self) -> Devices:
        """Open the devices if they are not open yet."""
        with self._lock:
            devices = self.devices
            devices.open()
            return devices

    def opened(self) -> tuple[Device, ...]:
        """Return the opened devices. Quick, for it is on the way of every device scope."""
        devices = self._devices
        return (devices and devices.opened) or self.open().opened

    def simulate(self, machine: Machine | None) -> None:
        """Give this program a simulated machine, or with None the environment's."""
        with self._lock:
            used_by = self._devices.maker.made_by if self._devices else None
            if used_by is not None:
                raise RuntimeError(
                    explain(
                        "The machine cannot be changed after the devices were opened",
                        f"They were opened by {used_by}: simulate first, or after "
                        "berth.reset().",
                    )
                )
            self._machine = machine
            self.reset()

    def reset(self) -> None:
        """Close the devices and free their memory; they can be listed and configured again."""
        with self._lock:
            devices, self._devices = self._devices, None
            self._inherited = None
            pool, self._pool = self._pool, None
            self._invalidate_sessions("berth.reset()")
            if pool is not None:
                pool.close()
            if devices is not None:
                devices.close()

    def _invalidate_sessions(self, reason: str, *, to_parent: bool = False) -> None:
        for session in list(self.sessions):
            session.invalidate(reason, to_parent=to_parent)
        self.sessions.clear()

    def _forget_parent(self) -> None:
        """Reset the state in a forked child: the devices and the locks are the parent's."""
        self._lock = threading.RLock()
        self._pool = None  # its threads are the parent's too
        devices, self._devices = self._devices, None
        reason = f"the fork of this process from process {os.getppid()}"
        self._invalidate_sessions(reason, to_parent=True)
        if devices is not None:
            self._inherited = devices.choices()
            devices.abandon(reason)

    def trim(self) -> int:
        """Free idle workspaces and unused memory regions; return the number of bytes."""
        devices = self._devices
        if devices is None:
            return 0
        self.drop_idle()
        return sum(device.arena.trim() for device in devices.all())

    def drop_idle(self) -> None:
        """Free the memory that plans keep for their next run."""
        for session in list(self.sessions):
            session.drop_idle()

    def as_default(self) -> FunctionBlock[Context]:
        """Make this the default context, for tests and tools."""
        return FunctionBlock(self._begin_default)

    def _begin_default(self, use: Use) -> Context:
        global _default  # noqa: PLW0603 - the one global
        use.at_end(globals().__setitem__, [("_default", _default)])
        _default = self
        return self

    def _list_devices(self) -> Devices:
        env = {name: self._environ.get(name) for name in READ_ONCE}
        devices = Devices(
            HostBackend(),
            self._accelerators(env),
            {name: value for name, value in env.items() if value is not None},
        )
        if self._inherited is not None:
            devices.inherit(self._inherited)
        self._note_other_gpus(env["CUDA_VISIBLE_DEVICES"])
        if self.switches.log_placement is None:
            self.switches.log_placement = self.logs_placement  # operations look there
        for problem in suspicious_settings(self._environ, READ_ONCE):
            warnings.warn(problem, BerthWarning, stacklevel=call_site().frames_up + 1)
        self._in_force, self._last_seen = env, ()
        self._warned = {}
        return devices

    def _note_other_gpus(self, visible: str | None) -> None:
        """Log that the program has chosen other GPUs than ``berth run --gpus`` has."""
        chosen = self._environ.get("BERTH_GPUS")
        if chosen is not None and chosen != visible:
            used = f"CUDA_VISIBLE_DEVICES={visible}" if visible is not None else "all GPUs"
            _log.warning(overridden(f"--gpus (CUDA_VISIBLE_DEVICES={chosen})", used))

    def _accelerators(self, env: Mapping[str, str | None]) -> list[Backend]:
        machine = self._machine
        described = env["BERTH_SIM"]
        if machine is None and described and described.strip():
            try:
                machine = Machine.parse(described)
            except MachineSpecError as error:
                raise MachineSpecError(
                    explain(str(error), "It is what BERTH_SIM says.")
                ) from None
        if machine is None:
            return []
        order = env["CUDA_DEVICE_ORDER"]
        if order not in (None, *DEVICE_ORDERS):
            warnings.warn(
                f"CUDA_DEVICE_ORDER={order} means nothing: write "
                f"{' or '.join(DEVICE_ORDERS)}. The order is {DEVICE_ORDERS[0]} now.",
                BerthWarning,
                stacklevel=call_site().frames_up + 1,
            )
        gpus = SimBackend(
            machine,
            visible_devices=env["CUDA_VISIBLE_DEVICES"],
            device_order_by=order,
            ledger_directory=env["BERTH_LEDGER_DIR"] or None,
            parent_pid=int(env["BERTH_CLAIMED_BY"] or 0) or None,
        )
        return [gpus]

    def _warn_of_changes(self) -> None:
        seen = tuple(map(self._raw_environ.get, self._raw_names))
        if seen == self._last_seen:
            return
        self._last_seen = seen
        for name, in_force in self._in_force.items():
            now = self._environ.get(name)
            if now != in_force and now != self._warned.get(name, in_force):
                self._warned[name] = now
                warnings.warn(
                    f"{name} was changed from {_shown(in_force)} to {_shown(now)} after "
                    f"the devices were listed by {self._listed_by}. The change has no effect: "
                    "set it before that line, or before the program starts.",
                    BerthWarning,
                    stacklevel=call_site().frames_up + 1,
                )


def _shown(value: str | None) -> str:
    return "nothing" if value is None else repr(value)


def _after_fork_in_child() -> None:
    for program in list(_contexts):
        program._forget_parent()


_contexts: WeakSet[Context] = WeakSet()
_default = Context()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def context() -> Context:
    """Return the default context."""
    return _default


@public_v2("trim")
def trim() -> int:
    """Free idle workspaces and unused memory regions; return the number of bytes.

    TensorFlow keeps memory once it has taken it. This gives whole regions back, which
    other programs can use, and takes them again when they are needed.
    """
    return context().trim()


@public_v2("reset")
def reset() -> None:
    """Close all devices and free their memory; they can be configured again.

    What still holds memory of the devices that were open raises an error when it is used.
    """
    context().reset()


@public_v2("simulate")
def simulate(machine: str | None) -> None:
    """Give this program simulated GPUs, as ``BERTH_SIM`` does from outside.

    Call it before the first device is opened: by an operation, a Session or a list of logical
    devices. What was configured for the devices of another machine is forgotten. None returns
    to what the environment says.

    >>> with Context({}).as_default():
    ...     simulate("2xT4")
    ...     len(context().devices.physical())
    3
    """
    if not isinstance(machine, str | None):
        raise TypeError(f"simulate() takes a text like '4xT4', or None, and not {machine!r}.")
    context().simulate(None if machine is None else Machine.parse(machine))
