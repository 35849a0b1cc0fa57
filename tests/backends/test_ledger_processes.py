"""Processes that share a ledger, and die at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from berth.backends.ledger import Ledger, list_ledgers
from berth.backends.ledger_notes import CardUse, LedgerInfo
from berth.backends.machine import Machine
from berth.errors import DeviceMemoryError, LedgerError
from tests.backends.ledger_processes import CAPACITY, MACHINE, PATIENCE, run_worker

# --- several processes ---------------------------------------------------------------


def test_processes_see_each_other(ledger, worker):
    other = worker()
    ledger.attach(0, 100)
    other("attach", 0, 10)
    other("reserve", 1, CAPACITY - 5)
    other("describe", 1, 4096, False)
    with pytest.raises(DeviceMemoryError) as error:
        ledger.reserve(1, 6)
    ledger.reserve(1, 5)
    theirs = {holder.pid: holder.cards for holder in ledger.holders()}

    assert (error.value.free, error.value.total) == (5, CAPACITY)
    assert ledger.used(0) == other("used", 0) == 110
    assert theirs == {
        os.getpid(): {0: CardUse(100), 1: CardUse(5)},
        other.pid: {0: CardUse(10), 1: CardUse(CAPACITY - 5, 4096, False)},
    }
    assert [holder["pid"] for holder in other("holders")] == [os.getpid(), other.pid]


def test_closing_gives_everything_back(ledger, worker):
    other = worker()
    other("attach", 0, 10)
    other("reserve", 1, CAPACITY)
    other("close")

    assert (ledger.used(0), ledger.used(1)) == (0, 0)


@pytest.mark.parametrize("question", ["used", "reserve", "attach", "holders", "list"])
def test_killed_process_holds_nothing(directory, ledger, worker, question):
    other = worker()
    other("reserve", 0, CAPACITY)
    assert ledger.used(0) == CAPACITY
    other.kill()
    asked = time.monotonic()
    if question == "used":
        assert ledger.used(0) == 0
    elif question == "holders":
        assert len(ledger.holders()) == 1
    elif question == "list":
        assert [len(info.holders) for info in list_ledgers(directory)] == [1]
    else:
        getattr(ledger, question)(0, CAPACITY)

    assert time.monotonic() - asked < 0.2


def test_killed_process_holds_nothing_though_its_child_lives(ledger, worker, forked):
    other = worker()
    other("reserve", 0, CAPACITY)
    forked.append(other("fork_one_that_stays"))
    assert ledger.used(0) == CAPACITY
    other.kill()
    asked = time.monotonic()

    assert ledger.used(0) == 0
    assert time.monotonic() - asked < 0.2


def test_killed_in_a_change_it_blocks_no_one_though_its_child_lives(worker, forked):
    other, third = worker(), worker()
    other("reserve", 0, 100)
    forked.append(other("fork_one_that_stays"))
    other("hold_the_lock")
    other.kill()

    assert third("used", 0) == 0  # fails after PATIENCE if the child has the lock


def test_forked_child_has_no_part_in_its_parents_ledger(ledger, worker):
    other = worker()
    other("reserve", 0, 100)
    told = other("fork_one_that_looks")
    message = (
        f"The simulated GPUs of 2xT4:1MiB were opened by process {other.pid} before it "
        "forked this one, which cannot use them.\n"
        "  Open them after the fork, or start processes by multiprocessing's 'spawn'."
    )

    assert [told[name] for name in ("used", "reserve", "holders")] == [message] * 3
    assert told["used afresh"] == 105
    assert set(told["holders afresh"]) == {os.getpid(), other.pid, told["pid"]}
    # The parent's slot is as it was.
    assert ledger.used(0) == other("used", 0) == 100
    other("release", 0, 60)
    assert ledger.used(0) == 40


def test_slots_run_out_with_a_clear_error(directory, worker, forked):
    other = worker()
    forked += other("fork_many_that_join", 127)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, directory)
    assert str(error.value) == (
        "Cannot use the simulated machine 2xT4:1MiB: 128 processes use it already, and "
        "there is no room for more.\n"
        "  Wait until one of them ends."
    )
    assert len(other("holders")) == 128
    os.kill(forked.pop(), signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while len(other("holders")) == 128:  # it is not our child: we cannot wait for it
        assert time.monotonic() < deadline
    Ledger.open(MACHINE, directory).close()


def test_listing_takes_no_part(directory, worker):
    other = worker()
    other("attach", 1, 10)
    [path] = directory.glob("*.ledger")
    before = path.read_bytes()
    n_open = len(os.listdir("/dev/fd"))
    [info] = list_ledgers(directory)

    assert (info.machine, info.capacities) == ("2xT4:1MiB", (CAPACITY, CAPACITY))
    assert [(holder.pid, holder.cards) for holder in info.holders] == [
        (other.pid, {1: CardUse(10)})
    ]
    assert path.read_bytes() == before
    assert len(os.listdir("/dev/fd")) == n_open


def test_listing_keeps_our_own_slot(directory, ledger, worker):
    other = worker()
    ledger.reserve(0, 100)
    [info] = list_ledgers(directory)

    assert {holder.pid for holder in info.holders} == {os.getpid(), other.pid}
    assert other("used", 0) == 100


def test_listing_shows_every_machine(directory, worker):
    other = worker()
    lone = Ledger.open(Machine.parse("1xK20m"), directory)
    found = list_ledgers(directory)
    lone.close()
    other.kill()

    assert [info.machine for info in found] == ["1xK20m", "2xT4:1MiB"]
    assert list_ledgers(directory) == [LedgerInfo("2xT4:1MiB", (CAPACITY, CAPACITY), [])]
    assert list_ledgers(directory / "nowhere") == []


def test_ledger_without_shared_locks_is_of_one_process():
    """As on Windows: no fcntl, no pwd, no user ids, no fork."""
    program = """
