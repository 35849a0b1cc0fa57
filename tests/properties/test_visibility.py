"""Laws of visibility: whatever is written, no device is invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.backends.driver import device_order, select
from berth.backends.machine import Machine
from berth.backends.profiles import PROFILES
from berth.backends.sim import SimBackend
from berth.devices.numbering import DeviceOptions, VirtualDevices, number_gpus
from berth.errors import InvalidArgumentError, UnknownError
from tests.properties.strategies import uuids

entries = (
    st.integers(-2, 9).map(str)
    | st.sampled_from(["", " ", "x", "1gpu", "+1", "-0", " 2 ", "GPU-", "MIG-x"])
    | st.text(max_size=4)
)
lists = st.lists(entries, max_size=6).map(",".join)
machines = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(PROFILES)), min_size=1, max_size=3
).map(lambda items: ",".join(f"{count}x{profile.key}" for count, profile in items))


def naive_selection(value, n_gpus):
    """The driver's rules for numbers, written the slow and obvious way."""
    chosen = []
    for entry in value.split(","):
        text = entry.strip()
        sign = text[:1] if text[:1] in ("+", "-") else ""
        digits = ""
        for character in text[len(sign) :]:
            if character not in "0123456789":
                break
            digits += character
        if not digits or (sign == "-" and int(digits) != 0):
            break
        chosen.append(int(digits))
    if len(set(chosen)) < len(chosen):
        return ()
    valid = []
    for index in chosen:
        if index >= n_gpus:
            break
        valid.append(index)
    return tuple(valid)


@given(lists, st.integers(0, 6))
def test_numbers_select_as_the_naive_model_does(value, n_gpus):
    found = [f"GPU-{index:08x}" for index in range(n_gpus)]
    if not value.strip().startswith("GPU-"):
        assert select(value, found).indices == naive_selection(value, n_gpus)


@given(st.data())
def test_no_device_is_invented_or_named_twice(data):
    found = data.draw(uuids)
    prefixes = st.sampled_from(found).map(lambda uuid: uuid[:9]) if found else st.nothing()
    value = data.draw(lists | st.lists(prefixes | entries, max_size=5).map(",".join))
    chosen = select(value, found).indices

    assert set(chosen) <= set(range(len(found)))
    assert len(set(chosen)) == len(chosen)


@given(st.lists(st.floats(1, 1e3), max_size=8), st.sampled_from([None, "PCI_BUS_ID", "x"]))
def test_ordering_only_reorders(speeds, order):
    by_order = device_order(order, speeds)

    assert sorted(by_order) == list(range(len(speeds)))
    if order != "PCI_BUS_ID":
        assert [speeds[i] for i in by_order] == sorted(speeds, reverse=True)


@given(machines, st.none() | lists)
def test_every_card_is_shown_or_hidden(text, value):
    machine = Machine.parse(text)
    backend = SimBackend(machine, visible_devices=value)
    shown = [info.uuid for info in backend.devices()]
    hidden = [hidden.info.uuid for hidden in backend.hidden()]

    assert sorted(shown + hidden) == sorted(card.uuid for card in machine.cards)
    assert all(hidden.reason for hidden in backend.hidden())


@given(machines)
def test_machines_survive_their_names(text):
    machine = Machine.parse(text)
    assert Machine.parse(machine.name) == machine


limits = st.lists(st.integers(1, 4096), max_size=3).map(tuple)
virtual_devices = st.builds(
    VirtualDevices,
    memory_limit_mb=limits,
    priority=st.just(()) | st.lists(st.integers(-2, 1), max_size=3).map(tuple),
    device_ordinal=st.just(()) | st.lists(st.integers(0, 3), max_size=3).map(tuple),
)
options = st.builds(
    DeviceOptions,
    device_count=st.dictionaries(st.just("GPU"), st.integers(0, 5)),
    visible_device_list=st.just("") | lists,
    virtual_devices=st.lists(virtual_devices, max_size=4).map(tuple),
    n_virtual_devices_per_gpu=st.integers(0, 3),
    memory_fraction=st.sampled_from([0.0, 0.4]),
    # The rest does not number GPUs. Unless it is named, it is drawn too: options inside options.
    system_memory_mb=st.just(0),
    allow_growth=st.none(),
    fragmentation_fraction=st.just(0.0),
    other_types=st.just({}),
)


@given(options, st.integers(0, 4), st.data())
def test_numbering_uses_usable_gpus_only(request, n_platform, data):
    usable = (
        data.draw(st.lists(st.sampled_from(range(n_platform)), unique=True))
        if n_platform
        else []
    )
    try:
        numbered = number_gpus(request, n_platform, usable)
    except (InvalidArgumentError, UnknownError):
        return
    assert {gpu.platform for gpu in numbered} <= set(usable)
    assert numbered == number_gpus(request, n_platform, usable)


@pytest.mark.parametrize("bad", ["0,", ",", "x", "9", "0,0", " "])
def test_bad_visible_device_lists_are_refused(bad):
    with pytest.raises(InvalidArgumentError):
        number_gpus(DeviceOptions(visible_device_list=bad), 2, [0, 1])
