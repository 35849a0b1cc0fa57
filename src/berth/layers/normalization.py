"""Batch normalization: statistics of the batch in training, moving averages otherwise.

The moving averages are changed by operations in ``GraphKeys.UPDATE_OPS``, which a program runs
with its training step. Inputs of rank 4 that are normalized along their channels take the fused
kernel.
"""

from __future__ import annotations

from typing import Any

from berth.front.device_scope import colocate_with
from berth.front.graph_scope import name_scope
from berth.layers.base import InputSpec, Layer, functional
from berth.layers.core import training_or_not
from berth.ops.arrays.array import constant, reshape
from berth.ops.elementwise.casting import cast
from berth.ops.nn.fused_batch_norm import fused_batch_norm
from berth.ops.nn.normalization import batch_normalization as normalize
from berth.ops.nn.normalization import moments_v1
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.initializers_v1 import Ones, Zeros


@public_v1("layers.BatchNormalization")
class BatchNormalization(Layer):
    """Batch normalization layer: centre and scale each channel by the batch's statistics."""

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros(),  # noqa: B008 (they have no state)
        gamma_initializer: Any = Ones(),  # noqa: B008
        moving_mean_initializer: Any = Zeros(),  # noqa: B008
        moving_variance_initializer: Any = Ones(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size or adjustment:
            raise NotImplementedError(
                "berth's batch normalization has no renorm, virtual_batch_size or adjustment."
            )
        self.axis = list(axis) if isinstance(axis, list | tuple) else [axis]
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.fused = fused
        self._beta = (beta_initializer, beta_regularizer, beta_constraint)
        self._gamma = (gamma_initializer, gamma_regularizer, gamma_constraint)
        self._moving = (moving_mean_initializer, moving_variance_initializer)
        self.beta: Any = None
        self.gamma: Any = None

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        rank = shape.rank
        if not rank:
            raise ValueError(f"Input has undefined rank. Received: input_shape={shape}.")
        axes = [axis + rank if axis < 0 else axis for axis in self.axis]
        if any(not 0 <= axis < rank for axis in axes):
            raise ValueError(
                "Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with "
                f"inputs.rank={rank}). Received: axis={tuple(self.axis)}"
            )
        sizes: list[Any] = shape.as_list()
        if any(sizes[axis] is None for axis in axes):
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape {shape} and "
                f"axis={tuple(self.axis)}"
            )
        self.axis = axes
        self.input_spec = InputSpec(ndim=rank, axes={axis: sizes[axis] for axis in axes})
        self._is_fused = self.fused is not False and rank == 4 and axes in ([1], [3])
        parameters = [sizes[axis] if axis in axes else 1 for axis in range(rank)]
        self._add_variables([sizes[axes[0]]] if len(axes) == 1 else parameters)
        self.built = True

    def _add_variables(self, shape: list[int]) -> None:
        if self.scale:
            self.gamma = self._add_parameter("gamma", shape, *self._gamma)
        if self.center:
            self.beta = self._add_parameter("beta", shape, *self._beta)
        mean, variance = self._moving
        self.moving_mean = self.add_weight(
            "moving_mean", shape=shape, initializer=mean, trainable=False
        )
        self.moving_variance = self.add_weight(
            "moving_variance", shape=shape, initializer=variance, trainable=False
        )

    def _add_parameter(
        self, name: str, shape: list[int], initializer: Any, regularizer: Any, constraint: Any
    ) -> Any:
        return self.add_weight(
            name,
            shape=shape,
            initializer=initializer,
            regularizer=regularizer,
            constraint=constraint,
        )

    def call(self, inputs: Any, training: Any = False, **kwargs: Any) -> Any:
        normalized = self._fused if self._is_fused else self._unfused
        outputs, mean, variance = normalized(inputs, training)
        if not isinstance(training, bool | int) or training:
            self._update(self.moving_mean, mean, training)
            self._update(self.moving_variance, variance, training)
        outputs.set_shape(inputs.shape)
        return outputs

    def _fused(self, inputs: Any, training: Any) -> tuple[Any, Any, Any]:
        data_format = "NHWC" if self.axis == [3] else "NCHW"
        gamma = (
            constant(1.0, shape=self.moving_mean.shape) if self.gamma is None else self.gamma
        )
        beta = constant(0.0, shape=self.moving_mean.shape) if self.beta is None else self.beta

        def from_batch() -> Any:
            return fused_batch_norm(
                inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format
            )

        def from_averages() -> Any:
            return fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=data_format,
            )

        outputs, mean, variance = training_or_not(training, from_batch, from_averages)
        return outputs, mean, variance

    def _unfused(self, inputs: Any, training: Any) -> tuple[Any, Any, Any]:
        rank = inputs.shape.rank
        others = [axis for axis in range(rank) if axis not in self.axis]
        mean, variance = training_or_not(
            training,
            lambda: tuple(moments_v1(inputs, others, keep_dims=len(self.axis) > 1)),
            lambda: (self.moving_mean + 0.0, self.moving_variance + 0.0),
        )
        wide = [1] * rank
        wide[self.axis[0]] = -1

        def spread(vector: Any) -> Any:
            """Return a vector in the shape that is broadcast along its axis."""
            if vector is None or len(self.axis) > 1 or self.axis == [rank - 1]:
                return vector
            return reshape(vector, wide)

        outputs = normalize(
            inputs,
            spread(mean),
            spread(variance),
            spread(self.beta),
            spread(self.gamma),
            self.epsilon,
        )
        return outputs, mean, variance

    def _update(self, variable: Any, value: Any, training: Any) -> None:
        """Move an average towards a value of this batch, if the batch is for training."""
        with name_scope("AssignMovingAvg"), colocate_with(variable):
            decay: Any = 1.0 - self.momentum
            if not isinstance(training, bool | int):
                decay = decay * cast(training, variable.dtype.base_dtype)
            self.add_update(variable.assign_sub((variable - value) * decay))


batch_normalization = public_v1("layers.batch_normalization")(
    functional(BatchNormalization, "batch_normalization", of_call=("training",))
)
