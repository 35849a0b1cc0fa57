"""``tf.layers.Layer``: variables in a variable scope, and a function of tensors.

A layer takes its scope when it is first called: a name given to it, or its class's name with a
number. `build` creates the variables, once the shape of the input is known; `call` computes.
With `reuse`, or the same name in a scope that reuses, two layers share variables.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import DType, as_dtype, float32
from berth.errors import explain
from berth.front.graph_scope import (
    add_to_collections,
    convert_to_tensor,
    name_scope,
)
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.graph.nest import flatten
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor
from berth.public import public_v1
from berth.variables.scope import get_variable, variable_scope
from berth.variables.store import VariableScope


@public_v1("layers.InputSpec")
class InputSpec:
    """What a layer demands of its input: its rank, and sizes of some axes."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype)
        self.shape = None if shape is None else TensorShape(shape)
        self.ndim = self.shape.rank if self.shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = dict(axes or {})

    def check(self, tensor: Any, layer: str) -> None:
        """Raise ValueError if a tensor is not as demanded. An unknown rank may be."""
        rank = tensor.shape.rank
        if rank is None:
            return
        bounds = (
            ("", self.ndim, rank != self.ndim),
            ("max_", self.max_ndim, rank > (self.max_ndim or 0)),
            ("min_", self.min_ndim, rank < (self.min_ndim or 0)),
        )
        for kind, bound, is_broken in bounds:
            if bound is not None and is_broken:
                raise ValueError(
                    f'Input 0 of layer "{layer}" is incompatible with the layer: expected '
                    f"{kind}ndim={bound}, found ndim={rank}. Full shape received: "
                    f"{tensor.shape}"
                )
        sizes = tensor.shape.as_list()
        for axis, size in self.axes.items():
            if sizes[axis] not in (size, None):
                raise ValueError(
                    f'Input 0 of layer "{layer}" is incompatible with the layer: expected axis '
                    f"{axis} of input shape to have value {size}, but received input with "
                    f"shape {tensor.shape}"
                )


