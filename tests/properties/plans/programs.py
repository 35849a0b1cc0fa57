"""A random graph and its sessions: berth's, and a naive interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

import berth.compat.v1 as tf
from tests.properties.naive_graph import NaiveSession, needed
from tests.properties.plans.recipes import (
    BINARY,
    COMPARISONS,
    DTYPES,
    OF_INTEGERS,
    UNARY,
    WILD,
    Recipe,
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
            # As in TensorFlow, GPUs have no variables of int32.
            with tf.device("/cpu:0") if start.dtype == tf.int32 else nullcontext():
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
