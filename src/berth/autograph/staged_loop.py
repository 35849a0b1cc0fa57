"""A loop that is traced: its variables, their first values, and the checks after the body.

A variable that has no value before the loop, or None, gets one of the type that the body
gives it: the body is traced once in a graph that is dropped. If it is read after the loop,
that must then run once at least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.autograph.conditionals import and_
from berth.autograph.errors import as_unbound
from berth.autograph.jumps import RETURNED
from berth.autograph.state import UNDEFINED, State
from berth.autograph.values import (
    as_tensors,
    graph,
    is_missing,
    same_structure,
    scratch_graph,
    zeros_like_spec,
)
from berth.control_flow.map_fn import EachElement
from berth.control_flow.while_loop import is_within, while_loop
from berth.graph.nest import flatten, is_composite, map_structure, pack_sequence_as
from berth.ops.flow.control import Assert
from berth.ops.shape import Dims, TensorShape


class StagedLoop:
    """The variables of a loop on tensors."""

    def __init__(
        self, state: State, live: Sequence[str], options: dict[str, Any] | None
    ) -> None:
        options = options or {}
        self.maximum_iterations = options.get("maximum_iterations")
        self._state = state
        self._initial = state.get()
        self._carried = state.matter(live)
        self._names = [state.names[position] for position in self._carried]
        self._invariants = self._given_invariants(options.get("shape_invariants"))
        self._starts: list[Any] = []
        self._made_up: list[str] = []

    def _given_invariants(self, pairs: Any) -> dict[int, Any]:
        """Find the variables that shape invariants were given for, by their values."""
        by_value = {id(value): shape for value, shape in pairs or ()}
        return {
            number: by_value[id(self._initial[position])]
            for number, position in enumerate(self._carried)
            if id(self._initial[position]) in by_value
        }

    # --- first values --------------------------------------------------------------------

    def _begin(self, try_body: Callable[[], Any]) -> None:
        """Find the first value of every loop variable."""
        starts = [self._initial[position] for position in self._carried]
        if any(map(is_missing, starts)):
            self._make_up(starts, try_body)
        self._starts = [
            as_tensors(value, name, "before the loop")
            for value, name in zip(starts, self._names, strict=True)
        ]

    def _make_up(self, starts: list[Any], try_body: Callable[[], Any]) -> None:
        """Give zeros to variables without a value, of the types that the body gives them."""
        try:
            after = scratch_graph().trace(self._tried, starts, try_body)
        except NameError as error:
            found = as_unbound(error)
            name = next(n for n, v in zip(self._names, starts, strict=True) if is_missing(v))
            raise ValueError(
                f"'{name}' must be defined before the loop\nNote: AutoGraph tried to define it "
                f"automatically, but ran into a {type(found).__name__}: {found}"
            ) from error
        finally:
            self._state.set(self._initial)
        for number, (name, value) in enumerate(zip(self._names, after, strict=True)):
            if not is_missing(starts[number]):
                continue
            if value is UNDEFINED:
                raise ValueError(f"'{name}' must be defined before the loop")
            if value is None:
                raise ValueError(f"'{name}' is not allowed to be None before the loop")
            starts[number] = zeros_like_spec(value)
            if any(None in (leaf.dims or (None,)) for leaf in flatten(value, True)):
                self._invariants.setdefault(number, map_structure(_shape_of, value))
            if not name.startswith(RETURNED.rstrip("_")):
                self._made_up.append(name)

    def _tried(self, starts: Sequence[Any], try_body: Callable[[], Any]) -> list[Any]:
        here: Any = graph()
        symbols = list(self._initial)
        for position, value in zip(self._carried, starts, strict=True):
            if not is_missing(value):
                tensors = as_tensors(value, "", "before the loop")
                fed = [
                    here.add_input(leaf.dtype.base_dtype, leaf.dims, "tried")
                    for leaf in flatten(tensors, True)
                ]
                symbols[position] = pack_sequence_as(tensors, fed, expand_composites=True)
        self._state.set(symbols)
        try_body()
        values = self._state.get()
        return [
            v if is_missing(v) else as_tensors(v, n, "after one iteration")
            for v, n in ((values[p], self._state.names[p]) for p in self._carried)
        ]

    # --- the loop ------------------------------------------------------------------------

    def run(
        self,
        test: Callable[[], Any],
        body: Callable[[], Any],
        more: Callable[[], Any] | None = None,
    ) -> None:
        """Add a loop that goes on while a test holds; `more` is evaluated before that."""
        self.run_with(lambda _: test(), lambda _: body(), None, more)

    def run_with(
        self,
        test: Callable[[Any], Any],
        body: Callable[[Any], Any],
        extra: Any,
        more: Callable[[], Any] | None = None,
    ) -> None:
        """Add a loop that has a variable of its own beside those of the program."""
        self._begin(lambda: body(extra))
        ran = [False] if self._made_up else []
        own = [] if extra is None else [extra]

        def holds(*values: Any) -> Any:
            self._enter(values[: len(self._carried)])
            last = values[-1] if own else None
            return test(last) if more is None else and_(more(), lambda: test(last))

        def step(*values: Any) -> Any:
            self._enter(values[: len(self._carried)])
            made = body(values[-1] if own else None)
            return [*self._leave(), *([True] if ran else []), *([made] if own else [])]

        starts = [*self._starts, *ran, *own]
        try:
            results = (
                while_loop(
                    holds,
                    step,
                    starts,
                    shape_invariants=self._all_invariants(starts),
                    maximum_iterations=self.maximum_iterations,
                )
                if starts
                else self._without_variables(holds, step)
            )
        finally:
            self._state.set(self._initial)
        n_carried = len(self._carried)
        self._finish(results[:n_carried], results[n_carried] if ran else None)

    def _without_variables(self, holds: Any, step: Any) -> list[Any]:
        """Run a loop that changes no variable; a loop has to have one."""

        def again(_: Any) -> Any:
            step()
            return [0]

        while_loop(lambda _: holds(), again, [0], maximum_iterations=self.maximum_iterations)
        return []

    def run_for_each(self, tensor: Any, body: Callable[[Any], Any]) -> None:
        """Add a loop over the first axis of a tensor."""
        self._begin(lambda: body(_element_of(tensor)))
        ran = [graph().convert(False)] if self._made_up else []
        invariants = self._flat_dims()

        def step(variables: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
            own = variables[: len(variables) - len(ran)]
            self._enter(pack_sequence_as(self._starts, own, expand_composites=True))
            body(elements[0])
            after = [leaf for value in self._leave() for leaf in flatten(value, True)]
            return [*after, *([graph().convert(True)] if ran else [])], []

        starts = [*flatten(self._starts, True), *ran]
        try:
            each = EachElement([tensor], False, "for", [*invariants, *([()] if ran else [])])
            results, _ = each.run(step, starts)
        finally:
            self._state.set(self._initial)
        own = results[: len(results) - len(ran)]
        packed = pack_sequence_as(self._starts, own, expand_composites=True)
        self._finish(packed, results[-1] if ran else None)

    def _enter(self, values: Sequence[Any]) -> None:
        """Set the variables to their values at the start of an iteration."""
        current = list(self._initial)
        for position, value in zip(self._carried, values, strict=True):
            current[position] = value
        self._state.set(current)

    def _leave(self) -> list[Any]:
        """Return the loop variables at the end of an iteration, checked."""
        values = self._state.get()
        after = []
        for number, position in enumerate(self._carried):
            name, value = self._names[number], values[position]
            if value is UNDEFINED:
                raise ValueError(f"'{name}' must be defined after one iteration of the loop")
            if value is None:
                raise ValueError(f"'{name}' is not allowed to be None after one iteration")
            tensors = as_tensors(value, name, "after one iteration")
            self._check_kept(number, tensors)
            after.append(tensors)
        return after

    def _check_kept(self, number: int, after: Any) -> None:
        name, before = self._names[number], self._starts[number]
        difference = same_structure(before, after)
        if difference:
            raise TypeError(
                f"'{name}' does not have the same nested structure after one iteration.\n\n"
                f"{difference}"
            )
        allowed = self._dims_of(number)
        for a, b, dims in zip(flatten(before), flatten(after), allowed, strict=True):
            if is_composite(a) or is_composite(b):
                continue
            if a.dtype.base_dtype is not b.dtype.base_dtype:
                raise TypeError(
                    f"'{name}' has dtype {a.dtype.name} before the loop, but dtype "
                    f"{b.dtype.name} after one iteration"
                )
            if is_within(b.dims, dims):
                continue
            if number in self._invariants:
                raise ValueError(
                    f"'{name}' has shape {TensorShape(b.dims)} after one iteration, which does "
                    f"not conform with the shape invariant {TensorShape(dims)}."
                )
            raise ValueError(
                f"'{name}' has shape {TensorShape(a.dims)} before the loop, but shape "
                f"{TensorShape(b.dims)} after one iteration. Use "
                "tf.autograph.experimental.set_loop_options to set shape invariants."
            )

    def _finish(self, results: Sequence[Any], ran: Any) -> None:
        """Set the variables to their values after the loop."""
        for position, value in zip(self._carried, results, strict=True):
            self._state.variables[position].set(value)
        if ran is not None:
            named = ", ".join(self._made_up)
            Assert(ran, [f"loop must iterate at least once to initialize {named}"])

    # --- shapes --------------------------------------------------------------------------

    def _dims_of(self, number: int) -> list[Dims]:
        """Return the shapes that the leaves of a variable may have."""
        leaves = flatten(self._starts[number])
        given = self._invariants.get(number)
        if given is None:
            return [getattr(leaf, "dims", None) for leaf in leaves]
        if len(leaves) == 1:
            return [TensorShape(getattr(given, "shape", given)).dims_or_none]
        return [TensorShape(s).dims_or_none for s in flatten(given)]

    def _flat_dims(self) -> list[Dims]:
        dims = []
        for number, start in enumerate(self._starts):
            for leaf, allowed in zip(flatten(start), self._dims_of(number), strict=True):
                parts = flatten(leaf, True)
                dims += [p.dims for p in parts] if is_composite(leaf) else [allowed]
        return dims

    def _all_invariants(self, starts: Sequence[Any]) -> Any:
        """Return shape invariants for all loop variables; None if all keep their shapes."""
        if not self._invariants:
            return None
        found = []
        for number, start in enumerate(starts):
            if is_composite(start):
                found.append(self._invariants.get(number, start._type_spec))
            elif number >= len(self._starts):
                found.append(TensorShape(()))
            else:
                shapes = [TensorShape(dims) for dims in self._dims_of(number)]
                found.append(pack_sequence_as(start, shapes))
        return found


def _element_of(tensor: Any) -> Any:
    """Return what stands for an element of a tensor in a graph that is dropped."""
    here: Any = graph()
    dims = None if tensor.dims is None else tensor.dims[1:]
    return here.add_input(tensor.dtype.base_dtype, dims, "element")


def _shape_of(leaf: Any) -> TensorShape:
    return TensorShape(leaf.dims)
