"""Work that a kernel divided, done by the threads of a pool.

BLAS is held to one thread for each of them meanwhile: the parts are what keeps the cores busy.
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
    shares = [partial(make_calls, parts.calls[k::n_threads]) for k in range(n_threads)]
    return _run, (pool, parts, shares, alone)


def _run(pool: Pool, parts: Parts, shares: Sequence[partial[None]], alone: Call) -> None:
    if my_threads(pool.n_threads) == 1:
        function, arguments = alone
        function(*arguments)
        return
    make_calls(parts.first)
    with share_cores(1):  # the caller is the last to end, so BLAS is held for all
        pool.run(shares)
    make_calls(parts.then)
