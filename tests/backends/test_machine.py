"""Simulated machines, from their text."""

from __future__ import annotations

import uuid

import pytest

from berth.backends.machine import Machine
from berth.backends.profiles import PROFILES, find_profiles
from berth.errors import MachineSpecError

EXPECTED = [
    "K20m", "K40c", "K80", "P100", "V100-16GB", "V100-32GB", "T4", "A100-40GB", "A100-80GB",
    "H100-80GB", "L4", "RTX 3090", "RTX 4090", "RTX 5090",
]  # fmt: skip
KNOWN = ", ".join(profile.key for profile in PROFILES)
EXAMPLES = "Write it like 4xT4, 2xA100-40GB,1xT4 or 2xT4:8GiB."


@pytest.mark.parametrize("key", EXPECTED)
def test_common_cards_have_profiles(key):
    [profile] = find_profiles(key)

    assert profile.compute_capability >= (3, 5)
    assert profile.multiprocessors >= 8
    assert profile.memory_bytes > profile.context_bytes > 0
    assert profile.peak_flops > 1e12
    assert profile.memory_bandwidth > profile.link_bandwidth > 1e9


@pytest.mark.parametrize(
    ("text", "buses"),
    [
        ("Tesla K40c", ["05"]),
        ("4xTesla K20m", ["02", "03", "83", "84"]),
        ("2xTesla K20m", ["02", "03"]),
        ("3xK20m", ["02", "03", "83"]),
        ("8xT4", ["02", "03", "04", "05", "83", "84", "85", "86"]),
    ],
)
def test_bus_ids_are_the_documents(text, buses):
    cards = Machine.parse(text).cards
    assert [card.pci_bus_id for card in cards] == [f"0000:{bus}:00.0" for bus in buses]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("T4", "1xT4"),
        ("4xTesla K20m", "4xK20m"),
        ("4Xtesla_k20M", "4xK20m"),
        (" 2 x A100-40GB , 1xT4 ", "2xA100-40GB,1xT4"),
        ("NVIDIA A100-SXM4-40GB", "1xA100-40GB"),
        ("h100", "1xH100-80GB"),
        ("RTX3090", "1xRTX 3090"),
        ("gtx1080ti", "1xGTX 1080 Ti"),
        ("0000000004xT4", "4xT4"),
        ("GeForce RTX 4090", "1xRTX 4090"),
        ("2xT4:8GiB", "2xT4:8GiB"),
        ("T4: 1.5 GiB", "1xT4:1536MiB"),
        ("T4:2GB", "1xT4:2000000000B"),
    ],
)
def test_names_are_understood_and_made_canonical(text, name):
    machine = Machine.parse(text)

    assert machine.name == name
    assert Machine.parse(name) == machine


@pytest.mark.parametrize("name", ["GTX 1080", "RTX 2080", "GTX", "RTX", "A1", "K"])
def test_another_card_is_never_guessed(name):
    with pytest.raises(MachineSpecError, match="no profile is called"):
        Machine.parse(name)


def test_mixed_machine_keeps_its_order():
    cards = Machine.parse("2xA100-40GB,1xT4:8GiB").cards

    assert [card.profile.key for card in cards] == ["A100-40GB", "A100-40GB", "T4"]
    assert cards[2].memory_bytes == 8 * 2**30
    assert [card.numa_node for card in cards] == [0, 0, 1]


def test_uuids_are_lasting_and_unique():
    first, again = Machine.parse("4xT4"), Machine.parse("4xTesla T4")
    found = [card.uuid for card in first.cards]

    assert found == [card.uuid for card in again.cards]
    assert len(set(found)) == 4
    assert all(uuid.UUID(text.removeprefix("GPU-")) for text in found)
    assert found[0] != Machine.parse("2xT4").cards[0].uuid


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"Cannot simulate '': '' names no card.\n  {EXAMPLES}"),
        ("4x", f"Cannot simulate '4x': '4x' names no card.\n  {EXAMPLES}"),
        ("T4,,T4", f"Cannot simulate 'T4,,T4': '' names no card.\n  {EXAMPLES}"),
        (
            "0xT4",
            "Cannot simulate '0xT4': '0xT4' asks for no card.\n  Leave it out instead.",
        ),
        ("65xT4", "Cannot simulate '65xT4': 65 GPUs are more than the 64 supported."),
        (
            "4xV100",
            "Cannot simulate '4xV100': 'V100' is sold in several sizes: write V100-16GB or V100-32GB.",
        ),
        (
            "RTX 4099",
            "Cannot simulate 'RTX 4099': no profile is called 'RTX 4099'. Nearest: RTX 4090, RTX 5090, RTX 3090.\n"
            f"  Known: {KNOWN}.\n  {EXAMPLES}",
        ),
        ("T4:lots", f"Cannot simulate 'T4:lots': 'lots' is not a size.\n  {EXAMPLES}"),
        (
            "T4:1KiB",
            "Cannot simulate 'T4:1KiB': a card's memory must be from 1 MiB to 16 TiB.",
        ),
    ],
)
def test_bad_text_gets_one_clear_error(text, message):
    with pytest.raises(MachineSpecError) as raised:
        Machine.parse(text)
    assert str(raised.value) == message
