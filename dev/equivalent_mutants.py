"""Mutants that no caller can notice, by module, statement and change: why.

Speed and the moment of a pause are no results: the tests measure no time.
"""

from __future__ import annotations

_SAME_VALUE = "where both are equal, the same value is assigned again"
_TUNING = "a measured number that decides about speed alone"
_PAUSE = "how long a thread pauses: it asks again afterwards"

EQUIVALENT: dict[str, dict[tuple[str, str], str]] = {
    "memory/arena.py": {
        (
            "if counters.in_use_bytes > counters.peak_bytes:  # noqa: PLR1730 - faster",
            "counters.in_use_bytes > counters.peak_bytes -> counters.in_use_bytes >= counters.peak_bytes",
        ): _SAME_VALUE,
        (
            "if chunk.size > counters.largest_bytes:  # noqa: PLR1730",
            "chunk.size > counters.largest_bytes -> chunk.size >= counters.largest_bytes",
        ): _SAME_VALUE,
        (
            "has_memory = bool(self._granted) or self._extend(rounded(1), max_bytes)",
            "1 -> 2",
        ): "both are rounded up to 256",
        (
            "def _extend(self, size: int, max_bytes: int = 2**63) -> bool:",
            "2 -> 3",
        ): "more than any card has",
        (
            "def _extend(self, size: int, max_bytes: int = 2**63) -> bool:",
            "63 -> 64",
        ): "more than any card has",
        (
            "self._tiling.check()",
            "self._tiling.check() -> left out",
        ): "verifies invariants, for the tests",
    },
    "memory/chunks.py": {
        ("FREE = -1", "1 -> 2"): "any number that is no allocation's",
        (
            "self.address = 0",
            "0 -> 1",
        ): "set when the chunk is made part of a region, before it is read",
        (
            "self.size = 0",
            "0 -> 1",
        ): "set when the chunk is made part of a region, before it is read",
        (
            "if number > _LAST:  # noqa: PLR1730",
            "number > _LAST -> number >= _LAST",
        ): _SAME_VALUE,
    },
    "backends/ledger_table.py": {
        (
            "return (1024 + 40 * len(self.capacities)) // WORD",
            "1024 -> 1025",
        ): "whole words: the eighth part of a word is cut off",
        (
            "self._note_lengths = words[self._notes_at : -1 : self._note_words]",
            "1 -> 2",
        ): "the last length stands long before the end",
        (
            "return self._words[start : start + self._note_words - 1].tobytes()[:length]",
            "start + self._note_words - 1 -> start + self._note_words + 1",
        ): "cut to its length, which was compared with the room",
    },
    "plan/placer.py": {
        (
            "several = len(found.devices) > 1",
            "len(found.devices) > 1 -> len(found.devices) >= 1",
        ): "of one device there is nothing to choose",
    },
    "plan/groups.py": {
        (
            "super().__init__(source, user, field, names)",
            "super().__init__(source, user, field, names) -> left out",
        ): "the placer catches it, and reads its attributes",
        (
            "and group.types <= self._candidates.kind_of(user).types",
            "group.types <= self._candidates.kind_of(user).types -> "
            "group.types < self._candidates.kind_of(user).types",
        ): "a shortcut: the long way leads to the same group",
        (
            "theirs.rank = max(theirs.rank, 1)",
            "1 -> 2",
        ): "ranks keep the trees of groups flat",
        (
            "sources.insert(0, inputs[0].op)",
            "0 -> 1",
        ): "no operation takes a reference and a handle",
    },
    "plan/fuse.py": {
        ("SLICE = 2**18", "18 -> 19"): _TUNING,
        (
            "return max([each.nbytes for each in set(types)], default=0)",
            "0 -> 1",
        ): "both are small",
    },
    "plan/partition.py": {
        (
            "if target.last_use >= 0 and target.last_use <= level:",
            "target.last_use <= level -> target.last_use < level",
        ): "the copy leaves its stage and comes in again",
        ("if target.last_use >= 0:", "0 -> 1"): "above the level, which is at least 0",
        (
            "if target.last_use >= 0:",
            "target.last_use >= 0 -> target.last_use > 0",
        ): "above the level, which is at least 0",
        ("if hosts:", "hosts -> not hosts"): "the steps of host inputs are waited for too",
    },
    "plan/liveness.py": {("END = 2**60", "2 -> 3"): "beyond any position"},
    "run/executor.py": {
        (
            "busy = [d for d, s in binding.plan.work_seconds.items() if s >= WORTH_A_THREAD]",
            "s >= WORTH_A_THREAD -> s > WORTH_A_THREAD",
        ): _TUNING,
        ("share = max(1, n_cores() // len(busy))", "1 -> 2"): "how many threads slice a step",
        (
            "share = max(1, n_cores() // len(busy))",
            "n_cores() // len(busy) -> n_cores() * len(busy)",
        ): "how many threads slice a step",
        (
            "return False",
            "return False -> return True",
        ): "the next stage finds the error, and runs nothing",
    },
    "run/admission.py": {
        ("MAX_TRIES_ALONE = 10", "10 -> 11"): _PAUSE,
        ("MAX_ENDED = 1000", "1000 -> 1001"): _PAUSE,
        ("if _waiting:", "_waiting -> not _waiting"): _PAUSE,
        ("time.sleep(2 * PAUSE)  # those who wait go first", "2 -> 3"): _PAUSE,
        (
            "time.sleep(2 * PAUSE)  # those who wait go first",
            "2 * PAUSE -> 2 // PAUSE",
        ): _PAUSE,
        (
            "time.sleep(2 * PAUSE)  # those who wait go first",
            "time.sleep(2 * PAUSE) -> left out",
        ): _PAUSE,
        (
            "is_over = n_alone >= max_alone or n_ended >= MAX_ENDED",
            "n_ended >= MAX_ENDED -> n_ended > MAX_ENDED",
        ): _PAUSE,
        (
            "time.sleep(PAUSE * random.uniform(0.5, 1.5))",
            "time.sleep(PAUSE * random.uniform(0.5, 1.5)) -> left out",
        ): _PAUSE,
        (
            "time.sleep(PAUSE * random.uniform(0.5, 1.5))",
            "PAUSE * random.uniform(0.5, 1.5) -> PAUSE // random.uniform(0.5, 1.5)",
        ): _PAUSE,
        ("time.sleep(PAUSE)", "time.sleep(PAUSE) -> left out"): _PAUSE,
    },
    "run/planner.py": {("MAX_SIGNATURES = 64", "64 -> 65"): _TUNING},
    "run/resources.py": {("n_threads: int = 0,", "0 -> 1"): "how many threads slice a step"},
}
