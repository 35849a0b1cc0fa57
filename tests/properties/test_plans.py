"""Laws of plans: any graph, on any devices, gives what it means, and leaves nothing behind."""

from __future__ import annotations

import functools
import gc
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import berth.compat.v1 as tf
from berth.backends.sim import SimBackend
from berth.run import executor
from tests.properties.naive_graph import (
    NaiveSession,
    check_copies,
    check_layout,
    check_order,
    needed,
)

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
N_GPUS = 4


def some(n_examples: int) -> settings:
    """Bound a test: plans cost more than names do. What fails is made smaller in deep runs."""
    return settings(
        max_examples=n_examples * 90 if IS_DEEP else n_examples,
        deadline=None,
        phases=[
            phase for phase in Phase if IS_DEEP or phase not in (Phase.shrink, Phase.explain)
        ],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.fixture(autouse=True, params=["at once", "put off", "by workers"])
def streams(request, sim, monkeypatch):
    """Run every law on streams that work at once, on those that wait, and in threads."""
    if request.param == "put off":
        lazy = functools.partial(SimBackend, lazy=True)
        monkeypatch.setattr("berth.front.context.SimBackend", lazy)
    if request.param == "by workers":
        monkeypatch.setattr(executor, "WORTH_A_THREAD", 0.0)
    # What is freed is filled with NaN, so that whoever still uses it gives himself away.
    sim(f"{N_GPUS}xT4", BERTH_SCRUB_MEMORY="1")
    tf.reset_default_graph()


# --- recipes ----------------------------------------------------------------------------------


UNARY = ("negative", "abs", "square", "tanh", "relu", "sigmoid")
WILD = ("sin", "exp", "sqrt", "log", "reciprocal", "floor", "round", "sign")
"""Functions that make much of a little: for exact values only."""
OF_INTEGERS = ("negative", "abs", "square", "sign")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "squared_difference")
COMPARISONS = ("less", "greater_equal", "equal", "not_equal")
DTYPES = (tf.float32, tf.float32, tf.float64, tf.int32)
KINDS = {
    "constant": 2,
    "placeholder": 2,
    "variable": 1,
    "unary": 5,
    "binary": 6,
    "compare": 1,
    "choose": 1,
    "cast": 1,
    "matmul": 1,
    "reduce": 2,
    "pass_on": 2,
    "transpose": 1,
    "join": 1,
    "cut": 1,
    "reshape": 2,
    "shape": 1,
    "read": 2,
    "assign": 1,
    "assign_add": 2,
    "wait": 1,
}
"""How often each kind of node is made."""
FLAT_KINDS = {"placeholder": 1, "constant": 1, "unary": 5, "binary": 6, "cast": 4, "read": 1}
FLAT_KINDS |= {"compare": 1, "assign_add": 1, "shape": 1}


class Sizes(NamedTuple):
    """The shapes that sources have. None is the batch, which differs from feed to feed."""

    batches: tuple[int, int]
    batched: tuple[tuple[int | None, ...], ...]
    fixed: tuple[tuple[int, ...], ...]
    most: int
    """The largest number of elements."""
    kinds: dict[str, int] = KINDS


SMALL = Sizes(
    (101, 37),
    ((None, 48), (None, 1), (None,), (None, 2, 3)),
    ((), (48,), (1, 48), (48, 48), (3,), (1,), (0, 48)),
    20_000,
)
LARGE = Sizes(
    (307, 401), ((None, 256), (None, 1)), ((), (256,), (277, 256), (70_003,)), 310_000
)
FLAT = Sizes((70_001, 150_001), ((None,),), ((), (66_000,)), 300_000, FLAT_KINDS)
"""One large shape: chains that are done in slices."""
DYNAMIC = SMALL._replace(kinds={**KINDS, "dynamic": 6})
"""Shapes that depend on values."""


class Recipe(NamedTuple):
    """A graph as numbers: what each node is, and where its inputs and device come from."""

    sizes: Sizes
    n_gpus: int
    steps: list[tuple[str, int, int, int]]
    fetches: list[int]
    override: int | None
    """An inner tensor that is fed."""


numbers = st.integers(0, 2**16)


