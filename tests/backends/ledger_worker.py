"""Processes for the tests of the ledger, to talk to and to kill.

    serve DIRECTORY             do what each line of standard input asks, as JSON
    crash-everywhere DIRECTORY BYTES
                                be killed at every line of the ledger, and look; beside
                                a process that holds so many bytes, if any
    stress DIRECTORY KILLS      8 processes at random work, and one that kills them

Everything that forks is here, since pytest's process has threads of others. This one
has none.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec, module_from_spec
from itertools import count
from pathlib import Path
from typing import Any

# The packages without what they import: a ledger needs no NumPy, and a process without
# it starts in a quarter of the time, and forks in half.
for name in ("berth", "berth.backends"):
    sys.modules[name] = module_from_spec(find_spec(name))

from berth.backends.ledger import Ledger  # noqa: E402
from berth.backends.machine import Machine  # noqa: E402
from berth.errors import DeviceMemoryError  # noqa: E402

MACHINE = Machine.parse("2xT4:1MiB")
CAPACITY = 2**20
CARDS = range(2)


def in_child(work: Callable[[], None]) -> int:
    """Fork a child that does the work and ends, with 1 and a traceback if it fails."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)


# --- serve ---------------------------------------------------------------------------


class Server:
    """A process with a ledger, whose methods can be asked for by name."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.ledger = Ledger.open(MACHINE, directory)

    def answer(self, name: str, *args: Any) -> Any:
        own = getattr(self, name, None)
        return own(*args) if own else getattr(self.ledger, name)(*args)

    def holders(self) -> list[Any]:
        return [holder._asdict() for holder in self.ledger.holders()]

    def describe(self, card: int, limit_bytes: int | None, growth: bool) -> None:
        self.ledger.describe(card, limit_bytes=limit_bytes, growth=growth)

    def hold_the_lock(self) -> None:
        self.ledger._table.lock()

    def fork_one_that_stays(self) -> int:
        return in_child(signal.pause)

    def fork_without_python(self) -> int:
        """As a library in C does: no hook of Python's runs."""
        pid: int = ctypes.PyDLL(None).fork()
        if pid == 0:
            ctypes.PyDLL(None).pause()
        return pid

    def copy_directory(self, to: str) -> None:
        shutil.copytree(self.directory, to)

    def load_berth_again(self) -> list[int]:
        """Let a second copy of the modules look, join, and leave."""
        for name in [name for name in sys.modules if name.startswith("berth.backends.")]:
            del sys.modules[name]
        again = importlib.import_module("berth.backends.ledger")
        n_holders = [len(info.holders) for info in again.list_ledgers(self.directory)]
        second = again.Ledger.open(MACHINE, self.directory)
        assert second is not self.ledger
        second.reserve(0, 5)
        n_holders.append(len(second.holders()))
        second.close()
        return n_holders

    def close_all_descriptors(self, own_files: list[str]) -> None:
        """As a program does that becomes a daemon, and goes on with files of its own."""
        os.closerange(3, 256)
        self.own_files = [open(path, "w") for path in own_files]  # noqa: SIM115

    def write_own_files(self) -> None:
        for file in self.own_files:
            print("mine", file=file, flush=True)

    def become(self, *command: str) -> None:
        os.execvp(command[0], command)

    def fork_many_that_join(self, n: int) -> list[int]:
        reader, writer = os.pipe()

        def join() -> None:
            ledger = Ledger.open(MACHINE, self.directory)
            os.write(writer, b".")
            signal.pause()
            ledger.close()

        pids = [in_child(join) for _ in range(n)]
        for _ in pids:
            os.read(reader, 1)
        return pids

    def fork_one_that_looks(self) -> Any:
        """Let a child use what it inherited, then a ledger of its own."""
        reader, writer = os.pipe()

        def look() -> None:
            told: dict[str, Any] = {"pid": os.getpid()}
            for name, args in {"used": [0], "reserve": [0, 1], "holders": []}.items():
                try:
                    getattr(self.ledger, name)(*args)
                except RuntimeError as error:
                    told[name] = str(error)
            self.ledger.release(0, 1)
            self.ledger.close()
            own = Ledger.open(MACHINE, self.directory)
            own.reserve(0, 5)
            told["used afresh"] = own.used(0)
            told["holders afresh"] = [holder.pid for holder in own.holders()]
            own.close()
            os.write(writer, json.dumps(told).encode())

        pid = in_child(look)
        os.close(writer)
        with open(reader) as pipe:
            told = json.load(pipe)
        os.waitpid(pid, 0)
        return told


