"""``tf.nn.rnn_cell``: RNNCell, and the basic and gated recurrent cells.

A cell is a layer of two arguments: ``output, new_state = cell(input, state)``.
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import as_dtype
from berth.graph.nest import flatten, map_structure
from berth.layers.base import InputSpec, Layer
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.joining import concat, split
from berth.ops.arrays.stacking import pack
from berth.ops.compose import is_integer, is_tensor, scope
from berth.ops.elementwise.sigmoid import relu, sigmoid, tanh
from berth.ops.linalg.matmul import matmul
from berth.ops.nn.activations import elu, selu
from berth.ops.nn.bias import bias_add
from berth.ops.nn.softplus import softplus
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.initializers_v1 import Constant, Zeros
from berth.variables.scope import variable_scope
from berth.variables.store import get_variable_scope

_BY_NAME = {
    "elu": elu,
    "linear": lambda x: x,
    "relu": relu,
    "selu": selu,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "tanh": tanh,
}


def activation_of(given: Any) -> Any:
    """Return an activation function by its name; functions as they are, tanh for None."""
    if not given:
        return tanh
    if not isinstance(given, str):
        return given
    if given not in _BY_NAME:
        raise ValueError(f"Unknown activation function: {given}")
    return _BY_NAME[given]


def check_type(dtype: Any) -> None:
    """Raise ValueError unless a type is one that cells compute with."""
    if dtype is not None and not (as_dtype(dtype).is_floating or as_dtype(dtype).is_complex):
        raise ValueError(
            f"RNN cell only supports floating point inputs, but received dtype: {dtype!r}"
        )


def check_types(*inputs: Any) -> None:
    """Raise ValueError unless inputs and state are of types that cells compute with."""
    for tensor in flatten(inputs):
        check_type(tensor.dtype.base_dtype)


@public_v1("nn.rnn_cell.RNNCell", "contrib.rnn.RNNCell")
class RNNCell(Layer):
    """The base of recurrent cells: `call` maps input and state to output and new state."""

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None) -> Any:
        """Compute the output and the new state; `scope` is that of the variables."""
        if scope is not None:
            with variable_scope(scope, custom_getter=self._keep_variable) as inner:
                return super().__call__(inputs, state, scope=inner)
        with variable_scope(get_variable_scope(), custom_getter=self._keep_variable):
            return super().__call__(inputs, state)

    def _keep_variable(self, getter: Any, *arguments: Any, **options: Any) -> Any:
        """Get a variable, and remember it as one of the cell's."""
        variable = getter(*arguments, **options)
        weights = self._trainable_weights if variable.trainable else self._non_trainable_weights
        if all(variable is not known for known in weights):
            weights.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The size of the state, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output, or its shape without the batch."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return a state of zeros, for the batch of an input or one of a size."""
        if inputs is not None:
            sizes = inputs.shape.as_list()
            batch_size, dtype = sizes[0], inputs.dtype.base_dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros."""
        with scope(f"{type(self).__name__}ZeroState"):
            return map_structure(
                lambda size: zeros_of(batch_size, size, dtype), self.state_size
            )


def zeros_of(batch_size: Any, size: Any, dtype: Any) -> Any:
    """Return zeros for a batch; sizes may be numbers, shapes or a tensor."""
    suffix = [size] if is_integer(size) else TensorShape(size).as_list()
    if not is_tensor(batch_size):
        return zeros([int(batch_size), *suffix], dtype)
    result: Any = zeros(pack([batch_size, *suffix]), dtype)
    result.set_shape([None, *suffix])
    return result


class LayerRNNCell(RNNCell):
    """The base of cells whose variables are those that `build` adds."""

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None) -> Any:
        """Compute the output and the new state; `scope` is that of the variables."""
        return Layer.__call__(self, inputs, state, scope=scope)

    def _set_options(self, num_units: int, activation: Any) -> None:
        check_type(self._dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_of(activation)

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    @staticmethod
    def _depth_of(input_shape: Any) -> int:
        shape = TensorShape(input_shape)
        depth = shape.as_list()[-1]
        if depth is None:
            sizes = tuple(shape.as_list())
            raise ValueError(f"Expected inputs.shape[-1] to be known, received shape: {sizes}")
        return depth


@public_v1("nn.rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(LayerRNNCell):
    """The most basic recurrent cell: the output is the new state."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._set_options(num_units, activation)

    def build(self, input_shape: Any) -> None:
        depth, n_units = self._depth_of(input_shape), self._num_units
        self._kernel = self.add_weight("kernel", shape=[depth + n_units, n_units])
        self._bias = self.add_weight("bias", shape=[n_units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any = None, **kwargs: Any) -> Any:
        check_types(inputs, state)
        gates = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gates)
        return output, output


@public_v1("nn.rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(LayerRNNCell):
    """Gated recurrent unit, with a reset and an update gate."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._set_options(num_units, activation)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, input_shape: Any) -> None:
        depth, n_units = self._depth_of(input_shape) + self._num_units, self._num_units
        self._gate_kernel = self._add_kernel("gates/kernel", [depth, 2 * n_units])
        self._gate_bias = self._add_bias("gates/bias", 2 * n_units, Constant(1.0))
        self._candidate_kernel = self._add_kernel("candidate/kernel", [depth, n_units])
        self._candidate_bias = self._add_bias("candidate/bias", n_units, Zeros())
        self.built = True

    def _add_kernel(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(name, shape=shape, initializer=self._kernel_initializer)

    def _add_bias(self, name: str, size: int, default: Any) -> Any:
        initializer = default if self._bias_initializer is None else self._bias_initializer
        return self.add_weight(name, shape=[size], initializer=initializer)

    def call(self, inputs: Any, state: Any = None, **kwargs: Any) -> Any:
        check_types(inputs, state)
        gates = matmul(concat([inputs, state], 1), self._gate_kernel)
        gates = sigmoid(bias_add(gates, self._gate_bias))
        reset, update = split(gates, 2, axis=1)
        candidate = matmul(concat([inputs, reset * state], 1), self._candidate_kernel)
        candidate = self._activation(bias_add(candidate, self._candidate_bias))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state
