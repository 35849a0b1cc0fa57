"""tf.function: a Python function is traced into graphs, one for each kind of arguments.

The Python code runs while it is traced, and only then: it prints or appends once. What it
computes with tensors happens in every call.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from berth.eager.tensor import EagerTensor
from berth.eager.traced_variables import n_variables_made, tracing
from berth.front.context import context
from berth.functions.concrete_function import ConcreteFunction
from berth.functions.signature import Call, Signature, without_shapes
from berth.graph.func_graph import FuncGraph
from berth.graph.nest import flatten, is_composite, map_structure, pack_sequence_as
from berth.graph.operation import Operation
from berth.lru import LRUCache
from berth.ops import builder
from berth.ops.type_spec import TensorSpec
from berth.public import public

MAX_TRACES = 256
"""How many traces of a function are cached."""
MAX_CALLS = 1024
"""How many kinds of calls with tensors only are cached, by types and shapes."""


def requested_device() -> str:
    """Return the device that `tf.device` requests around a call, and so for the function."""
    return context().eager_scope.device_name


class Function:
    """A Python function that is traced into graphs, and executed by them."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Sequence[Any] | None = None,
        reduce_retracing: bool = False,
        autograph: bool = True,
        autograph_options: Any = None,
    ) -> None:
        self.python_function = python_function
        self._autograph = autograph
        self._autograph_options = autograph_options
        self._signature = Signature(python_function, input_signature)
        self._reduces = reduce_retracing
        self._traces: LRUCache[Any, ConcreteFunction] = LRUCache("traces", MAX_TRACES)
        self._n_traces = 0
        self._relaxed: LRUCache[Any, tuple[list[Any], ConcreteFunction]] = LRUCache(
            "relaxed traces", MAX_TRACES
        )
        """With `reduce_retracing`: the last trace for arguments that differ in shapes only."""
        self._calls: LRUCache[Any, ConcreteFunction] = LRUCache("function calls", MAX_CALLS)
        """The traces of calls with tensors only, by a key that is quick to make."""
        self._lock = threading.RLock()
        self._name = getattr(python_function, "__name__", "function")
        functools.update_wrapper(self, python_function)

    @property
    def input_signature(self) -> Any:
        return self._signature.specs

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        key = None if options else self._call_key(arguments)
        concrete = self._calls.get(key) if key is not None else None
        if concrete is not None:
            return concrete.call_flat(arguments, key)
        call = self._signature.read(arguments, options)
        concrete = self._concrete(call, requested_device())
        if key is not None and len(call.leaves) == len(arguments):
            self._calls[key] = concrete
        return concrete.call_flat(call.tensors)

    def _call_key(self, arguments: Sequence[Any]) -> Any:
        """Return a key for arguments that are all tensors, as they mostly are; else None."""
        key: list[Any] = [requested_device()]
        for argument in arguments:
            if type(argument) is not EagerTensor:
                return None
            key += (argument.dtype, argument.dims, argument.place)
        return tuple(key)

    def get_concrete_function(self, *arguments: Any, **options: Any) -> ConcreteFunction:
        """Return the graph for arguments like these; a TensorSpec stands for a tensor."""
        if self._signature.specs is not None and not arguments and not options:
            arguments = self._signature.specs
        return self._concrete(self._signature.read(arguments, options))

    def experimental_get_tracing_count(self) -> int:
        """Return the number of traces."""
        return self._n_traces

    # --- tracing --------------------------------------------------------------------------

    def _concrete(self, call: Call, device: str = "") -> ConcreteFunction:
        """Find or make the trace for a call, on a requested device."""
        key = self._signature.specs is None and call.key
        found = self._traces.get(key) or self._find_or_trace(key, call, "")
        if not device:
            return found
        if not found.has_subgraphs:
            return found.on(device)
        # Subgraphs have got their devices when they were traced.
        return self._traces.get((device, key)) or self._find_or_trace(
            (device, key), call, device
        )

    def _find_or_trace(self, key: Any, call: Call, device: str) -> ConcreteFunction:
        with self._lock:
            found = self._traces.get(key)
            if found is not None:
                return found
            kind = (device, without_shapes(call)) if self._reduces else None
            before = self._relaxed.get(kind)
            if before is not None:
                kinds, general = before
                if general.takes(call.tensors):
                    self._traces[key] = general
                    return general
                call = call.relaxed(kinds)
            made = self._traces[key] = self._trace(call, device)
            self._n_traces += 1
            if self._reduces:
                self._relaxed[kind] = (call.kinds, made)
            return made

    def _trace(self, call: Call, device: str) -> ConcreteFunction:
        """Trace the function; if that made variables, once more, when it must not again."""
        n_before = n_variables_made()
        with tracing(may_make_variables=self._n_traces == 0):
            traced = self._trace_once(call, device)
        if n_variables_made() > n_before:
            with tracing(may_make_variables=False):
                traced = self._trace_once(call, device)
        return traced

    def _trace_once(self, call: Call, device: str) -> ConcreteFunction:
        graph = FuncGraph(self._name)
        graph.seed = getattr(builder.current(), "seed", None)
        specs = self._signature.specs_of(call)
        symbols = [
            graph.add_input(leaf.dtype, leaf.dims, leaf.name or "input")
            if isinstance(leaf, TensorSpec)
            else leaf
            for leaf in specs
        ]
        structure = self._signature.typed(call)
        with graph.as_default(), graph.device(device or None):
            arguments, options = pack_sequence_as(structure, symbols, expand_composites=True)
            result = self._call_python(arguments, options)
            result = map_structure(
                lambda leaf: self._returned(graph, leaf), result, expand_composites=True
            )
        taken = _with_specs(structure, iter(specs))
        return ConcreteFunction(graph, result, self._signature, taken)

    def _call_python(self, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        """Call the Python function, converted by AutoGraph unless that is turned off."""
        if not self._autograph:
            return self.python_function(*arguments, **options)
        # Loaded by the first trace: most of the time of `import berth` would be its own.
        call = import_module("berth.autograph.api").call_converted
        return call(self.python_function, self._autograph_options, arguments, options)

    def _returned(self, graph: FuncGraph, leaf: Any) -> Any:
        """Convert a function's result to a tensor of its graph; None and operations to None."""
        if leaf is None or isinstance(leaf, Operation):
            return None
        try:
            return graph.convert(leaf)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "To be compatible with tf.function, Python functions must return zero or more "
                f"Tensors or None values; in compilation of {self.python_function!r}, found "
                f"return value of type {type(leaf).__name__}, which is not a Tensor."
            ) from error

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an object, as a method: each object has traces of its own."""
        if instance is None:
            return self
        methods = _methods_of(instance)
        bound = methods.get(self)
        if bound is None:
            method = self.python_function.__get__(instance, owner)
            bound = methods[self] = Function(
                method,
                self.input_signature,
                self._reduces,
                self._autograph,
                self._autograph_options,
            )
        return bound

    def __repr__(self) -> str:
        return f"<tf.function {self._name}: {self._n_traces} traces>"


def _with_specs(structure: Any, specs: Iterator[Any]) -> Any:
    """Put the specs of tensors, in order, into arguments; composites have theirs already."""

    def spec_of(leaf: Any) -> Any:
        if not is_composite(leaf):
            return next(specs)
        for _ in flatten(leaf, expand_composites=True):
            next(specs)
        return leaf

    return map_structure(spec_of, structure)


class _Methods(dict[Function, Function]):
    """The functions of an object as its methods. They are not copied with it.

    They are kept in the object, since they hold it: so both are collected together.
    """

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner

    def __deepcopy__(self, memo: Any) -> _Methods:
        return _Methods()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Methods, ()


_KEPT_AS = "_tf_function_methods"


def _methods_of(instance: Any) -> _Methods:
    """Return the methods of an object, or of a class, that were made before."""
    attributes = getattr(instance, "__dict__", None)
    methods: _Methods | None = attributes.get(_KEPT_AS) if attributes is not None else None
    if methods is not None and methods.owner is instance:  # it may be a copy of another
        return methods
    methods = _Methods(instance)
    if isinstance(instance, type):
        setattr(instance, _KEPT_AS, methods)
    elif attributes is not None:  # else there is no place for them: they are traced again
        attributes[_KEPT_AS] = methods
    return methods


@public("function")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Compile a Python function into graphs, one for each combination of argument types.

    AutoGraph converts Python's control flow that depends on the value of a tensor. With
    ``autograph=False`` that needs `tf.cond`, `tf.while_loop` or `tf.where`.

    >>> @function
    ... def double(x):
    ...     return x + x
    >>> import berth as tf
    >>> double(tf.constant([1, 2])).numpy().tolist()
    [2, 4]
    """
    if func is None:
        return functools.partial(
            function,
            input_signature=input_signature,
            autograph=autograph,
            reduce_retracing=reduce_retracing,
            experimental_autograph_options=experimental_autograph_options,
            experimental_relax_shapes=experimental_relax_shapes,
        )
    return Function(
        func,
        input_signature,
        reduce_retracing or bool(experimental_relax_shapes),
        autograph,
        experimental_autograph_options,
    )
