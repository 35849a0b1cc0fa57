"""The result of placing: the device of each operation, and why it is that one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from berth.graph.operation import Operation
from berth.plan import reasons
from berth.plan.candidates import Candidates
from berth.plan.groups import Groups

NO_NAMES: Mapping[Operation, str] = MappingProxyType({})


class Message(NamedTuple):
    """A line for the log, with a level of the `logging` module."""

    level: int
    text: str


class Placement:
    """Where the operations of a graph run.

    The placer records only what cannot be derived later; explanations are derived on demand
    (`reasons`).
    """

    __slots__ = (
        "candidates",
        "devices",
        "follows",
        "groups",
        "ignored",
        "messages",
        "moved",
        "overridden",
        "pinned",
    )

    def __init__(
        self, groups: Groups, candidates: Candidates, pinned: Mapping[Operation, Any]
    ) -> None:
        self.groups = groups
        self.candidates = candidates
        self.pinned = pinned
        self.devices: dict[Operation, Any] = {}
        """The device of each operation, in the order of log_device_placement."""
        self.follows: dict[Operation, Operation] = {}
        """The input or consumer beside which an operation was put, and not on its default."""
        self.overridden: dict[Operation, Operation] = {}
        """The variable for whose sake an operation's own request does not count."""
        self.ignored: set[tuple[Operation, str]] = set()
        """Colocations, with operations of these names, that soft placement gave up."""
        self.moved: list[Operation] = []
        """The operations that soft placement put elsewhere than they asked for."""
        self.messages: list[Message] = []
        """Messages to log. Those below a warning are for log_device_placement."""

    def device_of(self, op: Operation) -> Any:
        """Return the device of an operation; KeyError if it was not placed."""
        return self.devices[op]

    def lines(self, renamed: Mapping[Operation, str] = NO_NAMES) -> list[str]:
        """Write the placements as TensorFlow 2 logs them: ``a: (Const): /job:…/device:CPU:0``.

        `renamed` has the types that the log shows for some operations.
        """
        return [
            f"{op.name}: ({renamed.get(op, op.type)}): {device.name}"
            for op, device in self.devices.items()
        ]

    def reason(self, op: Operation) -> reasons.Reason:
        """Return why an operation is where it is, as data."""
        return reasons.reason(self, op)

    def why(self, op: Operation) -> str:
        """Explain why an operation is where it is, for people."""
        return reasons.explain_placement(self, op)
