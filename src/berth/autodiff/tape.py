"""Gradient tapes: operations recorded for backpropagation.

A tape records an operation if one of its inputs is *watched*: a trainable variable, a tensor
given to `watch`, or the output of a recorded operation. Single operations, functions and
gradients themselves are recorded alike.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, overload

from berth.autodiff.backprop import (
    backpropagate,
    component,
    is_differentiable,
    with_gradient,
)
from berth.blocks import Block, FunctionBlock, Use
from berth.errors import explain
from berth.graph.nest import flatten, is_nested, pack_sequence_as
from berth.graph.recording import active_tapes, deactivate, set_active_tapes
from berth.ops.arrays.array import reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import ones_like, zeros, zeros_like
from berth.ops.arrays.indexed_slices import total
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.one_hot import one_hot
from berth.ops.builder import current
from berth.ops.compose import is_tensor
from berth.ops.opdef import Attrs
from berth.ops.types import Tensor
from berth.public import public

if TYPE_CHECKING:
    from berth.ops.operators import Operators


class Record:
    """One recorded operation."""

    __slots__ = ("attrs", "definition", "device", "inputs", "outputs")

    def __init__(
        self,
        definition: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        attrs: Attrs,
        device: str,
    ) -> None:
        self.definition = definition
        self.inputs = inputs
        self.outputs = outputs
        self.attrs = attrs
        self.device = device


_log = logging.getLogger("berth")


@public("GradientTape")
class GradientTape(Block["GradientTape"]):
    """Gradient tape: records operations for automatic differentiation."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._is_persistent = persistent
        self._watches_variables = watch_accessed_variables
        self._records: list[Record] | None = None
        self._watched: dict[int, Any] = {}
        """What is watched, by identity; held, so that no other gets the same."""
        self._variables: dict[int, Any] = {}

    @property
    def is_persistent(self) -> bool:
        """Whether `gradient` may be called more than once."""
        return self._is_persistent

    # --- recording ------------------------------------------------------------------------

    def _begin(self, use: Use) -> GradientTape:
        if self in active_tapes():
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an "
                "already-active tape."
            )
        if self._records is None:
            self._forget()
        set_active_tapes(use, (*active_tapes(), self))
        return self

    def _finish(self, use: Use) -> None:
        deactivate(self)  # also where another tape's block is open still
        use.end()

    def _exit_unentered(self) -> None:
        """Do nothing: `gradient` may have ended the recording."""

    def reset(self) -> None:
        """Clear the recorded operations."""
        if self not in active_tapes():
            raise ValueError("Tape is not recording.")
        self._forget()

    def _forget(self) -> None:
        self._records = []
        self._watched = {}
        self._variables = {}

    def stop_recording(self) -> FunctionBlock[None]:
        """Stop recording on this tape inside the block."""
        return FunctionBlock(self._begin_pause)

    def _begin_pause(self, use: Use) -> None:
        before = active_tapes()
        if self not in before:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        set_active_tapes(use, tuple(tape for tape in before if tape is not self))

    def watch(self, tensor: Any) -> None:
        """Watch a tensor or variable: record the operations on it."""
        for each in map(component, flatten(tensor)):
            if not is_tensor(each):
                raise ValueError(
                    f"Passed in object {each} of type {type(each).__name__!r}, not tf.Tensor "
                    "or tf.Variable or ExtensionType."
                )
            if not is_differentiable(each):
                _log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got "
                    f"{each.dtype!r}"
                )
                continue
            key = _key(each)
            self._watched[id(key)] = key

    def watch_read(self, variable: Any) -> None:
        """Watch a variable that is read."""
        if self._watches_variables and variable.trainable:
            self._watched[id(variable.handle)] = variable.handle
        if id(variable.handle) in self._watched:
            self._variables[id(variable)] = variable

    def watched_variables(self) -> tuple[Any, ...]:
        """Return the watched variables, in the order in which they were read."""
        read = self._variables.values()
        found = (v.variable() if hasattr(v, "variable") else v for v in read)
        return tuple(variable for variable in found if variable is not None)

    def record(
        self,
        definition: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        attrs: Attrs,
        device: str,
    ) -> None:
        """Record an operation, if one of its inputs is watched."""
        watched = self._watched
        if self._records is None or not any(id(tensor) in watched for tensor in inputs):
            return
        for tensor in outputs:
            if is_differentiable(tensor):
                watched[id(tensor)] = tensor
        self._records.append(Record(definition, inputs, outputs, attrs, device))

    def watch_output(self, output: Any, others: Sequence[Any]) -> None:
        """Watch a new output of an operation, if its other outputs are watched."""
        is_watched = any(id(tensor) in self._watched for tensor in others)
        if is_watched and is_differentiable(output):
            self._watched[id(output)] = output

    # --- gradients ------------------------------------------------------------------------

    @overload
    def gradient(
        self,
        target: Any,
        sources: Operators,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Tensor: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Sequence[Operators],
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> list[Tensor]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Any: ...
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Any:
        """Gradients of a target, or of the sum of several, with respect to `sources`."""
        found = self._gradient(
            target, sources, output_gradients, unconnected_gradients, self._is_persistent
        )
        self._release()
        return found

    def _gradient(
        self, target: Any, sources: Any, given: Any, unconnected: Any, may_record: bool
    ) -> Any:
        """Compute one gradient of several, if need be."""
        records = self._recorded()
        wants_zeros = _reads_zero(unconnected)
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables "
                "or CompositeTensors to be differentiated, but received None."
            )
        if self in active_tapes() and not may_record:
            deactivate(self)
        targets = list(map(component, flatten(target)))
        seeds = _seeds(target, targets, given)
        starts: dict[int, list[Any]] = {}
        for each, seed in zip(targets, seeds, strict=True):
            if is_differentiable(each) and seed is not _NOTHING:
                starts.setdefault(id(_key(each)), []).append(_seed(each, seed))
        wanted = [_source_key(component(source)) for source in flatten(sources)]
        found = backpropagate(
            reversed(records),
            {key: total(parts) for key, parts in starts.items()},
            [id(key) for key in wanted],
            _beside,
        )
        grads = []
        for source, key in zip(flatten(sources), wanted, strict=True):
            is_missing = found[id(key)] is None and wants_zeros
            grad = zeros_like(component(source)) if is_missing else found[id(key)]
            grads.append(with_gradient(source, grad))
        return pack_sequence_as(sources, grads)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Jacobian of a target with respect to sources."""
        self._recorded()
        rows = self._rows(target, sources, unconnected_gradients)
        self._release()
        whole: list[Any] = []
        for source, column in zip(flatten(sources), zip(*rows, strict=True), strict=True):
            dims = (*target.dims, *source.dims)
            if any(row is None for row in column):
                whole.append(None)
            elif 0 in target.dims:
                whole.append(zeros(dims, source.dtype))
            else:
                whole.append(reshape(stack(list(column)), dims))
        return pack_sequence_as(sources, whole)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Per-example Jacobian of a target with respect to a source."""
        _check_batches(target, source)
        inner = target.dims[1:]
        with self._paused():
            columns = []
            for position in range(math.prod(inner)):
                one = one_hot(position, math.prod(inner), dtype=target.dtype)
                seed = broadcast_to(reshape(one, (1, *inner)), shape_of(target))
                columns.append(
                    self._gradient(target, source, seed, unconnected_gradients, True)
                )
        self._release()
        if not columns or columns[0] is None:
            return None
        n_rows = -1 if target.dims[0] is None else target.dims[0]
        return reshape(stack(columns, axis=1), (n_rows, *inner, *source.dims[1:]))

    def _recorded(self) -> list[Record]:
        """Return the recorded operations; RuntimeError if they were used already."""
        if self._records is None:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of "
                "gradients (or jacobians)"
            )
        return self._records

    def _release(self) -> None:
        """Clear the recorded operations, unless the tape is persistent."""
        if not self._is_persistent:
            self._records, self._watched = None, {}

    def _rows(self, target: Any, sources: Any, unconnected: Any) -> list[list[Any]]:
        """Compute the gradients of each element of a target; one row if it is empty."""
        with self._paused():
            rows = []
            size = math.prod(target.dims)
            for position in range(max(size, 1)):
                seed = reshape(one_hot(position, size, dtype=target.dtype), target.dims)
                rows.append(flatten(self._gradient(target, sources, seed, unconnected, True)))
        return rows

    def _paused(self) -> AbstractContextManager[None]:
        return self.stop_recording() if self in active_tapes() else nullcontext()


