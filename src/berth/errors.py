"""Every exception of berth, and the one warning.

TensorFlow's own classes, under its names, so that ``except`` clauses keep working:

    OpError
    ├── CancelledError           (code 1)
    ├── UnknownError             (code 2)
    ├── InvalidArgumentError     (code 3)
    ├── DeadlineExceededError    (code 4)
    ├── NotFoundError            (code 5)
    ├── AlreadyExistsError       (code 6)
    ├── PermissionDeniedError    (code 7)
    ├── ResourceExhaustedError   (code 8)
    │   └── OutOfMemoryError         a tensor does not fit; with the figures
    ├── FailedPreconditionError  (code 9)
    ├── AbortedError             (code 10)
    ├── OutOfRangeError          (code 11)
    ├── UnimplementedError       (code 12)
    ├── InternalError            (code 13)
    ├── UnavailableError         (code 14)
    ├── DataLossError            (code 15)
    └── UnauthenticatedError     (code 16)

and berth's, for what TensorFlow has no word for:

    MachineSpecError(ValueError)         a BERTH_SIM text that cannot be read
    BackendUnavailableError(RuntimeError) hardware asked for by name is not there
    DeviceMemoryError(MemoryError)       a device cannot reserve that many bytes
    LedgerError(RuntimeError)            the file by which processes share is not to be trusted
        LedgerBusyError                  another process does not unlock it
    BerthWarning(UserWarning)            something was ignored, and the user should know

A message starts with a line complete in itself (TensorFlow's wording where it has
one). Facts and advice follow on indented lines; `explain` joins the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from berth.public import public_v1


@public_v1("OpError")
class OpError(Exception):
    """The base of TensorFlow's run-time errors."""

    error_code = 2

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node_def, self.op, self.message)


class CancelledError(OpError):
    """A run was cancelled."""

    error_code = 1


class UnknownError(OpError):
    """Something failed, and no other class fits."""

    error_code = 2


class InvalidArgumentError(OpError):
    """An operation or option was given a value it cannot take."""

    error_code = 3


class DeadlineExceededError(OpError):
    """A run took longer than it was allowed."""

    error_code = 4


class NotFoundError(OpError):
    """A thing asked for does not exist."""

    error_code = 5


class AlreadyExistsError(OpError):
    """A thing to be made exists already, and differs."""

    error_code = 6


class PermissionDeniedError(OpError):
    """A file may not be read or written by this user."""

    error_code = 7


class ResourceExhaustedError(OpError):
    """A device has run out of memory, or a disk of space."""

    error_code = 8


class OutOfMemoryError(ResourceExhaustedError):
    """A tensor does not fit. The figures of its message are attributes."""

    def __init__(self, message: str, **figures: Any) -> None:
        super().__init__(None, None, message)
        self.requested_bytes: int = figures["requested_bytes"]
        self.limit_bytes: int = figures["limit_bytes"]
        self.in_use_bytes: int = figures["in_use_bytes"]
        self.reserved_bytes: int = figures["reserved_bytes"]
        self.largest_free_bytes: int = figures["largest_free_bytes"]
        self.holders: list[tuple[str, int]] = figures["holders"]
        """What holds memory, the largest first: name and bytes."""
        self.processes: list[Any] = figures["processes"]
        """The other processes on the card."""
        self.dump: str = figures["dump"]
        """TensorFlow's own account, with its map."""
        self.may_fit_later: bool = figures.get("may_fit_later", False)
        """Whether it would fit if no run held a workspace."""
        self._figures = figures

    def with_message(self, message: str) -> OutOfMemoryError:
        """Return the same error with another message."""
        return OutOfMemoryError(message, **self._figures)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(OutOfMemoryError, self.message, **self._figures), ()


class FailedPreconditionError(OpError):
    """Something has to be done first: a variable has no value yet."""

    error_code = 9


class AbortedError(OpError):
    """A run was stopped by the failure of another part."""

    error_code = 10


class OutOfRangeError(OpError):
    """There is no more to be had."""

    error_code = 11


class UnimplementedError(OpError):
    """The runtime cannot do this."""

    error_code = 12


class InternalError(OpError):
    """The runtime could not do its part."""

    error_code = 13


class UnavailableError(OpError):
    """A service cannot be reached now."""

    error_code = 14


class DataLossError(OpError):
    """A file is truncated, corrupt, or of another kind."""

    error_code = 15


class UnauthenticatedError(OpError):
    """A service does not know who asks."""

    error_code = 16


class OperatorNotAllowedInGraphError(TypeError):
    """Python asks for the value of a tensor that has none yet: a function is being traced."""


class MachineSpecError(ValueError):
    """The text that describes a simulated machine cannot be read."""


class BackendUnavailableError(RuntimeError):
    """A backend asked for by name cannot be used; the message says why."""


class DeviceMemoryError(MemoryError):
    """A device cannot reserve that many bytes. Nothing was changed."""

    def __init__(self, device: str, nbytes: int, free: int, total: int) -> None:
        super().__init__(
            f"{device} cannot reserve {nbytes:,} bytes: {free:,} of {total:,} bytes are free."
        )
        self.nbytes, self.free, self.total = nbytes, free, total


class LedgerError(RuntimeError):
    """The ledger of a simulated machine cannot be trusted, or has no room."""


class LedgerBusyError(LedgerError):
    """Another process has not unlocked the ledger of a simulated machine in time."""


class BerthWarning(UserWarning):
    """Something the program asked for has no effect."""


def explain(first_line: str, *details: str) -> str:
    """Join a message's first line with the details that are not empty."""
    return "\n  ".join([first_line, *(detail for detail in details if detail)])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Name the nearest of the known words, or nothing if none is near.

    >>> did_you_mean("allow_grow", ["allow_growth", "visible_device_list"])
    "Did you mean 'allow_growth'?"
    """
    likeness = {name: SequenceMatcher(None, word, name).ratio() for name in known}
    best = max(likeness.values(), default=0)
    near = [name for name, ratio in likeness.items() if ratio >= max(0.6, best - 0.1)]
    nearest = sorted(near, key=lambda name: -likeness[name])[:3]
    return f"Did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
