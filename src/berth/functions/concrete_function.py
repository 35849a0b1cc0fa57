"""A traced function: a graph with inputs, run by the same plans as sessions.

A call feeds the arguments and the captures, on the devices where they
are, and gets results on the devices that computed them. Within another graph, its graph
is inlined. On a tape, the forward run also returns what the backward one will need; that
one is traced on first use.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any

from berth.errors import InvalidArgumentError
from berth.front.context import context
from berth.functions.gradient import Backward, CallDefinition, refilled, tensors_of
from berth.functions.inline import inline
from berth.functions.runtime import FunctionRuntime
from berth.functions.signature import Signature
from berth.graph.func_graph import FuncGraph
from berth.graph.graph import Graph
from berth.graph.nest import flatten
from berth.graph.recording import active_tapes, record, stop_recording, watch_variable
from berth.graph.tensor import SymbolicTensor
from berth.ops import builder
from berth.ops.compose import is_tensor
from berth.ops.type_spec import TensorSpec

_numbers = count()
"""What makes the names of functions unique."""


class ConcreteFunction:
    """One trace of a `tf.function`: a graph for arguments of certain types and shapes."""

    def __init__(
        self,
        graph: FuncGraph,
        result: Any,
        signature: Signature,
        taken: tuple[Any, dict[str, Any]],
        base: ConcreteFunction | None = None,
    ) -> None:
        self.graph = graph
        self._name = f"__inference_{graph.name}_{next(_numbers)}"
        self._signature = signature
        self._taken = taken
        """The arguments, with a TensorSpec in the place of each tensor."""
        self._result = result
        self._outputs = tensors_of(result)
        self._captured = [outer for outer, _ in graph.captures]
        self._base = base or self
        """The trace, without a device for its operations."""
        self._placed: dict[str, ConcreteFunction] = {}
        self._runtime = FunctionRuntime(graph, self._outputs, self._name)
        self._backward: Backward | None = None

    # --- what it is -----------------------------------------------------------------------

    @property
    def name(self) -> bytes:
        """Its name, as bytes."""
        return self._name.encode()

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The tensors that stand for arguments and captures."""
        return [*self.graph.inputs, *(inner for _, inner in self.graph.captures)]

    @property
    def outputs(self) -> list[SymbolicTensor]:
        return list(self._outputs)

    @property
    def captured_inputs(self) -> list[Any]:
        """The tensors that it captures."""
        return [*(outer for outer, _ in self.graph.captures), *self.graph.handles.values()]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that it uses, as far as the program still has them."""
        handles = self.graph.handles.values()
        found = (handle.variable() for handle in handles if hasattr(handle, "variable"))
        return tuple(variable for variable in found if variable is not None)

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def structured_input_signature(self) -> tuple[Any, dict[str, Any]]:
        """The arguments, with a TensorSpec in the place of each tensor."""
        return self._taken

    @property
    def structured_outputs(self) -> Any:
        """The result, with symbols in the places of tensors."""
        return self._result

    @cached_property
    def has_subgraphs(self) -> bool:
        """Whether it runs graphs of its own, as values decide."""
        return any(op.definition.is_call for op in self.graph.ops)

    @cached_property
    def _is_done_stepwise(self) -> bool:
        """Whether no plan can be made: a variable may have another shape in every call."""
        shapes = [handle.attrs["shape"] for handle in self.graph.handles.values()]
        return not all(shape.is_fully_defined() for shape in shapes)

    def takes(self, tensors: Sequence[Any]) -> bool:
        """Tell whether tensors are of shapes that it was traced for."""
        return all(
            symbol.shape.is_compatible_with(tensor.shape)
            for symbol, tensor in zip(self.graph.inputs, tensors, strict=True)
        )

    # --- where it runs --------------------------------------------------------------------

    def on(self, device: str) -> ConcreteFunction:
        """Return the same function, as it runs where a device is asked for."""
        placed = self._placed.get(device)
        if placed is None:
            placed = self._placed[device] = self._copied_to(device)
        return placed

    def _copied_to(self, device: str) -> ConcreteFunction:
        try:
            context().builder.placer.device_for()
        except InvalidArgumentError as error:
            message = f"{error.message} [Op:{self._name}]"
            raise InvalidArgumentError(None, None, message) from None
        graph = FuncGraph(self.graph.name)
        graph.seed = self.graph.seed
        symbols = [
            graph.add_input(symbol.dtype, symbol.dims, symbol.op.name)
            for symbol in self.graph.inputs
        ]
        outer = [outer for outer, _ in self.graph.captures]
        with stop_recording(), graph.as_default(), graph.device(device):
            made = inline(self.graph, [*symbols, *outer], self._outputs)
            result = self._structured([graph.convert(tensor) for tensor in made])
        return ConcreteFunction(graph, result, self._signature, self._taken, self)

    # --- calling it -----------------------------------------------------------------------

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it with arguments like those that it was traced for, or with tensors alone."""
        tensors = self._read(arguments, options)
        for position, (symbol, tensor) in enumerate(
            zip(self.graph.inputs, tensors, strict=True)
        ):
            if not symbol.shape.is_compatible_with(tensor.shape):
                given, taken = map(TensorSpec.from_tensor, (tensor, symbol))
                error = TypeError(f"Can not cast {given} to {taken}")
                raise self._signature.failure(error, arguments, options)
            if tensor.dtype.base_dtype is not symbol.dtype:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"cannot compute {self._name} as input #{position}(zero-based) was "
                    f"expected to be a {symbol.dtype.type_string} tensor but is a "
                    f"{tensor.dtype.base_dtype.type_string} tensor [Op:{self._name}]",
                )
        return self.on_this_device().call_flat(tensors)

    def on_this_device(self) -> ConcreteFunction:
        """Return it as it runs where the program is now."""
        device = context().eager_scope.device_name
        return self.on(device) if device and not self.has_subgraphs else self

    def _read(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
        """Return the tensors of a call."""
        current: Any = builder.current()
        try:
            given = self._signature.read(arguments, options).leaves
            tensors = []
            for spec, value in zip(flatten(self._taken, True), given, strict=True):
                if isinstance(spec, TensorSpec):
                    wanted = None if is_tensor(value) else spec.dtype
                    tensors.append(current.convert(value, wanted))
                elif value is not spec and value != spec:
                    raise TypeError(f"Can not cast {value!r} to Literal[{spec!r}]")
        except (TypeError, ValueError) as error:
            named = {symbol.op.name: symbol for symbol in self.graph.inputs}
            given = [*arguments, *(options[name] for name in named if name in options)]
            is_flat = len(given) == len(named) == len(arguments) + len(options)
            if not is_flat or not all(is_tensor(value) for value in given):
                raise TypeError(str(error)) from None
            tensors = [current.convert(value) for value in given]
        return tensors

    def call_flat(self, arguments: Sequence[Any], key: Hashable = None) -> Any:
        """Call it with the tensors of its arguments; return the result.

        `key` is a key of the caller's for their shapes and devices, if it has one.
        """
        given = [*arguments, *self._captured]
        tapes = active_tapes()
        if isinstance(builder.current(), Graph):
            base = self._base  # the graph says where
            given[len(arguments) :] = base._captured
            outputs = inline(base.graph, given, base._outputs)
        elif self._is_done_stepwise or len(tapes) > 1 or (tapes and tapes[0].is_persistent):
            # Gradients may be wanted of gradients: let the tapes see every operation.
            outputs = inline(self.graph, given, self._outputs)
        elif not tapes:
            outputs = self._runtime.run(given, key)
        else:
            outputs = self._call_on_tape(given)
        return self._structured(outputs)

    def _structured(self, outputs: Sequence[Any]) -> Any:
        if isinstance(self._result, SymbolicTensor):
            return outputs[0]
        return refilled(self._result, outputs)

    def _call_on_tape(self, given: Sequence[Any]) -> list[Any]:
        handles = list(self.graph.handles.values())
        for handle in handles:
            watch_variable(handle)
        if self._backward is None:
            self._backward = Backward(self.graph, self._outputs, self._name)
        backward = self._backward
        outputs, kept = backward.run_forward(given)
        call = CallDefinition(self._name, backward, kept)
        record(call, [*given, *handles], outputs, {})
        return outputs
