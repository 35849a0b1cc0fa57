"""Cells made of cells: a stack, and wrappers for dropout, residuals and devices."""

from __future__ import annotations

import hashlib
from typing import Any

from berth.front.device_scope import device_v1
from berth.front.logger import get_logger
from berth.graph.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)
from berth.layers.base import Layer
from berth.layers.rnn.cells import RNNCell, zeros_of
from berth.layers.rnn.lstm import LSTMStateTuple
from berth.ops.arrays.joining import concat
from berth.ops.arrays.slicing import slice as slice_of
from berth.ops.compose import is_tensor, scope
from berth.ops.elementwise.arithmetic import truediv
from berth.ops.elementwise.unary import floor
from berth.ops.nn.dropout import dropout
from berth.ops.random.seeded import random_uniform
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.scope import variable_scope


@public_v1("nn.rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Stack of cells: the output of each is the input of the next."""

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but received: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            get_logger().warning(
                "At least two cells provided to MultiRNNCell are the same object and will "
                "share weights."
            )
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros: one for each cell."""
        with scope(f"{type(self).__name__}ZeroState"):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return zeros_of(batch_size, self.state_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        if not self.trainable:
            return []
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        return [variable for cell in layers for variable in cell.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        weights = [variable for cell in layers for variable in cell.non_trainable_weights]
        if self.trainable:
            return weights
        return [variable for cell in layers for variable in cell.trainable_weights] + weights

    def call(self, inputs: Any, state: Any = None, **kwargs: Any) -> Any:
        if self._state_is_tuple and not is_nested(state):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self.state_size)}, but received: "
                f"{state}"
            )
        first, states = 0, []
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    own = state[number]
                else:
                    own = slice_of(state, [0, first], [-1, cell.state_size])
                    first += cell.state_size
                inputs, new_state = cell(inputs, own)
                states.append(new_state)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)


class CellWrapper(RNNCell):
    """The base of cells that change what another one takes or gives."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_like_cell("cell", cell)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell that is wrapped."""
        return self.cell

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        weights: list[Any] = self.cell.trainable_weights
        return weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        weights: list[Any] = self.cell.non_trainable_weights
        return weights

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros: that of the wrapped cell."""
        with scope(f"{type(self).__name__}ZeroState"):
            return self.cell.zero_state(batch_size, dtype)

    def build(self, input_shape: Any) -> None:
        self.cell.build(input_shape)
        self.built = True

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None) -> Any:
        """Call the wrapped cell: a wrapper has no scope of its own."""
        options = {} if scope is None else {"scope": scope}
        return self._wrapped(inputs, state, options)

    def _wrapped(self, inputs: Any, state: Any, options: dict[str, Any]) -> Any:
        raise NotImplementedError


def check_like_cell(name: str, cell: Any) -> None:
    """Raise TypeError unless an object has what is needed of a cell."""
    has_start = hasattr(cell, "get_initial_state") or hasattr(cell, "zero_state")
    parts = {
        "'output_size' property is missing": hasattr(cell, "output_size"),
        "'state_size' property is missing": hasattr(cell, "state_size"),
        "either 'zero_state' or 'get_initial_state' method is required": has_start,
        "is not callable": callable(cell),
    }
    missing = [text for text, is_there in parts.items() if not is_there]
    if missing:
        raise TypeError(
            f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(missing)}."
        )


def _without_cell_value(state: Any) -> Any:
    """Choose what of a state is dropped out: of an LSTM's, only the output."""
    return LSTMStateTuple(c=False, h=True) if isinstance(state, LSTMStateTuple) else True


def _chosen(choose: Any, structure: Any) -> list[bool]:
    """Return for each leaf of a structure whether it is chosen."""
    choice = choose(structure)
    if not is_nested(choice):
        if not choice or not is_nested(structure):
            return [bool(choice)] * len(flatten(structure))
        return [flag for part in structure for flag in _chosen(choose, part)]
    flags: list[bool] = []
    for one, part in zip(choice, structure, strict=True):
        flags += _chosen(choose, part) if one else [False] * len(flatten(part))
    return flags


@public_v1("nn.rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(CellWrapper):
    """Dropout of the inputs, outputs and states of a cell."""

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(
            dropout_state_filter_visitor
        ):
            raise TypeError(
                "dropout_state_filter_visitor must be callable. Received: "
                f"{dropout_state_filter_visitor}"
            )
        self._choose = dropout_state_filter_visitor or _without_cell_value
        self._keep = {
            "input": input_keep_prob,
            "state": state_keep_prob,
            "output": output_keep_prob,
        }
        for what, kept in self._keep.items():
            if not is_tensor(kept) and not 0 <= kept <= 1:
                raise ValueError(
                    f"Parameter {what}_keep_prob must be between 0 and 1. Received {kept}"
                )
        self._seed = seed
        self._noise: dict[str, Any] | None = None
        if variational_recurrent:
            self._set_noise(input_size, dtype)

    def _set_noise(self, input_size: Any, dtype: Any) -> None:
        """Draw the noise of all steps, once."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if self._drops("input"):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes = {"input": input_size, **sizes}
        self._noise = {
            what: [
                random_uniform(
                    [1, *TensorShape(size).as_list()],
                    dtype=dtype,
                    seed=self._seed_of(what, number),
                )
                for number, size in enumerate(_sizes_of(structure))
            ]
            for what, structure in sizes.items()
        }

    def _drops(self, what: str) -> bool:
        kept = self._keep[what]
        return is_tensor(kept) or kept < 1

    def _seed_of(self, what: str, number: int) -> int | None:
        """Return a seed for one tensor, as TensorFlow derives it."""
        if self._seed is None:
            return None
        salted = f"{self._seed}{what}_{number}".encode()
        return int(hashlib.md5(salted, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(self, what: str, structure: Any) -> Any:
        if not self._drops(what):
            return structure
        leaves = flatten(structure)
        flags = _chosen(self._choose, structure) if what == "state" else [True] * len(leaves)
        pairs = enumerate(zip(leaves, flags, strict=True))
        dropped = [
            self._dropped_leaf(what, number, leaf) if is_chosen else leaf
            for number, (leaf, is_chosen) in pairs
        ]
        return pack_sequence_as(structure, dropped)

    def _dropped_leaf(self, what: str, number: int, leaf: Any) -> Any:
        kept = self._keep[what]
        if self._noise is None:
            return dropout(leaf, 1.0 - kept, seed=self._seed_of(what, number))
        result: Any = truediv(leaf, kept) * floor(kept + self._noise[what][number])
        result.set_shape(leaf.shape)
        return result

    def _wrapped(self, inputs: Any, state: Any, options: dict[str, Any]) -> Any:
        output, state = self.cell(self._dropped("input", inputs), state, **options)
        return self._dropped("output", output), self._dropped("state", state)


def _sizes_of(structure: Any) -> list[Any]:
    """List the sizes in a structure of sizes: numbers are shapes of one axis."""
    return [[size] if isinstance(size, int) else size for size in flatten(structure)]


@public_v1("nn.rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(CellWrapper):
    """Add the input of a cell to its output."""

    def __init__(self, cell: Any, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _wrapped(self, inputs: Any, state: Any, options: dict[str, Any]) -> Any:
        outputs, new_state = self.cell(inputs, state, **options)
        combined = (self._residual_fn or _added)(inputs, outputs)
        map_structure(_check_shapes, outputs, combined)
        return combined, new_state


def _added(inputs: Any, outputs: Any) -> Any:
    assert_same_structure(inputs, outputs)
    map_structure(_check_shapes, inputs, outputs)
    return map_structure(lambda one, other: one + other, inputs, outputs)


def _check_shapes(first: Any, second: Any) -> None:
    first.shape.assert_is_compatible_with(second.shape)


@public_v1("nn.rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(CellWrapper):
    """Run a cell on a device."""

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros, on the device."""
        with scope(f"{type(self).__name__}ZeroState"), device_v1(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _wrapped(self, inputs: Any, state: Any, options: dict[str, Any]) -> Any:
        with device_v1(self._device):
            return self.cell(inputs, state, **options)