def recipes(sizes: Sizes, most: int = 60) -> st.SearchStrategy[Recipe]:
    kinds = [kind for kind, weight in sizes.kinds.items() for _ in range(weight)]
    step = st.tuples(st.sampled_from(kinds), numbers, numbers, numbers)
    return st.builds(
        Recipe,
        st.just(sizes),
        st.integers(1, N_GPUS),
        st.integers(10, most).flatmap(lambda n: st.lists(step, min_size=n, max_size=n)),
        st.lists(numbers, min_size=1, max_size=6),
        st.none() | numbers,
    )


class Node(NamedTuple):
    """A tensor, the shape it has with the first batch, and whether its value is exact."""

    tensor: Any
    shape: tuple[int, ...]
    is_exact: bool = True

    @property
    def dtype(self) -> Any:
        return self.tensor.dtype.base_dtype


class Program:
    """The graph of a recipe, its nodes on devices by a rule."""

    def __init__(self, recipe: Recipe, place: Callable[[int], str | None]) -> None:
        self.sizes = recipe.sizes
        self.graph = tf.Graph()
        self.nodes: list[Node] = []
        self.placeholders: list[tuple[Any, Any, int]] = []
        self.given: dict[Any, np.ndarray] = {}
        """What is fed in every run alike."""
        self.variables: list[Any] = []
        self.inexact: set[Any] = set()
        self.waits: list[Any] = []
        """Operations without outputs."""
        self._last: dict[Any, tuple[list[Any], list[Any]]] = {}
        """For each variable its last write, and the reads since."""
        with self.graph.as_default():
            with tf.device(place(0)):
                self.placeholder(0, 0, 0)
            for kind, a, b, c in recipe.steps:
                with tf.device(place(c)), tf.control_dependencies(self._extra_waits(c)):
                    getattr(self, kind)(a, b, c)
            self.initializer = tf.variables_initializer(self.variables)
        self.choices = recipe.fetches
        self.override = None
        if recipe.override is not None:
            self.override = self._pick(recipe.override).tensor

    def _extra_waits(self, c: int) -> list[Any]:
        """Now and then a node waits for another, without need."""
        if c // 7 % 5 or not self.nodes:
            return []
        earlier = [node.tensor for node in self.nodes] + self.waits
        return [earlier[-1 - c // 35 % len(earlier)]]

    def _pick(self, number: int, fits: Callable[[Node], bool] = lambda _: True) -> Node | None:
        fitting = [node for node in self.nodes if fits(node)]
        return fitting[-1 - number % len(fitting)] if fitting else None

    def _add(self, tensor: Any, shape: Any, *inputs: Node, is_exact: bool = True) -> None:
        is_exact = is_exact and all(node.is_exact for node in inputs)
        self.nodes.append(Node(tensor, tuple(shape), is_exact))
        if not is_exact:
            self.inexact.add(tensor)

    # --- sources --------------------------------------------------------------------------

    def constant(self, a: int, b: int, c: int) -> None:
        shape = self.sizes.fixed[a % len(self.sizes.fixed)]
        self._add(tf.constant(values(shape, DTYPES[b % 4], b)), shape)

    def placeholder(self, a: int, b: int, c: int) -> None:
        shapes = self.sizes.batched + self.sizes.fixed
        shape, dtype = shapes[a % len(shapes)], DTYPES[b % 4]
        known = None if c % 5 == 0 else [None if c >> k & 1 else n for k, n in enumerate(shape)]
        tensor = tf.placeholder(dtype, known)
        self.placeholders.append((tensor, shape, b))
        self._add(tensor, [self.sizes.batches[0] if n is None else n for n in shape])

    def variable(self, a: int, b: int, c: int) -> None:
        shape = self.sizes.fixed[a % len(self.sizes.fixed)]
        with tf.control_dependencies(None):
            start = tf.constant(values(shape, DTYPES[b % 4], b))
            variable = tf.Variable(start, use_resource=bool(c % 2))
        self.variables.append(variable)
        self._last[variable] = [], []

    # --- of values ------------------------------------------------------------------------

    def unary(self, a: int, b: int, c: int) -> None:
        x = self._pick(a, lambda node: node.dtype is not tf.bool)
        names = UNARY + WILD if x.is_exact else UNARY
        names = OF_INTEGERS if x.dtype.is_integer else names
        function = getattr(
            tf.nn if names[b % len(names)] == "relu" else tf, names[b % len(names)]
        )
        self._add(function(x.tensor), x.shape, x)

    def _pair(self, a: int, b: int, fits: Callable[[Node], bool]) -> Any:
        x = self._pick(a, fits)
        if x is None:
            return None
        return x, self._pick(
            b, lambda node: fits(node) and self._broadcast(x, node) is not None
        )

    def _broadcast(self, x: Node, y: Node) -> Any:
        if x.dtype is not y.dtype:
            return None
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return None
        return shape if np.prod(shape) <= self.sizes.most else None

    def binary(self, a: int, b: int, c: int) -> None:
        x, y = self._pair(a, b, lambda node: node.dtype is not tf.bool)
        divides = x.dtype.is_floating and x.is_exact and y.is_exact
        names = (*BINARY, "truediv") if divides else BINARY
        operation = getattr(tf, names[c // 3 % len(names)])
        self._add(operation(x.tensor, y.tensor), self._broadcast(x, y), x, y)

    def compare(self, a: int, b: int, c: int) -> None:
        x, y = self._pair(a, b, lambda node: node.is_exact and node.dtype is not tf.bool)
        operation = getattr(tf, COMPARISONS[c // 3 % len(COMPARISONS)])
        self._add(operation(x.tensor, y.tensor), self._broadcast(x, y), x, y)

    def choose(self, a: int, b: int, c: int) -> None:
        condition = self._pick(a, lambda node: node.dtype is tf.bool)
        if condition is None:
            return self.compare(a, b, c)
        x = self._pick(b, lambda node: node.shape == condition.shape)
        y = self._pick(c, lambda node: (node.shape, node.dtype) == (x.shape, x.dtype))
        chosen = tf.where(condition.tensor, x.tensor, y.tensor)
        return self._add(chosen, x.shape, condition, x, y)

    def cast(self, a: int, b: int, c: int) -> None:
        x = self._pick(a, lambda node: node.is_exact)
        dtype = (tf.float32, tf.int32, tf.float64, tf.bool)[b % 4]
        tensor = x.tensor
        if x.dtype.is_floating and dtype is tf.int32:  # else what it gives is undefined
            tensor = tf.where(tf.math.is_finite(tensor), tensor, tf.zeros_like(tensor))
            tensor = tf.clip_by_value(tensor, -1000, 1000)
        self._add(tf.cast(tensor, dtype), x.shape, x)

    def matmul(self, a: int, b: int, c: int) -> None:
        x = self._pick(a, lambda node: len(node.shape) == 2 and node.dtype is not tf.bool)
        if x is None:
            return self.binary(a, b, c)
        turn_x, turn_y = bool(c & 1), bool(c & 2)
        rows, inner = x.shape[::-1] if turn_x else x.shape

        def fits(node: Node) -> bool:
            if len(node.shape) != 2 or node.dtype is not x.dtype:
                return False
            other, columns = node.shape[::-1] if turn_y else node.shape
            return other == inner and rows * columns <= self.sizes.most

        y = self._pick(b, fits)
        if y is None:
            return self.binary(a, b, c)
        columns = y.shape[0 if turn_y else 1]
        product = tf.matmul(x.tensor, y.tensor, turn_x, turn_y)
        return self._add(product, (rows, columns), x, y, is_exact=x.dtype.is_integer)

    def reduce(self, a: int, b: int, c: int) -> None:
        x = self._pick(a)
        if x.dtype is tf.bool:
            name = ("reduce_any", "reduce_all")[b % 2]
        else:
            name = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min")[b % 4]
        keeps = bool(c & 1)
        axis = None if not x.shape or c % 3 == 0 else c // 3 % len(x.shape)
        reduced = getattr(tf, name)(x.tensor, axis, keepdims=keeps)
        shape = np.zeros(x.shape, np.int8).sum(axis, keepdims=keeps).shape
        is_exact = not x.dtype.is_floating or name in ("reduce_max", "reduce_min")
        self._add(reduced, shape, x, is_exact=is_exact)

    # --- of shapes ------------------------------------------------------------------------

    def pass_on(self, a: int, b: int, c: int) -> None:
        x = self._pick(a)
        name = ("identity", "stop_gradient", "expand_dims", "squeeze")[b % 4]
        if name == "expand_dims":
            axis = c % (len(x.shape) + 1)
            shape = (*x.shape[:axis], 1, *x.shape[axis:])
            return self._add(tf.expand_dims(x.tensor, axis), shape, x)
        if name == "squeeze":
            axes = [axis for axis, size in enumerate(x.shape) if size == 1]
            if not axes:
                name = "identity"
            else:
                shape = [size for size in x.shape if size != 1]
                return self._add(tf.squeeze(x.tensor, axes), shape, x)
        return self._add(getattr(tf, name)(x.tensor), x.shape, x)

    def transpose(self, a: int, b: int, c: int) -> None:
        x = self._pick(a)
        order = np.random.default_rng(b).permutation(len(x.shape))
        self._add(tf.transpose(x.tensor, order), [x.shape[axis] for axis in order], x)

    def join(self, a: int, b: int, c: int) -> None:
        x = self._pick(
            a, lambda node: node.shape != () and 2 * self._n(node) <= self.sizes.most
        )
        if x is None:
            return self.binary(a, b, c)
        axis = c % len(x.shape)

        def fits(node: Node) -> bool:
            return (
                len(node.shape) == len(x.shape)
                and node.dtype is x.dtype
                and all(
                    k == axis or m == n
                    for k, (m, n) in enumerate(zip(x.shape, node.shape, strict=True))
                )
                and self._n(node) + self._n(x) <= self.sizes.most
            )

        y = self._pick(b, fits)
        shape = [n + y.shape[axis] if k == axis else n for k, n in enumerate(x.shape)]
        return self._add(tf.concat([x.tensor, y.tensor], axis), shape, x, y)

    def _n(self, node: Node) -> int:
        return int(np.prod(node.shape))

    def cut(self, a: int, b: int, c: int) -> None:
        x = self._pick(a, lambda node: node.shape != ())
        starts = [min(b >> k & 1, n) for k, n in enumerate(x.shape)]
        part = tf.slice(x.tensor, starts, [-1] * len(starts))
        self._add(part, [n - s for n, s in zip(x.shape, starts, strict=True)], x)

    def reshape(self, a: int, b: int, c: int) -> None:
        """Reshape by numbers, or by what is known of a shape in a run only."""
        x = self._pick(a)
        n, shape = tf.size(x.tensor), tf.shape(x.tensor)
        new, dims = [
            ([-1], (self._n(x),)) if self._n(x) else (shape, x.shape),
            ([n], (self._n(x),)),
            (tf.stack([1, n * 2 // 2]), (1, self._n(x))),
            (tf.concat([shape, [1]], 0), (*x.shape, 1)),
            (shape[::-1], x.shape[::-1]),
            (shape + tf.zeros_like(shape), x.shape),
        ][b % 6]
        self._add(tf.reshape(x.tensor, new), dims, x)

    def shape(self, a: int, b: int, c: int) -> None:
        x = self._pick(a)
        if b % 2:
            return self._add(tf.shape(x.tensor), [len(x.shape)])
        return self._add(tf.size(x.tensor), [])

    def dynamic(self, a: int, b: int, c: int) -> None:
        """Make something whose shape depends on values, in between or in the end."""
        x = self._pick(a, lambda node: node.shape != () and node.dtype is not tf.bool)
        if b % 4 == 0 and x.shape[-1]:
            width = x.shape[-1] if x.shape[-1] in (48, 256) else 1
            by = self._given([-1, width])
            return self._add(tf.reshape(x.tensor, by), (self._n(x) // width, width), x)
        if b % 4 == 1:
            starts = [min(b // 4 >> k & 1, n) for k, n in enumerate(x.shape)]
            part = tf.slice(x.tensor, self._given(starts), [-1] * len(starts))
            return self._add(part, [n - s for n, s in zip(x.shape, starts, strict=True)], x)
        x = self._pick(a, lambda node: node.is_exact and node.dtype is not tf.bool)
        flat = tf.reshape(x.tensor, [-1])
        if b % 4 == 2:
            return self._add(tf.size(tf.where(flat > tf.zeros_like(flat))), ())
        kept = tf.boolean_mask(flat, flat > tf.zeros_like(flat))
        return self._add(tf.reduce_max(kept), (), x)

    def _given(self, numbers: list[int]) -> Any:
        tensor = tf.placeholder(tf.int32, [len(numbers)])
        self.given[tensor] = np.array(numbers, np.int32)
        return tensor

    # --- variables ------------------------------------------------------------------------

    def _variable(self, a: int, b: int, c: int) -> Any:
        if not self.variables:
            self.variable(a, b, c)
        return self.variables[-1 - a % len(self.variables)]

    def read(self, a: int, b: int, c: int) -> None:
        variable = self._variable(a, b, c)
        writes, reads = self._last[variable]
        with tf.control_dependencies(writes):
            value = variable.read_value()
        reads.append(value)
        self._add(value, variable.shape)

    def assign(self, a: int, b: int, c: int) -> None:
        self._write(self._variable(a, b, c), "assign", b)

    def assign_add(self, a: int, b: int, c: int) -> None:
        self._write(self._variable(a, b, c), "assign_add", b)

    def _write(self, variable: Any, how: str, b: int) -> None:
        shape, dtype = tuple(variable.shape), variable.dtype
        # Exact, or what is read in the next run would not be.
        value = self._pick(
            b, lambda node: (node.shape, node.dtype, node.is_exact) == (shape, dtype, True)
        )
        tensor = value.tensor if value else tf.constant(values(shape, dtype, b))
        writes, reads = self._last[variable]
        with tf.control_dependencies(writes + reads):
            written = getattr(variable, how)(tensor)
        self._last[variable] = [written], []
        self.waits.append(getattr(written, "op", written))

    def wait(self, a: int, b: int, c: int) -> None:
        nodes = [self._pick(number).tensor for number in (a, b)]
        self.waits.append(tf.group(*nodes, *self.waits[-1:]) if c % 2 else tf.no_op())

    # --- running --------------------------------------------------------------------------

    def feeds(self, batch: int) -> dict[Any, np.ndarray]:
        """Make what one run is fed: for some tensors in another order, or read-only."""
        feeds = {tensor: array.copy() for tensor, array in self.given.items()}
        for tensor, shape, seed in self.placeholders:
            size = [batch if n is None else n for n in shape]
            array = values(size, tensor.dtype, seed + batch)
            if seed % 3 == 0 and size:
                array = np.asfortranarray(array)
            array.flags.writeable = seed % 3 != 1
            feeds[tensor] = array
        return feeds

    def override_in(self, feeds: dict[Any, Any], naive: NaiveSession) -> None:
        """Feed an inner tensor too, if there is one to be."""
        if self.override is not None and self.override not in feeds:
            [value] = naive.clone().run([self.override], feeds)
            feeds[self.override] = values(value.shape, self.override.dtype, 7)

    def fetches(self, feeds: dict[Any, Any]) -> list[Any]:
        """Choose what to fetch: tensors, operations, variables that the run leaves alone."""
        items = [node.tensor for node in self.nodes] + self.waits
        chosen = [items[-1 - number % len(items)] for number in self.choices]
        written = {
            op.inputs[0].op
            for op in needed(chosen, feeds)
            if op.definition.access is not None and "Assign" in op.type
        }
        left_alone = [v for v in self.variables if v.op not in written]
        return chosen + [v.as_graph_element() for v in left_alone[:2]]


def values(shape: Any, dtype: Any, seed: int) -> np.ndarray:
    """Make an array of random numbers, small ones if they are whole."""
    random = np.random.default_rng(seed)
    if dtype is tf.bool:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        return random.integers(-5, 6, shape).astype(dtype.np_dtype)
    return np.asarray(random.standard_normal(shape), dtype.np_dtype)


PLACES: dict[str, Callable[[Recipe], Callable[[int], str | None]]] = {
    "on the CPU": lambda recipe: lambda number: "/cpu:0",
    "on a GPU": lambda recipe: lambda number: "/gpu:0",
    "anywhere": lambda recipe: lambda number: anywhere(recipe)[number % len(anywhere(recipe))],
}


def anywhere(recipe: Recipe) -> list[str | None]:
    return ["/cpu:0", None, *(f"/gpu:{index}" for index in range(recipe.n_gpus))]


class Case:
    """A program in a session, beside the naive one."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.session = tf.Session(graph=program.graph)
        self.session.run(program.initializer)
        self.naive = NaiveSession(program.graph)
        self.naive.run([program.initializer], {})

    def request(self, batch: int) -> tuple[list[Any], dict[Any, Any]] | None:
        """Return what is fetched and fed; None if the graph is good for one batch only."""
        feeds = self.program.feeds(self.program.sizes.batches[batch])
        fetches = self.program.fetches(feeds)
        try:
            self.program.override_in(feeds, self.naive)
            self.naive.clone().run(fetches, feeds)
        except ValueError:
            assert batch > 0
            return None
        return fetches, feeds

    def run(self, batch: int, **how: Any) -> list[Any]:
        """Run both on one batch, compare, and return the session's results."""
        request = self.request(batch)
        return self.run_request(*request, **how) if request else []

    def run_request(self, fetches: list[Any], feeds: dict[Any, Any], **how: Any) -> list[Any]:
        """Run both, compare, and return the session's results."""
        wanted = self.naive.run(fetches, feeds)
        results = self.session.run(fetches, feeds, **how)
        for fetch, result, value in zip(fetches, results, wanted, strict=True):
            if value is None:
                assert result is None
            else:
                self.compare(fetch, result, value)
        return results

    def devices(self) -> dict[Any, int]:
        """Tell the position of each operation's device in the session."""
        names = [device.name for device in self.session.list_devices()]
        placed = self.session.placements()
        return {op: names.index(placed[op.name]) for op in self.program.graph.get_operations()}

    def compare(self, fetch: Any, result: Any, value: np.ndarray) -> None:
        assert result.dtype == value.dtype, fetch
        if fetch in self.program.inexact:
            finite = np.abs(value[np.isfinite(value)])
            largest = finite.max() if finite.size else 0
            np.testing.assert_allclose(
                result, value, 1e-3, 1e-3 * (1 + largest), err_msg=fetch.name
            )
        else:
            np.testing.assert_array_equal(result, value, err_msg=fetch.name)


@contextmanager
def opened(recipe: Recipe, place: str = "anywhere") -> Iterator[Case]:
    case = Case(Program(recipe, PLACES[place](recipe)))
    try:
        yield case
    finally:
        case.session.close()


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


# --- what was found by these laws, made small ---------------------------------------------------


def test_shapes_follow_the_feeds():
    """What is known beforehand depends on the shapes that are fed: it is no constant."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    with tf.device("/gpu:0"):
        n = tf.size(x) * y
    with tf.Session() as session:
        for size in (3, 5, 3):
            assert session.run(n, {x: np.zeros(size), y: 2}) == 2 * size


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_known_values_wait_too(device):
    """An operation that is computed beforehand, or not at all, still waits for others."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device(device):
        count = tf.Variable(0)
        with tf.control_dependencies([count.assign_add(1)]):
            known = [tf.constant(5), tf.identity(tf.constant([7])), tf.size(x), tf.no_op()]
    with tf.Session() as session:
        session.run(count.initializer)
        for step, fetch in enumerate(known, 1):
            session.run(fetch, {x: [1.0]})
            assert session.run(count) == step, fetch.name


def test_known_values_pass_waits_on():
    with tf.device("/gpu:0"):
        count = tf.Variable(0)
    with tf.control_dependencies([count.assign_add(1)]):
        gate = tf.constant(1)
    with tf.control_dependencies([gate]):
        now = count.read_value()
    with tf.Session() as session:
        session.run(count.initializer)
        assert [session.run(now) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("is_traced", [False, True])
def test_known_values_wait_for_shapes(is_traced):
    """A constant waits for what has to be planned later."""
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    with tf.control_dependencies([tf.reshape(x, shape)]):
        one = tf.constant(1.0)
    total = tf.reduce_sum(x) + one
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) if is_traced else None
    with tf.Session() as session:
        feeds = {x: [2.0, 3.0], shape: [2, 1]}
        assert session.run([total, one], feeds, options=options) == [6, 1]


def test_known_values_wait_in_segments():
    """What a constant waits for needs values that an earlier segment computed."""
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    above = x + 1
    with tf.control_dependencies([above * 3]):
        one = tf.constant(1.0)
    total = tf.reduce_sum(tf.reshape(above * 2, shape)) + one
    with tf.Session() as session:
        assert session.run(total, {x: [1.0, 2.0], shape: [2, 1]}) == 11


def test_fed_placeholders_wait_for_nothing():
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    with tf.control_dependencies([tf.reshape(x, shape)]):
        late = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([late]):
        double = x * 2
    with tf.Session() as session:
        result = session.run(double, {x: [1.0, 2.0], shape: [2, 1], late: 0.0})
        assert list(result) == [2, 4]


def test_known_products_wait_too():
    with tf.device("/cpu:0"):
        count = tf.Variable(0)
        with tf.control_dependencies([count.assign_add(1)]):
            product = tf.matmul([[2.0]], [[3.0]])
    with tf.Session() as session:
        session.run(count.initializer)
        assert session.run(product) == 6
        assert session.run(count) == 1


def test_references_are_read_anew():
    """A reference that crosses to a device before and after a write crosses twice."""
    with tf.device("/cpu:0"):
        variable = tf.Variable(np.zeros(20_000, np.float32))
    with tf.device("/gpu:0"):
        before = variable.read_value()
    with tf.control_dependencies([before]):
        write = variable.assign_add(np.ones(20_000, np.float32))
    with tf.control_dependencies([write]), tf.device("/gpu:0"):
        after = variable.read_value()
    with tf.Session() as session:
        session.run(variable.initializer)
        for step in range(3):
            results = session.run({"before": before, "after": after})
            assert set(results["before"]) == {step}
            assert set(results["after"]) == {step + 1}


def test_waits_cross_devices():
    """A read comes after the write it waits for, though that has a longer way to come."""
    x = tf.placeholder(tf.float32, [20_000])
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.zeros(20_000, np.float32), use_resource=True)
        way = x + 1
    for index in (1, 0, 1):
        with tf.device(f"/gpu:{index}"):
            way = way * 2
    with tf.control_dependencies([variable.assign(way)]):
        value = variable.read_value()
    with tf.Session() as session:
        for fed in (1, 2):
            assert session.run(value, {x: np.full(20_000, fed)})[-1] == (fed + 1) * 8


def test_graphs_keep_their_own_numbers():
    """An array that becomes a constant may be changed afterwards."""
    mine = np.ones(3, np.float32)
    with tf.device("/cpu:0"):
        variable = tf.Variable(mine)
        fetches = [tf.identity(mine), tf.concat([mine, mine], 0), tf.convert_to_tensor(mine)]
    mine[:] = 5
    with tf.Session() as session:
        session.run(variable.initializer)
        for result in session.run([variable, *fetches]):
            assert set(result) == {1}


def test_plans_keep_their_own_numbers():
    """An array that decided how a run was planned may be changed afterwards."""
    x, begin = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [1])
    with tf.device("/cpu:0"):
        part = tf.slice(x, begin, [60_000])
    data, mine = np.arange(70_000, dtype=np.float32), np.array([0], np.int32)
    with tf.Session() as session:
        assert session.run(part, {x: data, begin: mine})[0] == 0
        mine[:] = 3
        assert session.run(part, {x: data, begin: np.array([0], np.int32)})[0] == 0
        assert session.run(part, {x: data, begin: mine})[0] == 3


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("is_resource", [False, True])
def test_nothing_needs_no_memory(device, is_resource):
    empty = np.zeros((0, 3), np.float32)
    with tf.device(device):
        variable = tf.Variable(empty, use_resource=is_resource)
        constant = tf.constant(empty)
        write = variable.assign(tf.identity(constant))
    with tf.Session() as session:
        session.run([variable.initializer, write])
        assert [array.shape for array in session.run([variable, constant])] == [(0, 3)] * 2


def test_errors_in_slices_name_their_operation():
    x, divisor = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])
    with tf.device("/cpu:0"):
        culprit = tf.floordiv(x, divisor)
        innocent = -(culprit + 1)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(innocent, {x: np.ones(150_000, np.int32), divisor: 0})
    assert raised.value.op is culprit.op
    assert f"[[node {culprit.op.name} " in str(raised.value)


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_runs_keep_nothing_of_the_caller(device):
    """Feeds and results are let go of when a run is over, and not with the next."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device(device):
        y = tf.sin(x) * 2 + 1
    with tf.Session() as session:
        fed = np.ones(150_000, np.float32)
        result = session.run(y, {x: fed})
        kept = [weakref.ref(fed), weakref.ref(result)]
        del fed, result
        assert [reference() is None for reference in kept] == [True, True]


def test_close_frees_variables_at_once():
    """Nothing waits for the garbage collector."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.ones(10_000, np.float32))
    with tf.device("/cpu:0"):
        large = x * 2
    gc.disable()
    try:
        with tf.Session() as session:
            arena = session._engine.devices[1].arena
            session.run(variable.initializer)
            session.run([variable, large], {x: np.ones(150_000)})
        assert arena.stats.in_use_bytes == 0
    finally:
        gc.enable()