_NOTHING = object()


def _check_batches(target: Any, source: Any) -> None:
    """Raise ValueError unless target and source are batches, of as many rows."""
    for shape in (target.shape, source.shape):
        if shape.rank is not None and shape.rank < 2:
            raise ValueError(f"Shape {shape} must have rank at least 2")
    if not target.shape[:1].is_compatible_with(source.shape[:1]):
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape "
            f"({source.shape}) to match."
        )


def _seeds(target: Any, targets: Sequence[Any], given: Any) -> list[Any]:
    """Return the initial gradient of each target; None: ones."""
    if given is None:
        return [None] * len(targets)
    if not is_nested(target):
        return [given]
    seeds = [_NOTHING if seed is None else seed for seed in flatten(given)]
    if len(seeds) != len(targets):
        raise ValueError(
            f"{len(seeds)} output_gradients were given for {len(targets)} targets."
        )
    return seeds


def _reads_zero(unconnected: Any) -> bool:
    """Tell whether unconnected gradients are zeros."""
    word = getattr(unconnected, "value", unconnected)
    if word not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected!r}")
    return bool(word == "zero")


def _key(value: Any) -> Any:
    """Return the key of a tensor or variable on a tape."""
    return getattr(value, "handle", value)


def _source_key(source: Any) -> Any:
    """Return the key of a source on a tape; TypeError if it cannot be a source."""
    if not is_tensor(source) and not hasattr(source, "__tf_tensor__"):
        message = f"Cannot convert the argument `type_value`: {source!r} to a TensorFlow DType."
        raise TypeError(explain(message, "The sources of a gradient are tensors or variables."))
    return _key(source)


def _seed(target: Any, seed: Any) -> Any:
    if seed is not None:
        builder: Any = current()
        return builder.convert(seed, target.dtype)
    return ones_like(target)


def _beside(done: Record) -> AbstractContextManager[None]:
    """Compute gradients on the device of the operation."""
    builder: Any = current()
    if not done.device or not builder.has_choice():
        return _NOWHERE
    beside: AbstractContextManager[None] = builder.device(done.device)
    return beside


_NOWHERE = nullcontext()