def serve(directory: str) -> None:
    server = Server(directory)
    for line in sys.stdin:
        try:
            answer = {"answer": server.answer(*json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


# --- crash-everywhere ----------------------------------------------------------------


def crash_everywhere(directory: str, bystander_bytes: str) -> None:
    """Let a process be killed at each line it comes to."""
    nbytes = int(bystander_bytes)
    for n in count():
        bystander = Ledger.open(MACHINE, directory) if nbytes else None
        if bystander:
            bystander.reserve(0, nbytes)
        crashed = _crash_at(n, _live_a_life(directory))
        _expect_only(directory, nbytes)
        if bystander:
            bystander.close()
        left = {path.suffix for path in Path(directory).iterdir()}
        # A process may die while it prepares a file. The next one clears it away.
        assert left <= {".new"}, left
        if not crashed:
            break
    print(json.dumps({"crashes": n}))


def _live_a_life(directory: str) -> Iterator[None]:
    """Use a ledger in every way; each `yield` is the end of a step."""
    ledger = Ledger.open(MACHINE, directory)
    yield
    ledger.attach(0, 10)
    yield
    assert ledger.claim(1, lambda card, free: 400 * card) == [1]
    yield
    ledger.reserve(1, 300)
    ledger.settle(1)
    yield
    ledger.reserve(1, 200)
    yield
    ledger.describe(1, limit_bytes=1000, growth=True)
    yield
    ledger.release(1, 200)
    yield
    ledger.close()


def _crash_at(n: int, life: Iterator[None]) -> bool:
    """Run a life in a process that dies before its n-th line; tell whether it did.

    Of loops, the first two rounds in each step count.
    """
    seen: Counter[tuple[str, int]] = Counter()
    n_lines = 0

    def count_line(frame: Any, event: str, _: Any) -> Any:
        nonlocal n_lines
        if event == "line":
            line = frame.f_code.co_filename, frame.f_lineno
            times = seen[line]
            if times < 2:
                seen[line] = times + 1
                if n_lines == n:
                    os.kill(os.getpid(), signal.SIGKILL)
                n_lines += 1
        return count_line

    def trace(frame: Any, event: str, _: Any) -> Any:
        path = frame.f_code.co_filename
        is_ledger = "/backends/ledger" in path and path != __file__
        return count_line if is_ledger else None

    def live() -> None:
        sys.settrace(trace)
        for _ in life:
            seen.clear()

    _, status = os.waitpid(in_child(live), 0)
    assert status in (0, signal.SIGKILL), f"line {n}: status {status}"
    return status == signal.SIGKILL


def _settled(look: Callable[[], Any], wanted: Any) -> Any:
    """Look until it is as wanted, for a second at most.

    The kernel releases a dead process's lock with its memory. Where another process reads
    ``/proc/PID/maps`` at that moment, as tests beside this one may, that is a little later.
    """
    end = time.monotonic() + 1
    while (found := look()) != wanted and time.monotonic() < end:
        time.sleep(0.001)
    return found


def _expect_only(directory: str, nbytes: int) -> None:
    """Check that one process, this one, holds so many bytes, and could have the rest."""
    ledger = Ledger.open(MACHINE, directory)
    holders = _settled(lambda: [holder.pid for holder in ledger.holders()], [os.getpid()])
    assert holders == [os.getpid()], holders
    for card, expected in enumerate((nbytes, 0)):
        assert ledger.used(card) == expected, (card, ledger.used(card))
        ledger.reserve(card, CAPACITY - expected)
        ledger.release(card, CAPACITY - expected)
    ledger.close()


# --- stress --------------------------------------------------------------------------

N_WORKERS = 8
OPERATIONS, REFUSALS, LIVES = range(3)


def stress(directory: str, n_kills: str) -> None:
    rng = random.Random(20150809)
    counts = memoryview(mmap.mmap(-1, 4096)).cast("Q")
    seeds = count()

    def start(worker: int) -> int:
        seed, mine = next(seeds), counts[4 * worker : 4 * worker + 3]
        return in_child(lambda: _work_for_ever(directory, random.Random(seed), mine))

    pids = [start(worker) for worker in range(N_WORKERS)]
    try:
        for _ in range(int(n_kills)):
            time.sleep(rng.uniform(0.0, 0.02))
            victim = rng.randrange(N_WORKERS)
            _kill(pids[victim])
            pids[victim] = start(victim)
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # it failed, which is what we report
                os.kill(pid, signal.SIGKILL)
    for pid in pids:
        _expect_killed(pid)
    _expect_only(directory, 0)
    left = {path.suffix for path in Path(directory).iterdir()}
    assert left <= {".new"}, left
    sums = [sum(counts[i : 4 * N_WORKERS : 4]) for i in (OPERATIONS, REFUSALS, LIVES)]
    names = ("operations", "refusals", "lives")
    print(json.dumps(dict(zip(names, sums, strict=True), kills=int(n_kills))))


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    _expect_killed(pid)


def _expect_killed(pid: int) -> None:
    _, status = os.waitpid(pid, 0)
    assert status == signal.SIGKILL, f"a worker ended by itself, with status {status}"


def _work_for_ever(directory: str, rng: random.Random, counts: memoryview) -> None:
    while True:
        ledger = Ledger.open(MACHINE, directory)
        contexts = [rng.randrange(1, 5000) for _ in CARDS]
        held: list[tuple[int, int]] = []
        attached = [_try(ledger.attach, card, contexts[card]) for card in CARDS]
        for _ in range(rng.randrange(200)):
            if held and rng.random() < 0.45:
                ledger.release(*held.pop(rng.randrange(len(held))))
            else:
                ask = rng.randrange(len(CARDS)), rng.randrange(1, CAPACITY // 6)
                if _try(ledger.reserve, *ask):
                    held.append(ask)
                else:
                    counts[REFUSALS] += 1
            counts[OPERATIONS] += 1
            _check_accounts(ledger, [
                contexts[card] * attached[card] + sum(n for c, n in held if c == card)
                for card in CARDS
            ])  # fmt: skip
        ledger.close()
        counts[LIVES] += 1


def _try(take: Callable[[int, int], None], card: int, nbytes: int) -> bool:
    try:
        take(card, nbytes)
    except DeviceMemoryError as error:
        if not 0 <= error.free < nbytes:
            raise AssertionError("the refusal is not true") from error
        return False
    return True


def _check_accounts(ledger: Ledger, own: list[int]) -> None:
    """One snapshot: no card over its capacity, and ours is what we know we hold."""
    holders = ledger.holders()
    [mine] = [holder for holder in holders if holder.pid == os.getpid()]
    for card in CARDS:
        held = [holder.cards[card].nbytes for holder in holders if card in holder.cards]
        assert sum(held) <= CAPACITY, held
        assert (mine.cards[card].nbytes if card in mine.cards else 0) == own[card]


if __name__ == "__main__":
    modes = {"serve": serve, "crash-everywhere": crash_everywhere, "stress": stress}
    modes[sys.argv[1]](*sys.argv[2:])
