"""Work that a kernel divided, done by the threads of a pool.

Each thread holds BLAS to one thread of its own while it works: the parts are what keeps the
cores busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from berth.ops.opdef import Call, Parts, in_order, make_calls
from berth.run.threads import Pool, my_threads, share_cores


def over_pool(parts: Parts, pool: Pool) -> Call:
    """Make one call of a kernel's parts."""
    alone = in_order(parts)
    n_threads = min(pool.n_threads, len(parts.calls))
    if pool.n_threads < 2 or n_threads == 0:
        return alone
    shares = [partial(_do, parts.calls[k::n_threads]) for k in range(n_threads)]
    return _run, (pool, parts, shares, alone)


def _run(pool: Pool, parts: Parts, shares: Sequence[partial[None]], alone: Call) -> None:
    if my_threads(pool.n_threads) == 1:
        function, arguments = alone
        function(*arguments)
        return
    make_calls(parts.first)
    with share_cores(1):  # also of the caller: it is the last to end
        pool.run(shares)
    make_calls(parts.then)


def _do(calls: Sequence[Call]) -> None:
    with share_cores(1):
        make_calls(calls)