import os, sys
sys.modules["fcntl"] = sys.modules["pwd"] = None
for name in ("fork", "register_at_fork", "geteuid", "getuid"):
    delattr(os, name)
from berth.backends.ledger import *
from berth.backends.ledger import Ledger, list_ledgers
from berth.backends.machine import Machine
ledger = Ledger.open(Machine.parse("2xT4:1MiB"))
ledger.attach(0, 10)
ledger.reserve(0, 2**20 - 10)
try:
    ledger.reserve(0, 1)
except MemoryError as error:
    print(error)
ledger.release(0, 2**20 - 10)
assert Ledger.open(Machine.parse("2xT4:1MiB")) is ledger
[holder] = ledger.holders()
assert holder.pid == os.getpid()
print(ledger.used(0), holder.cards, [info.machine for info in list_ledgers()])
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout == (
        "card 0 of 2xT4:1MiB cannot reserve 1 bytes: 0 of 1,048,576 bytes are free.\n"
        "10 {0: CardUse(nbytes=10, limit_bytes=None, growth=None, claimed_bytes=0)} ['2xT4:1MiB']\n"
    )


# --- death at any moment -------------------------------------------------------------


def test_killed_at_any_line_it_leaves_the_ledger_usable(tmp_path):
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir(mode=0o700)
    beside.mkdir(mode=0o700)
    with ThreadPoolExecutor(2) as pool:
        reports = [
            pool.submit(run_worker, "crash-everywhere", alone, 0),
            pool.submit(run_worker, "crash-everywhere", beside, 1000),
        ]

    assert all(report.result()["crashes"] > 300 for report in reports)


def test_random_work_and_random_kills(directory):
    n_kills = int(os.environ.get("BERTH_STRESS_KILLS", "200"))
    report = run_worker("stress", directory, n_kills)

    assert report["kills"] == n_kills
    assert report["operations"] > n_kills
    assert report["refusals"] > 0
    assert report["lives"] > 0
