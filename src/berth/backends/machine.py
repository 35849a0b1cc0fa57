"""A simulated machine, from the text that describes it.

    machine = [ name, "=" ], card, { ",", card }
    card    = [ count, "x" ], profile, [ ":", memory ]

as in ``4xTesla K20m``, ``2xA100-40GB,1xT4`` or ``2xT4:8GiB``. Cards sit in slots in the
order they are named. PCI bus numbers rise with the slots, half of them behind each of
two processors as in real servers, which gives the four K20m of TensorFlow's guide their
02, 03, 83 and 84. Everything about a machine follows from its text: two processes that
write the same text use the same machine, and see the same cards down to the UUIDs. A name
in front tells machines of the same cards apart: ``lab=4xT4``.
"""

from __future__ import annotations

import re
import uuid
from typing import NamedTuple

from berth.backends.base import DeviceInfo
from berth.backends.profiles import PROFILES, Profile, find_profiles, nearest_profiles
from berth.errors import MachineSpecError, explain
from berth.units import format_bytes, parse_bytes, parse_count

MAX_CARDS = 64
_MIN_MEMORY_BYTES = 2**20
_MAX_MEMORY_BYTES = 2**44
_SECOND_PROCESSOR = 0x81
_EXAMPLES = "Write it like 4xT4, 2xA100-40GB,1xT4 or 2xT4:8GiB."
_ITEM = re.compile(r"((?P<count>[0-9]+)\s*[xX]\s*)?(?P<name>[^:]*)(:(?P<memory>.*))?", re.S)
_LABEL = re.compile(r"\s*([A-Za-z0-9_.\-]{1,64}=)?(.*)", re.S)
_UUID_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "simulated.berth.invalid")


class Card(NamedTuple):
    """One simulated GPU in its slot."""

    profile: Profile
    memory_bytes: int
    pci_bus_id: str
    uuid: str

    @property
    def context_bytes(self) -> int:
        """Bytes each process occupies; at most an eighth, on cards made small."""
        return min(self.profile.context_bytes, self.memory_bytes // 8)

    @property
    def numa_node(self) -> int:
        """The processor it is attached to."""
        return int(int(self.pci_bus_id[5:7], base=16) >= _SECOND_PROCESSOR)

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(
            device_type="GPU",
            model=self.profile.model,
            memory_bytes=self.memory_bytes,
            pci_bus_id=self.pci_bus_id,
            uuid=self.uuid,
            compute_capability=self.profile.compute_capability,
            multiprocessors=self.profile.multiprocessors,
            numa_node=self.numa_node,
            simulated=True,
        )


class Machine(NamedTuple):
    """Simulated GPUs, in the order of their PCI buses."""

    name: str
    cards: tuple[Card, ...]

    @staticmethod
    def parse(text: str) -> Machine:
        """Read a machine's description.

        >>> Machine.parse("2x t4 : 8 GiB").name
        '2xT4:8GiB'
        """
        label, cards_text = _LABEL.fullmatch(text).groups()  # type: ignore[union-attr]
        items = [_parse_item(item, text) for item in cards_text.split(",")]
        n_cards = sum(count for count, _, _ in items)
        if n_cards > MAX_CARDS:
            raise _bad(text, f"{n_cards} GPUs are more than the {MAX_CARDS} supported.")
        name = (label or "") + ",".join(_item_text(*item) for item in items)
        sorts = [(p, nbytes) for count, p, nbytes in items for _ in range(count)]
        cards = tuple(
            Card(profile, nbytes, bus_id, f"GPU-{uuid.uuid5(_UUID_SPACE, name + bus_id)}")
            for (profile, nbytes), bus_id in zip(sorts, _bus_ids(sorts), strict=True)
        )
        return Machine(name, cards)


def _parse_item(item: str, text: str) -> tuple[int, Profile, int]:
    match = _ITEM.fullmatch(item.strip())
    if match is None or not match["name"].strip():
        raise _bad(text, f"{item.strip()!r} names no card.", _EXAMPLES)
    count = parse_count(match["count"] or "1")
    if count == 0:
        raise _bad(text, f"{item.strip()!r} asks for no card.", "Leave it out instead.")
    profile = _find(match["name"].strip(), text)
    if match["memory"] is None:
        return count, profile, profile.memory_bytes
    return count, profile, _memory(match["memory"].strip(), text)


def _find(name: str, text: str) -> Profile:
    found = find_profiles(name)
    if len(found) == 1:
        return found[0]
    if found:
        choices = " or ".join(profile.key for profile in found)
        raise _bad(text, f"{name!r} is sold in several sizes: write {choices}.")
    nearest = ", ".join(profile.key for profile in nearest_profiles(name[:80]))
    known = ", ".join(profile.key for profile in PROFILES)
    raise _bad(
        text,
        f"no profile is called {name!r}. Nearest: {nearest}.",
        f"Known: {known}.",
        _EXAMPLES,
    )


def _memory(memory: str, text: str) -> int:
    try:
        nbytes = parse_bytes(memory)
    except (ValueError, OverflowError):
        raise _bad(text, f"{memory!r} is not a size.", _EXAMPLES) from None
    if not _MIN_MEMORY_BYTES <= nbytes <= _MAX_MEMORY_BYTES:
        least, most = format_bytes(_MIN_MEMORY_BYTES), format_bytes(_MAX_MEMORY_BYTES)
        raise _bad(text, f"a card's memory must be from {least} to {most}.")
    return nbytes


def _bad(text: str, problem: str, *advice: str) -> MachineSpecError:
    shown = text if len(text) <= 200 else text[:200] + "…"
    return MachineSpecError(
        explain(f"Cannot simulate {shown!r}: {problem}", *advice),
    )


def _item_text(count: int, profile: Profile, nbytes: int) -> str:
    memory = "" if nbytes == profile.memory_bytes else ":" + _exact_size(nbytes)
    return f"{count}x{profile.key}{memory}"


def _exact_size(nbytes: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if nbytes % size == 0:
            return f"{nbytes // size}{unit}"
    return f"{nbytes}B"


def _bus_ids(cards: list[tuple[Profile, int]]) -> list[str]:
    first_bus = cards[0][0].first_bus
    n_first_half = max(2, (len(cards) + 1) // 2)
    buses = [
        first_bus + slot
        if slot < n_first_half
        else first_bus + _SECOND_PROCESSOR + slot - n_first_half
        for slot in range(len(cards))
    ]
    return [f"0000:{bus:02x}:00.0" for bus in buses]
