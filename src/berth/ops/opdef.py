"""What an operation is: arguments, types, shape rule, kernels, gradient, side by side.

An `OpDef` is data. Adding an operation means writing one, and the Python function that
users call; graphs, the placer, the planner and the executor read the tables here and know
no operation by name.

    arguments   ``"a:T b:T"``: names, and the type (or type variable) of each; ``inputs:T*``
                is a list
    infer       types and shapes of the outputs, from those of the inputs. It sees shapes
                known in part while a graph is built, and in full while a plan is made
    kernels     one for each type of device that can run it: a *binder* that turns arrays
                into a call ready to be made, again and again
    gradient    its gradient function, or NOT_DIFFERENTIABLE

Rules for kernels:
  1. A call fills the outputs it was bound to and allocates nothing that counts: memory,
     scratch included, was there before.
  2. An *elementwise* function may be given one of its inputs as its output. It computes
     each element from that element of the inputs alone, so slices can be done apart.
  3. *Host inputs* (a shape, an axis) arrive as host arrays, whose values are known when
     the call is bound. Everything else lives on the device.
  4. A binder returns one call, None if there is nothing to do, or `Parts`: calls that
     several threads may make at once. It then divides its work and its scratch memory by
     `Launch.n_threads`. The parts do not depend on each other, only on what comes `first`;
     what has to see all of them is done in `then`. Without threads all calls are made
     in order, which gives the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

from berth.backends.kinds import DEVICE_TYPES, HOST_TYPE
from berth.dtypes import ALL, PACKAGED, DType, float32, packaged_with
from berth.errors import did_you_mean
from berth.ops.arguments import read_arguments
from berth.ops.shape import Dims

Attrs = Mapping[str, Any]
Call = tuple[Callable[..., Any], tuple[Any, ...]]
OutputType = tuple[DType, Dims]


class Parts(NamedTuple):
    """Work that several threads can do at once."""

    calls: Sequence[Call]
    """Made in any order, each by any free thread."""
    then: Sequence[Call] = ()
    """Made afterwards, in order."""
    first: Sequence[Call] = ()
    """Made before, in order."""


class Typed(Protocol):
    """What a shape rule sees of an input."""

    @property
    def dtype(self) -> DType: ...
    @property
    def dims(self) -> Dims: ...
    @property
    def value(self) -> Any:
        """The value as a host array, if it is known; else None."""
        ...


class Launch(NamedTuple):
    """Arrays and attributes that a kernel is bound to."""

    xp: Any
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    attrs: Attrs
    scratch: Sequence[Any] = ()
    state: Any = None
    """What this operation keeps from run to run in one session: a dict of its own."""
    n_threads: int = 1
    """Into how many `Parts` it is worth to divide the work."""
    is_checked: bool = False
    """Whether the shape rule has seen the values of the host inputs."""


Infer = Callable[[Sequence[Any], Attrs], Sequence[OutputType]]
Bind = Callable[[Launch], Call | Parts | None]
ScratchShapes = Callable[
    [Sequence[Typed], Sequence[OutputType], Attrs, int], Sequence[OutputType]
]
"""From inputs, outputs, attributes and the number of threads: what `Launch.scratch` will be."""


Perform = Callable[[Sequence[Any], Attrs], Sequence[Any]]
"""From arrays of the host: the outputs, arrays of the host too."""


HostCall = Callable[[Sequence[Any], Attrs, Any], Any]
"""From arrays of the host, the attributes and the session's `berth.run.host_calls.HostObjects`:
the outputs, or a generator that waits for them. Of a handle: from the attributes and a name,
the object that it stands for."""


RunSubgraph = Callable[[int, Sequence[Any]], Sequence[Any]]
"""Runs the subgraph at a position, given the inputs of the functional op as they are now."""
Stack = Callable[[int, Sequence[Any]], Any]
"""Puts the values of a row, one for each iteration, below each other."""
Follow = Callable[[Attrs, Sequence[Any], RunSubgraph, Stack], list[Any]]


class Kernel(NamedTuple):
    """How one type of device runs an operation, for some types of elements."""

    device_type: str
    bind: Bind
    dtypes: tuple[DType, ...] = ALL
    scratch: ScratchShapes | None = None


def in_order(parts: Parts) -> Call:
    """Make one call of what a binder divided, for a single thread."""
    return make_calls, ((*parts.first, *parts.calls, *parts.then),)


def make_calls(calls: Sequence[Call]) -> None:
    """Make calls, one after the other."""
    for function, arguments in calls:
        function(*arguments)


class Access(Enum):
    """What an operation does to a variable."""

    READ = "read"
    ASSIGN = "assign"
    """Write all of it, whatever it was."""
    UPDATE = "update"
    """Write it, from what it was."""
    QUERY = "query"
    """Ask about it, not for its value."""


class Source(Enum):
    """Where the values of an operation come from that computes nothing."""

    CONSTANT = "constant"
    """Its attribute ``value``."""
    PLACEHOLDER = "placeholder"
    """What is fed to a run."""
    VARIABLE = "variable"
    """Memory that outlives a run."""
    HANDLE = "handle"
    """It stands for an object of the session: a queue, a reader, an iterator."""


def variable_of(tensor: Any) -> Any:
    """Return the operation that made the variable a reference or handle stands for."""
    op = tensor.op
    while op.definition.source is not Source.VARIABLE:
        op = op.inputs[0].op
    return op


class _NotDifferentiable:
    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE = _NotDifferentiable()


class OpDef:
    """One operation, as a table of facts about it."""

    __slots__ = (
        "_has_host_at_end",
        "access",
        "arguments",
        "check_static",
        "elementwise",
        "flops",
        "follow",
        "gradient",
        "host_call",
        "host_inputs",
        "infer",
        "is_alias",
        "is_call",
        "is_identity",
        "is_loop",
        "is_metadata",
        "is_source",
        "is_stateful",
        "kernels",
        "large_samples",
        "n_variables",
        "name",
        "perform",
        "samples",
        "shape_inputs",
        "simple_type",
        "source",
        "type_position",
        "types",
    )
    elementwise: Callable[[Any, Attrs], Callable[..., Any]] | None
    """Gives the function ``f(*inputs, out)`` of an elementwise operation."""
    check_static: Callable[[Sequence[Typed], Attrs], None] | None
    """Raises ValueError for shapes that a graph refuses, though a run would take them."""
    host_inputs: frozenset[int]
    """The inputs whose values a call is bound to: a shape, an axis. -1 is the last."""
    shape_inputs: frozenset[int]
    """The inputs whose values decide the shapes of the outputs, and nothing else."""
    is_alias: bool
    """The output is the first input, at most with another shape: no work."""
    is_metadata: bool
    """Needs the shape of its input only."""
    is_stateful: bool
    """Gives other values in other runs: kept on its device, and never folded."""
    source: Source | None
    """Where its values come from, if they come from outside of the plan."""
    is_source: bool
    """Whether they do."""
    is_identity: bool
    """The output is the input, which the placer puts beside it."""
    follow: Follow | None
    """Runs the subgraphs of a functional op, as values decide; returns its outputs."""
    is_loop: bool
    """Whether those are run again and again."""
    is_call: bool
    """It runs graphs of its own, the *subgraphs* in its attributes, as values decide."""
    perform: Perform | None
    """Does it on host arrays where nothing else tells the shapes of its outputs."""
    host_call: Callable[..., Any] | None
    """Does it on the host, between the parts of a run, and may wait (`HostCall`); or makes the
    object that a handle stands for."""
    access: Access | None
    """What it does to the variables that its first inputs stand for."""
    n_variables: int
    """How many inputs those are: an optimizer's update writes a variable and its slots."""
    flops: Callable[[Sequence[Typed], Sequence[Typed]], float] | None
    """About how many calculations it takes, given inputs and outputs, if many a byte."""
    gradient: Any
    """A function (see `berth.ops.gradient`), NOT_DIFFERENTIABLE, or None: not declared."""
    samples: tuple[str, ...]
    """Calls for the tests that run every operation on every device: ``"f(2, 3), i(1),
    keep_dims=True"``, inputs first, then attributes. tests/ops/samples.py evaluates them."""
    large_samples: tuple[str, ...]
    """Calls on arrays so large that a temporary array in a kernel shows."""
    simple_type: frozenset[DType] | None
    """The types allowed where every argument is single and of one type variable."""
    type_position: int | None
    """The input whose type decides which kernels fit, if no attribute ``dtype`` does."""

    def __init__(
        self,
        name: str,
        arguments: str,
        infer: Infer,
        *,
        check_static: Callable[[Sequence[Typed], Attrs], None] | None = None,
        types: Mapping[str, Sequence[DType]] | None = None,
        kernels: Sequence[Kernel] = (),
        elementwise: Callable[[Any, Attrs], Callable[..., Any]] | None = None,
        host_inputs: Sequence[int] = (),
        shape_inputs: Sequence[int] = (),
        is_alias: bool = False,
        is_metadata: bool = False,
        is_stateful: bool = False,
        source: Source | None = None,
        is_identity: bool = False,
        follow: Follow | None = None,
        is_loop: bool = False,
        perform: Perform | None = None,
        host_call: Callable[..., Any] | None = None,
        access: Access | None = None,
        n_variables: int = 1,
        flops: Callable[[Sequence[Typed], Sequence[Typed]], float] | None = None,
        gradient: Any = None,
        samples: Sequence[str] = (),
        large_samples: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.arguments = read_arguments(arguments)
        self.infer = infer
        self.check_static = check_static
        self.types = {variable: tuple(allowed) for variable, allowed in (types or {}).items()}
        self.kernels = tuple(kernels)
        self.elementwise = elementwise
        self.host_inputs = frozenset(host_inputs)
        self._has_host_at_end = min(host_inputs, default=0) < 0
        self.shape_inputs = frozenset(shape_inputs)
        self.is_alias = is_alias
        self.is_metadata = is_metadata
        self.is_stateful = is_stateful
        self.source, self.is_source = source, source is not None
        self.is_identity = is_identity
        self.follow = follow
        self.is_loop, self.is_call = is_loop, follow is not None
        self.perform, self.host_call, self.access = perform, host_call, access
        self.n_variables = 0 if access is None else n_variables
        self.flops, self.gradient = flops, gradient
        self.samples, self.large_samples = tuple(samples), tuple(large_samples)
        self.simple_type, self.type_position = self._one_type(), self._deciding_position()
        CATALOGUE[name] = self

    def infer_static(self, inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
        """Infer types and shapes for a graph, which refuses more than a run."""
        types = self.infer(inputs, attrs)
        if self.check_static is not None:
            self.check_static(inputs, attrs)
        return types

    def _one_type(self) -> frozenset[DType] | None:
        kinds = {(argument.type, argument.is_list) for argument in self.arguments}
        [(variable, is_list)] = kinds if len(kinds) == 1 else [(None, True)]
        if is_list or not isinstance(variable, str):
            return None
        allowed = self.types[variable]
        return frozenset((*allowed, *packaged_with(allowed)))

    def _deciding_position(self) -> int | None:
        n_arguments = len(self.arguments)
        hosts = {position % n_arguments for position in self.host_inputs} if n_arguments else ()
        seen_list = False
        for position, argument in enumerate(self.arguments):
            if argument.type in self.types and position not in hosts:
                return position - n_arguments if seen_list else position
            seen_list = seen_list or argument.is_list
        return None

    def host_positions(self, n_inputs: int) -> frozenset[int]:
        """Return the positions of the host inputs among so many; lists vary in length."""
        if not self._has_host_at_end or not n_inputs:
            return self.host_inputs
        return frozenset(position % n_inputs for position in self.host_inputs)

    def takes(self, variable: str, dtype: DType) -> bool:
        """Tell whether a type variable may be a type: one of those declared, or like them."""
        allowed = self.types[variable]
        return dtype in allowed or dtype in packaged_with(allowed)

    def kernel(self, device_type: str, dtype: DType | None) -> Kernel | None:
        """Find the kernel for a type of device and of elements."""
        dtype = float32 if dtype in PACKAGED else dtype  # see `berth.ops.widening`
        for kernel in self.kernels:
            fits = dtype is None or dtype in kernel.dtypes
            if kernel.device_type == device_type and fits:
                return kernel
        return None

    def device_types(self, dtype: DType | None) -> frozenset[str]:
        """Name the types of devices that have a kernel for a type of elements."""
        dtype = float32 if dtype in PACKAGED else dtype
        fitting = (k for k in self.kernels if dtype is None or dtype in k.dtypes)
        return frozenset(kernel.device_type for kernel in fitting)

    def __repr__(self) -> str:
        return f"<OpDef {self.name}>"


class GraphOps:
    """The operations that graphs make by themselves, set where they are declared."""

    constant: OpDef
    placeholder: OpDef
    identity: OpDef
    pack: Callable[..., Any]
    """Joins tensors and values along a new axis."""


CATALOGUE: dict[str, OpDef] = {}
"""Every operation, by its name."""


def find_op(name: str) -> OpDef:
    """Return an operation by its name, or KeyError with the nearest."""
    if name not in CATALOGUE:
        raise KeyError(
            f"Op type not registered '{name}'. {did_you_mean(name, CATALOGUE)}".rstrip()
        )
    return CATALOGUE[name]


def all_devices(
    bind: Bind,
    dtypes: Sequence[DType] = ALL,
    scratch: ScratchShapes | None = None,
) -> tuple[Kernel, ...]:
    """Make the kernels of an operation that is written once for every device."""
    return tuple(Kernel(device, bind, tuple(dtypes), scratch) for device in DEVICE_TYPES)


def host_only(bind: Bind, dtypes: Sequence[DType] = ALL) -> tuple[Kernel, ...]:
    """Make the kernel of an operation that only the CPU can run."""
    return (Kernel(HOST_TYPE, bind, tuple(dtypes)),)
