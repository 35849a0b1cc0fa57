"""Random and damaged texts: the documented answer or the documented error, always."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from berth.backends.driver import select
from berth.backends.machine import Machine
from berth.backends.profiles import PROFILES
from berth.devices.full_name import parse_full_name, parse_local_name
from berth.devices.spec import DeviceSpecV1, DeviceSpecV2
from berth.errors import MachineSpecError

DEEPER = 80 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 1
N_NAMES, N_LISTS, N_MACHINES = 5_000 * DEEPER, 5_000 * DEEPER, 2_500 * DEEPER
SEED = 20150609

NAMES = [
    "/job:worker/replica:0/task:1/device:GPU:2",
    "/cpu:0",
    "gpu:*",
    "/device:XLA_GPU:3",
    "GPU:0",
    "/job:*/task:12/Gpu:1",
]
LISTS = ["0,1,2", "GPU-2ebc3974,GPU-8380", " 1 , 0 ", "-1", "2,0,-1,1", "1gpu2,2ampere"]
MACHINES = ["4xTesla K20m", "2xA100-40GB,1xT4", "2xT4:8GiB", *(p.model for p in PROFILES)]
ALPHABET = "/:*,.-+_ x019aGgPpUuJjob\t\n\0é٣😀×GiBTMK"


def damaged(examples: list[str], n_strings: int, seed: int) -> Iterator[str]:
    """Yield random strings: noise, and good texts cut, joined, swapped and sprinkled."""
    random_ = random.Random(seed)
    for _ in range(n_strings):
        text = random_.choice(examples)
        for _ in range(random_.randrange(4)):
            at = random_.randrange(len(text) + 1)
            match random_.randrange(5):
                case 0:
                    text = text[:at] + random_.choice(ALPHABET) + text[at:]
                case 1:
                    text = text[:at] + text[at + 1 :]
                case 2:
                    text = text[:at] + random_.choice(examples)
                case 3:
                    text = text[:at] + "9" * random_.randrange(30) + text[at:]
                case 4:
                    text = "".join(random_.choices(ALPHABET, k=random_.randrange(12)))
        yield text


def test_any_text_is_a_name_or_a_value_error():
    for text in damaged(NAMES, N_NAMES, SEED):
        strict = parse_full_name(text)
        # Two things are read and never written: an index without a type, and a number that
        # overflows TensorFlow's 32 bits and turns negative.
        if (
            strict is not None
            and (strict.type is not None or strict.index is None)
            and min(strict.replica or 0, strict.task or 0, strict.index or 0) >= 0
        ):
            assert parse_full_name(str(strict)) == strict, text
        local = parse_local_name(text)
        assert local is None or str(local) == f"/device:{local.type}:{local.index}", text
        try:
            spec = DeviceSpecV2.from_string(text)
        except ValueError:
            continue
        assert DeviceSpecV2.from_string(spec.to_string()) == spec, text
        assert DeviceSpecV1().parse_from_string(text).to_string() == spec.to_string(), text


def test_any_text_is_a_list_of_gpus():
    cards = [card.uuid for card in Machine.parse("4xK20m").cards]
    for text in damaged([*LISTS, cards[0], cards[1][:9]], N_LISTS, SEED + 1):
        chosen = select(text, cards).indices
        assert set(chosen) <= {0, 1, 2, 3}, text
        assert len(chosen) == len(set(chosen)), text


def test_any_text_is_a_machine_or_a_spec_error():
    for text in damaged(MACHINES, N_MACHINES, SEED + 2):
        try:
            machine = Machine.parse(text)
        except MachineSpecError:
            continue
        assert Machine.parse(machine.name) == machine, text
        assert len({card.pci_bus_id for card in machine.cards}) == len(machine.cards), text
