"""Laws of plans: any graph, on any devices, gives what it means, and leaves nothing behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import berth.compat.v1 as tf
from tests.properties.naive_graph import check_copies, check_layout, check_order
from tests.properties.plans.programs import PLACES, Case, opened
from tests.properties.plans.recipes import DYNAMIC, FLAT, LARGE, SMALL, Recipe, recipes, some

# --- values -----------------------------------------------------------------------------------


def check_values(recipe: Recipe) -> None:
    for place in PLACES:
        with opened(recipe, place) as case:
            for batch in (0, 1, 0):
                case.run(batch)


@some(16)
@given(recipes(SMALL))
def test_values_are_what_the_graph_means(recipe):
    check_values(recipe)


@some(6)
@given(recipes(LARGE, 30))
def test_large_values_are_what_the_graph_means(recipe):
    check_values(recipe)


@some(6)
@given(recipes(FLAT, 30))
def test_slices_are_what_the_graph_means(recipe):
    check_values(recipe)


@some(8)
@given(recipes(DYNAMIC, 40))
def test_dynamic_values_are_what_the_graph_means(recipe):
    check_values(recipe)


@some(12)
@given(recipes(SMALL, 40) | recipes(DYNAMIC, 40))
def test_traced_runs_give_the_same(recipe):
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with opened(recipe) as case:
        for batch in (0, 1, 0):
            case.run(batch, options=options, run_metadata=tf.RunMetadata())


# --- plans ------------------------------------------------------------------------------------


@some(16)
@given(recipes(SMALL) | recipes(LARGE) | recipes(FLAT), st.sampled_from(sorted(PLACES)))
def test_plans_keep_their_promises(recipe, place):
    with opened(recipe, place) as case:
        request = case.request(0)
        plan = case.session.plan(*request)
        check_copies(plan, case.devices())
        check_order(plan)
        check_layout(plan)
        with tf.Session(graph=case.program.graph) as other:
            assert plan.explain() == other.plan(*request).explain()


# --- memory -----------------------------------------------------------------------------------


@some(10)
@given(recipes(SMALL) | recipes(LARGE, 30))
def test_results_belong_to_the_caller(recipe):
    with opened(recipe) as case:
        fetches, feeds = case.request(0)
        fed = {tensor: array.copy() for tensor, array in feeds.items()}
        runs: list[tuple[list[Any], list[Any]]] = []
        for _ in range(3):
            results = case.run_request(fetches, feeds)
            runs.append((results, [np.array(result) for result in results]))
            check_apart(case, fetches, feeds, [results for results, _ in runs])
            spoil(runs[0][0])  # which changes neither a later run nor what it gave
            for kept, before in runs[1:]:
                for result, value in zip(kept, before, strict=True):
                    np.testing.assert_array_equal(result, value)
        for tensor, array in feeds.items():
            np.testing.assert_array_equal(array, fed[tensor])


def check_apart(case: Case, fetches: Any, feeds: Any, runs: list[Any]) -> None:
    """Check that no two arrays share memory, but those of one tensor in one run."""
    arrays = [
        (f"run {k} {fetch.name}", result)
        for k, results in enumerate(runs)
        for fetch, result in zip(fetches, results, strict=True)
        if isinstance(result, np.ndarray)
    ]
    assert all(array.flags.writeable for _, array in arrays)
    arrays += [(f"fed {tensor.name}", array) for tensor, array in feeds.items()]
    slots = case.session._engine.state._variables
    arrays += [(f"variable {name}", slot.array) for name, slot in slots.items()]
    for k, (name, array) in enumerate(arrays):
        for other_name, other in arrays[:k]:
            assert name == other_name or not np.may_share_memory(array, other), (
                name,
                other_name,
            )


def spoil(results: list[Any]) -> None:
    for result in results:
        if isinstance(result, np.ndarray):
            result.view(np.uint8).reshape(-1)[...] = 0xA5 if result.dtype != bool else 1


@some(12)
@given(recipes(SMALL, 30) | recipes(LARGE, 20))
def test_memory_comes_back(recipe):
    with tf.Session(graph=tf.Graph()) as first:
        arenas = [device.arena for device in first._engine.devices]
    before = [arena.stats.in_use_bytes for arena in arenas]
    with opened(recipe) as case:
        arenas[0] = case.session._engine.devices[0].arena  # the CPU's is a session's own
        results = [case.run(batch) for batch in (0, 1)]
    del results
    assert [arena.stats.in_use_bytes for arena in arenas] == before
    for arena in arenas:
        arena.check()
