"""Partial runs: one run of a session that is fed, and fetched from, in several calls.

Each call runs what can be computed with the feeds so far, whatever it fetches, as TensorFlow
does. What the rest will need is kept, so that no operation runs twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from berth.errors import InvalidArgumentError
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.plan.plan import Feed, Request
from berth.plan.pruning import needed_ops, waits_of
from berth.run.engine import Engine
from berth.session.fetches import Fetches

_numbers = count()


class PartialRun:
    """A run that was set up, with what it has been fed and has computed."""

    def __init__(
        self, engine: Engine, fetched: Fetches, feeds: Sequence[SymbolicTensor]
    ) -> None:
        self._engine = engine
        self._fetches, self._targets = fetched.tensors, fetched.targets
        _check_setup(self._fetches, self._targets, feeds)
        self._feeds = tuple(feeds)
        self._unfed = set(feeds)
        self._fetched: set[SymbolicTensor] = set()
        self._have: dict[SymbolicTensor, Any] = {}
        self._done: frozenset[Operation] = frozenset()
        names = [",".join(t.name for t in tensors) for tensors in (feeds, self._fetches)]
        targets = ",".join(op.name for op in self._targets)
        self.handle = f"{names[0]}->{names[1]}/{targets}/1/;{next(_numbers)}"

    @property
    def is_over(self) -> bool:
        """Whether everything was fed and fetched."""
        return not self._unfed and self._fetched.issuperset(self._fetches)

    def run(self, fetched: Fetches, feeds: Sequence[Feed], arrays: Sequence[Any]) -> list[Any]:
        """Feed some tensors, and return the values of others."""
        if fetched.targets:
            raise RuntimeError(
                "partial_run() requires empty `target_list`. Received: "
                f"target_list={list(fetched.targets)} (non-empty)"
            )
        given = {feed.tensor: array for feed, array in zip(feeds, arrays, strict=True)}
        self._check_call(fetched.tensors, given)
        unfed = self._unfed - given.keys()
        self._check_fetches(fetched.tensors, unfed)
        self._have.update({tensor: np.array(array) for tensor, array in given.items()})
        self._unfed = unfed
        self._advance()
        self._fetched.update(fetched.tensors)
        return [_returned(self._have[tensor]) for tensor in fetched.tensors]

    def _advance(self) -> None:
        """Run all that can be computed now."""
        rest = self._request(
            [t for t in self._fetches if t not in self._have],
            [op for op in self._targets if op not in self._done],
        )
        ops = needed_ops(rest, self._done)
        waiting = self._waiting(ops)
        wanted = [t for t in rest.fetches if t.op not in waiting]
        targets = [op for op in rest.targets if op not in waiting]
        for op in waiting:
            wanted += [t for t in op.inputs if t.op not in waiting]
            targets += [control for control in waits_of(op) if control not in waiting]
        kept = dict.fromkeys(
            t
            for t in wanted
            if t in rest.fetches or not (t in self._have or t.op.definition.is_source)
        )
        part = self._request(
            [t for t in kept if t not in self._unfed],
            [op for op in dict.fromkeys(targets) if op not in self._done],
        )
        if part.fetches or part.targets:
            fed = [self._have[feed.tensor] for feed in part.feeds]
            values = self._engine.run_part(part, self._done, fed)
            self._have.update(zip(part.fetches, map(np.asarray, values), strict=True))
        ran = {op for op in ops if op not in waiting and not op.definition.is_source}
        self._done |= ran

    def _request(
        self, fetches: Sequence[SymbolicTensor], targets: Sequence[Operation]
    ) -> Request:
        feeds = tuple(Feed(t, np.shape(array)) for t, array in self._have.items())
        return Request(tuple(fetches), tuple(targets), feeds)

    def _waiting(self, ops: Sequence[Operation]) -> dict[Operation, None]:
        """Find the operations that need what was not fed yet; in the order of the graph."""
        waiting: dict[Operation, None] = {}
        for op in ops:
            taken = [t for t in op.inputs if t not in self._have]
            if (
                any(t in self._unfed or t.op in waiting for t in taken)
                or any(control in waiting for control in waits_of(op))
                or self._unfed.intersection(op.outputs)
            ):
                waiting[op] = None
        return waiting

    # --- errors ---------------------------------------------------------------------------

    def _check_call(
        self, fetches: Sequence[SymbolicTensor], given: Mapping[SymbolicTensor, Any]
    ) -> None:
        for kind, verb, tensors, declared, pending in (
            ("feed", "fed", given, self._feeds, self._unfed),
            ("fetch", "fetched", fetches, self._fetches, set(self._fetches) - self._fetched),
        ):
            for tensor in tensors:
                if tensor not in declared:
                    raise _invalid(
                        f"The {kind} {tensor.name} was not specified in partial_run_setup."
                    )
                if tensor not in pending:
                    raise _invalid(f"The {kind} {tensor.name} has already been {verb}.")

    def _check_fetches(
        self, fetches: Sequence[SymbolicTensor], unfed: set[SymbolicTensor]
    ) -> None:
        """Raise InvalidArgumentError if a fetch needs what was not fed yet."""
        stack, seen = [tensor.op for tensor in fetches if tensor not in self._have], set()
        while stack:
            op = stack.pop()
            if op in seen or op in self._done:
                continue
            seen.add(op)
            for tensor in op.inputs:
                if tensor in unfed:
                    raise _invalid(
                        f"Fetch {tensor.name} can't be computed from the feeds that have been "
                        "fed so far."
                    )
                if tensor not in self._have:
                    stack.append(tensor.op)
            stack += waits_of(op)


def _check_setup(
    fetches: Sequence[SymbolicTensor],
    targets: Sequence[Operation],
    feeds: Sequence[SymbolicTensor],
) -> None:
    for position, tensor in enumerate(feeds):
        if tensor in feeds[:position]:
            raise _invalid(f'Endpoint "{tensor.name}" fed more than once.')
        if tensor in fetches:
            raise _invalid(f"{tensor.name} is both fed and fetched.")
    if not fetches and not targets:
        raise _invalid("Must specify at least one target to fetch or execute.")


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _returned(array: Any) -> Any:
    return array[()] if array.ndim == 0 else array.copy()
