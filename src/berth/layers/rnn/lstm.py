"""LSTM cells: the basic one, and one with peepholes, projection and clipping."""

from __future__ import annotations

from typing import Any, NamedTuple

from berth.front.logger import get_logger
from berth.layers.rnn.cells import LayerRNNCell, check_types
from berth.ops.arrays.array import constant
from berth.ops.arrays.joining import concat, split
from berth.ops.arrays.slicing import slice as slice_of
from berth.ops.elementwise.arithmetic import add, clip_by_value, multiply
from berth.ops.elementwise.sigmoid import sigmoid
from berth.ops.linalg.matmul import matmul
from berth.ops.nn.bias import bias_add
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros
from berth.variables.partitioners import fixed_size_partitioner


@public_v1("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell: the cell's value and its output."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The type of both."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(
                f"Inconsistent dtypes for internal state: {self.c.dtype} vs {self.h.dtype}"
            )
        return self.c.dtype


def _warn_of_one_state(cell: Any, state_is_tuple: bool) -> None:
    if not state_is_tuple:
        get_logger().warning(
            "%s: Using a concatenated state is slower and will soon be deprecated.  Use "
            "state_is_tuple=True.",
            cell,
        )


@public_v1("nn.rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(LayerRNNCell):
    """Basic LSTM cell, without peepholes, projection or clipping."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._set_options(num_units, activation)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        _warn_of_one_state(self, state_is_tuple)

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._num_units)
        return 2 * self._num_units

    def build(self, input_shape: Any) -> None:
        depth, n_units = self._depth_of(input_shape), self._num_units
        self._kernel = self.add_weight("kernel", shape=[depth + n_units, 4 * n_units])
        self._bias = self.add_weight("bias", shape=[4 * n_units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any = None, **kwargs: Any) -> Any:
        check_types(inputs, state)
        cell, output = state if self._state_is_tuple else split(state, 2, axis=1)
        gates = bias_add(matmul(concat([inputs, output], 1), self._kernel), self._bias)
        entered, value, forgotten, shown = split(gates, 4, axis=1)
        bias = constant(self._forget_bias, forgotten.dtype.base_dtype)
        kept = multiply(cell, sigmoid(add(forgotten, bias)))
        new_cell = add(kept, multiply(sigmoid(entered), self._activation(value)))
        new_output = multiply(self._activation(new_cell), sigmoid(shown))
        if self._state_is_tuple:
            return new_output, LSTMStateTuple(new_cell, new_output)
        return new_output, concat([new_cell, new_output], 1)


@public_v1("nn.rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(LayerRNNCell):
    """LSTM cell, with optional peepholes, projection of the output, and clipping."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._set_options(num_units, activation)
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        _warn_of_one_state(self, state_is_tuple)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self.output_size)
        return self._num_units + self.output_size

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        depth, n_units = self._depth_of(input_shape) + self.output_size, self._num_units
        self._kernel = self._add("kernel", [depth, 4 * n_units], self._num_unit_shards)
        self._bias = self.add_weight("bias", shape=[4 * n_units], initializer=Zeros())
        if self._use_peepholes:
            self._w_f_diag = self._add("w_f_diag", [n_units])
            self._w_i_diag = self._add("w_i_diag", [n_units])
            self._w_o_diag = self._add("w_o_diag", [n_units])
        if self._num_proj is not None:
            self._proj_kernel = self._add(
                "projection/kernel", [n_units, self._num_proj], self._num_proj_shards
            )
        self.built = True

    def _add(self, name: str, shape: list[int], n_shards: int | None = None) -> Any:
        partitioner = None if n_shards is None else fixed_size_partitioner(n_shards)
        return self.add_weight(
            name, shape=shape, initializer=self._initializer, partitioner=partitioner
        )

    def call(self, inputs: Any, state: Any = None, **kwargs: Any) -> Any:
        check_types(inputs, state)
        cell, output = self._parts_of(state)
        gates = bias_add(matmul(concat([inputs, output], 1), self._kernel), self._bias)
        entered, value, forgotten, shown = split(gates, 4, axis=1)
        forgotten = forgotten + self._forget_bias
        if self._use_peepholes:
            forgotten = forgotten + self._w_f_diag * cell
            entered = entered + self._w_i_diag * cell
        cell = sigmoid(forgotten) * cell + sigmoid(entered) * self._activation(value)
        if self._cell_clip is not None:
            cell = clip_by_value(cell, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            shown = shown + self._w_o_diag * cell
        output = self._projected(sigmoid(shown) * self._activation(cell))
        if self._state_is_tuple:
            return output, LSTMStateTuple(cell, output)
        return output, concat([cell, output], 1)

    def _parts_of(self, state: Any) -> Any:
        if self._state_is_tuple:
            return state
        cell = slice_of(state, [0, 0], [-1, self._num_units])
        return cell, slice_of(state, [0, self._num_units], [-1, self.output_size])

    def _projected(self, output: Any) -> Any:
        if self._num_proj is None:
            return output
        output = matmul(output, self._proj_kernel)
        if self._proj_clip is None:
            return output
        return clip_by_value(output, -self._proj_clip, self._proj_clip)
