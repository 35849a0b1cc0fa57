"""What a process takes of the cards, in the ledger."""

from __future__ import annotations

import os
import random
import re
import sys
import time
from pathlib import Path

import pytest

from berth.backends.ledger import Ledger
from berth.backends.ledger_notes import CardUse
from berth.backends.machine import Machine
from berth.errors import DeviceMemoryError
from tests.backends.ledger_processes import CAPACITY, MACHINE

# --- accounting in one process -------------------------------------------------------


def test_bytes_are_taken_and_given_back(ledger):
    ledger.reserve(0, 1000)
    ledger.reserve(0, 24)
    ledger.reserve(1, 7)
    ledger.release(0, 1000)

    assert (ledger.used(0), ledger.used(1)) == (24, 7)


def test_context_is_taken_once(ledger):
    ledger.attach(0, 300)
    ledger.attach(0, 300)
    ledger.reserve(0, 5)

    assert (ledger.used(0), ledger.used(1)) == (305, 0)
    assert (ledger.is_attached(0), ledger.is_attached(1)) == (True, False)


def test_context_cannot_be_released(ledger):
    ledger.attach(0, 300)
    ledger.reserve(0, 5)
    with pytest.raises(ValueError, match=r"^Cannot release 6 bytes of card 0 of ") as error:
        ledger.release(0, 6)

    assert str(error.value).endswith(" of 2xT4:1MiB: this process has reserved 5.")
    assert ledger.used(0) == 305


@pytest.mark.parametrize("method", ["reserve", "attach"])
def test_capacity_holds_to_the_byte(ledger, method):
    ledger.reserve(0, CAPACITY - 10)
    with pytest.raises(DeviceMemoryError) as error:
        getattr(ledger, method)(0, 11)
    assert str(error.value) == (
        "card 0 of 2xT4:1MiB cannot reserve 11 bytes: 10 of 1,048,576 bytes are free."
    )
    assert ledger.used(0) == CAPACITY - 10
    getattr(ledger, method)(0, 10)

    assert ledger.used(0) == CAPACITY


def test_cards_that_are_not_there_are_refused(ledger):
    for card in (-1, 2):
        for ask in (ledger.used, ledger.holders):
            with pytest.raises(
                ValueError, match=rf"^2xT4:1MiB has no card {card}: it has 2\.$"
            ):
                ask(card)
        for change in (ledger.reserve, ledger.release, ledger.attach):
            with pytest.raises(
                ValueError, match=rf"^2xT4:1MiB has no card {card}: it has 2\.$"
            ):
                change(card, 1)


@pytest.mark.parametrize("nbytes", [0, -1, 2**63])
def test_sizes_out_of_range_are_refused(ledger, nbytes):
    message = f"Cannot account for {nbytes} bytes: name from 1 to 2**63 - 1."
    for change in (ledger.reserve, ledger.release, ledger.attach):
        with pytest.raises(ValueError, match=re.escape(message)):
            change(0, nbytes)
    with pytest.raises(ValueError, match=re.escape(message)):
        ledger.describe(0, limit_bytes=nbytes, growth=True)

    assert ledger.used(0) == 0


def test_accounts_agree_with_a_naive_model(ledger):
    rng = random.Random(7)
    held: list[tuple[int, int]] = []
    n_refused = 0
    for _ in range(2000):
        if held and rng.random() < 0.45:
            ledger.release(*held.pop(rng.randrange(len(held))))
        else:
            card, nbytes = rng.randrange(2), rng.randrange(1, CAPACITY // 4)
            fits = sum(n for c, n in held if c == card) + nbytes <= CAPACITY
            if fits:
                ledger.reserve(card, nbytes)
                held.append((card, nbytes))
            else:
                with pytest.raises(DeviceMemoryError):
                    ledger.reserve(card, nbytes)
                n_refused += 1
        for card in range(2):
            assert ledger.used(card) == sum(n for c, n in held if c == card)
    assert n_refused > 100


def test_one_process_has_one_slot(directory, ledger):
    again = Ledger.open(MACHINE, directory.parent / "." / directory.name)
    again.reserve(0, 5)

    assert again is ledger
    assert len(ledger.holders()) == 1

    again.close()
    assert ledger.used(0) == 5


def test_closed_ledger_is_refused(directory):
    ledger = Ledger.open(MACHINE, directory)
    ledger.attach(1, 1)
    ledger.reserve(0, 10)
    ledger.close()
    with pytest.raises(RuntimeError, match=r"^The ledger of 2xT4:1MiB is closed\.$"):
        ledger.used(0)
    with pytest.raises(RuntimeError, match=r"^The ledger of 2xT4:1MiB is closed\.$"):
        ledger.reserve(0, 1)
    with pytest.raises(RuntimeError, match=r"^The ledger of 2xT4:1MiB is closed\.$"):
        ledger.attach(1, 1)
    # Finalizers come late.
    ledger.release(0, 10)
    ledger.close()


def test_machines_do_not_meet(directory, ledger):
    other = Ledger.open(Machine.parse("1xT4:1MiB"), directory)
    other.reserve(0, 100)

    assert ledger.used(0) == 0
    other.close()


def test_holder_tells_who_it_is(ledger):
    import pwd

    ledger.attach(1, 10)
    ledger.describe(0, limit_bytes=5000, growth=False)
    ledger.describe(1, limit_bytes=None, growth=True)
    [holder] = ledger.holders()

    assert holder.pid == os.getpid()
    assert holder.user == pwd.getpwuid(os.geteuid()).pw_name
    assert Path(sys.executable).name in holder.command
    assert abs(time.time() - holder.since) < 60
    assert holder.cards == {0: CardUse(0, 5000, False), 1: CardUse(10, None, True)}
    assert ledger.holders(0) == []
    assert ledger.holders(1) == [holder]


@pytest.mark.parametrize("character", ["x", "é", "\U0001f6a2", "\udcff", "\0", '"'])
def test_long_commands_are_cut(directory, monkeypatch, character):
    monkeypatch.setattr(sys, "orig_argv", ["python", character * 5000])
    machine = Machine.parse("64xT4:1MiB")
    ledger = Ledger.open(machine, directory)
    for card in range(64):
        ledger.describe(card, limit_bytes=2**63 - 1, growth=False)
    [holder] = ledger.holders()
    ledger.close()

    assert len(holder.cards) == 64
    assert holder.command.startswith("python")
    assert holder.command.endswith("...")
    assert holder.command.encode().decode() == holder.command