@public_v1("layers.Layer")
class Layer:
    """The base of layers: subclasses create variables in `build` and compute in `call`."""

    input_spec: InputSpec | None = None

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        self._scope: VariableScope | None = None
        self._wanted_scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self.activity_regularizer = kwargs.pop("activity_regularizer", None)
        for ignored in ("input_shape", "batch_size", "weights"):
            kwargs.pop(ignored, None)
        if kwargs:
            raise TypeError("Keyword argument not understood:", next(iter(kwargs)))
        self.trainable = trainable
        self.built = False
        self._given_name = name
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._graph: Graph | None = None
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []

    # --- for subclasses ---------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """Compute the layer's output."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the output for one of the input."""
        raise NotImplementedError

    def add_weight(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
    ) -> Any:
        """Get or create a variable in the layer's scope."""
        is_trainable = self.trainable if trainable is None else self.trainable and trainable
        options = {"synchronization": synchronization, "aggregation": aggregation}
        variable = get_variable(
            name,
            shape=shape,
            dtype=dtype or self.dtype,
            initializer=initializer,
            trainable=is_trainable,
            constraint=constraint,
            use_resource=use_resource,
            partitioner=partitioner,
            **{key: value for key, value in options.items() if value is not None},
        )
        is_new = variable not in self.variables
        if regularizer is not None and not self._is_reused(variable):
            self._add_regularization(name, variable, regularizer)
        if is_new:
            trained = self._trainable_weights if is_trainable else self._non_trainable_weights
            trained.append(variable)
        return variable

    add_variable = add_weight

    def _is_reused(self, variable: Any) -> bool:
        """Tell whether another layer made the variable, and added its regularization."""
        scope = self._scope
        return bool(scope is not None and scope.reuse is True)

    def _add_regularization(self, name: str, variable: Any, regularizer: Any) -> None:
        with name_scope(f"{name}/Regularizer"):
            loss = regularizer(variable)
        if loss is not None:
            self.add_loss(loss)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses, which `tf.losses.get_regularization_losses` returns."""
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            self._losses.append(loss)
            add_to_collections([GraphKeys.REGULARIZATION_LOSSES], loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations to be run with each training step: ``GraphKeys.UPDATE_OPS``."""
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            operation = getattr(update, "op", update)
            self._updates.append(operation)
            add_to_collections([GraphKeys.UPDATE_OPS], operation)

    # --- for users ----------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Create the variables at the first call, and compute the output."""
        tensors = flatten(inputs)
        self._set_scope(kwargs.pop("scope", None))
        scope = self._scope
        assert scope is not None
        with (
            variable_scope(
                scope, reuse=self.built or self._reuse or None, auxiliary_name_scope=False
            ),
            name_scope(scope.original_name_scope),
        ):
            if self.input_spec is None or not self.built:
                inputs = self._converted(inputs)
                tensors = flatten(inputs)
            if self.input_spec is not None:
                self.input_spec.check(tensors[0], self.name)
            if not self.built:
                self._dtype = self._dtype or tensors[0].dtype.base_dtype
                self.build(_shape_of(inputs))
                self.built = True
            outputs = self.call(inputs, *args, **kwargs)
            if self.activity_regularizer is not None:
                with name_scope("ActivityRegularizer"):
                    self.add_loss(self.activity_regularizer(outputs))
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer."""
        return self(inputs, *args, **kwargs)

    @staticmethod
    def _converted(inputs: Any) -> Any:
        if isinstance(inputs, list | tuple | dict):
            return inputs
        return convert_to_tensor(inputs)

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        self._graph = get_default_graph()
        wanted = scope if scope is not None else self._wanted_scope
        if wanted is None:
            wanted = self._given_name
        if self._reuse and wanted is None:
            wanted = self._base_name
        with variable_scope(wanted, default_name=self._base_name) as captured:
            self._scope = captured

    @property
    def _base_name(self) -> str:
        return self._given_name or snake_case(type(self).__name__)

    @property
    def name(self) -> str:
        """The layer's name, which its variables have as a prefix."""
        if self._scope is None:
            return self._base_name
        return self._scope.name.rpartition("/")[2]

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope."""
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self.name}" has not '
                "been used yet. The scope name  is determined the first time the layer "
                "instance is called. You must therefore call the layer before querying "
                "`scope_name`."
            )
        return self._scope.name

    @property
    def dtype(self) -> DType:
        return self._dtype or float32

    @property
    def graph(self) -> Graph | None:
        """The graph of the layer's variables."""
        return self._graph

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        if self.trainable:
            return list(self._non_trainable_weights)
        return [*self._trainable_weights, *self._non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    @property
    def losses(self) -> list[Any]:
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        return list(self._updates) if self.trainable else []

    def count_params(self) -> int:
        """Count the elements of all variables."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer {self.name}, but the layer isn't "
                "built. You can build it manually via: `layer.build(batch_input_shape)`."
            )
        return sum(int(variable.shape.num_elements() or 0) for variable in self.weights)


def _shape_of(inputs: Any) -> Any:
    if isinstance(inputs, list | tuple):
        return [tensor.shape for tensor in inputs]
    if isinstance(inputs, dict):
        return {key: tensor.shape for key, tensor in inputs.items()}
    return inputs.shape


def snake_case(name: str) -> str:
    """Return a class's name as the name of a scope.

    >>> snake_case("Conv2DTranspose"), snake_case("MaxPooling1D")
    ('conv2d_transpose', 'max_pooling1d')
    """
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return re.sub(r"_?([123])_?d", r"\1d", words)


def functional(
    layer: Callable[..., Layer], name: str, of_call: Sequence[str] = (), doc: str = ""
) -> Callable[..., Tensor]:
    """Make the function of a layer: the layer's arguments, with the input first.

    Arguments named in `of_call` belong to the call; `reuse` shares the variables of a name.
    """
    own = [
        parameter
        for parameter in inspect.signature(layer).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    added = [inspect.Parameter(each, keyword, default=False) for each in of_call]
    at = next((i for i, p in enumerate(own) if p.name in ("trainable", "name")), len(own))
    reuse = [inspect.Parameter("reuse", keyword, default=None)]
    first = inspect.Parameter("inputs", keyword)
    signature = inspect.Signature([first, *own[:at], *added, *own[at:], *reuse])

    def function(*args: Any, **kwargs: Any) -> Tensor:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        inputs = given.pop("inputs")
        of_this_call = {each: given.pop(each) for each in of_call if each in given}
        shared = given.pop("reuse", None)
        made = layer(**given, _reuse=shared, _scope=given.get("name"))
        result: Tensor = made(inputs, **of_this_call)
        return result

    function.__name__ = function.__qualname__ = name
    function.__module__ = layer.__module__
    function.__doc__ = doc or f"{layer.__doc__}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def check_choice(argument: str, value: Any, choices: Sequence[str]) -> str:
    """Return a choice in lower case; ValueError if it is none."""
    chosen = str(value).lower()
    if chosen not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        message = f"The `{argument}` argument must be one of {listed}. Received: {value}"
        raise ValueError(explain(message))
    return chosen


def sizes_of(argument: str, value: Any, n: int) -> tuple[int, ...]:
    """Return as many positive sizes as there are axes; one integer is for all of them."""
    message = f"The `{argument}` argument must be a tuple of {n} integers. Received: {value}"
    if isinstance(value, int):
        return (value,) * n
    try:
        sizes = tuple(int(size) for size in value)
    except TypeError:
        raise ValueError(message) from None
    if len(sizes) != n:
        raise ValueError(message)
    return sizes
