"""Dense, dropout and flatten layers."""

from __future__ import annotations

from math import prod
from typing import Any

from berth.control_flow.cond import cond_v1
from berth.layers.base import InputSpec, Layer, check_choice, functional
from berth.ops.arrays.array import identity, reshape
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.transpose import transpose
from berth.ops.linalg.einsum import tensordot
from berth.ops.linalg.matmul import matmul
from berth.ops.nn.bias import bias_add
from berth.ops.nn.dropout import dropout_v1
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.initializers_v1 import Zeros


@public_v1("layers.Dense")
class Dense(Layer):
    """Densely connected layer: ``activation(inputs @ kernel + bias)``."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 (it has no state)
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.units = int(units)
        if self.units <= 0:
            message = "Received an invalid value for `units`, expected a positive integer."
            raise ValueError(f"{message} Received: units={units}")
        self.activation = activation
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        size = shape.as_list()[-1] if shape.rank else None
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. Found "
                f"None. Full input shape received: {shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            shape=[size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        rank = inputs.shape.rank
        if rank is not None and rank > 2:
            axes: Any = [[rank - 1], [0]]
            outputs: Any = tensordot(inputs, self.kernel, axes)
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        else:
            outputs = matmul(inputs, self.kernel)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape([*TensorShape(input_shape).as_list()[:-1], self.units])


dense = public_v1("layers.dense")(functional(Dense, "dense"))


@public_v1("layers.Dropout")
class Dropout(Layer):
    """Dropout: in training, elements are set to 0 at random, and the others scaled up."""

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Any, training: Any = False, **kwargs: Any) -> Any:
        def dropped() -> Any:
            return dropout_v1(
                inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate
            )

        return training_or_not(training, dropped, lambda: identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(input_shape)


dropout = public_v1("layers.dropout")(functional(Dropout, "dropout", of_call=("training",)))


def training_or_not(training: Any, in_training: Any, otherwise: Any) -> Any:
    """Choose by a bool or number when the graph is built, by a tensor when it is run."""
    if training is None or isinstance(training, bool | int):
        return in_training() if training else otherwise()
    return cond_v1(training, in_training, otherwise)


@public_v1("layers.Flatten")
class Flatten(Layer):
    """Flatten: all axes but the first become one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = check_choice(
            "data_format", data_format or "channels_last", ("channels_first", "channels_last")
        )
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        rank = inputs.shape.rank
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        shape = inputs.shape
        sizes = shape.as_list() if shape.rank is not None else None
        if sizes is not None and all(size is not None for size in sizes[1:]):
            return reshape(inputs, [-1 if sizes[0] is None else sizes[0], prod(sizes[1:])])
        return reshape(inputs, [shape_of(inputs)[0], -1])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        first, *rest = TensorShape(input_shape).as_list()
        return TensorShape([first, None if None in rest else prod(rest)])


@public_v1("layers.flatten")
def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Flatten: all axes but the first become one."""
    return Flatten(data_format, name=name)(inputs)
