"""`tf.train.Optimizer`, the class of which all optimizers are subclasses.

A subclass says how one variable is updated: `_apply_dense` and `_apply_sparse` for
reference variables, `_resource_apply_dense` and `_resource_apply_sparse` for resource
variables, `_create_slots` for what it keeps, `_prepare` for its numbers as tensors, and
`_finish` for what comes after all updates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from berth.autodiff.backprop import gradients
from berth.autodiff.tape import GradientTape
from berth.dtypes import DType, float16, float32, float64
from berth.eager.mode import executing_eagerly
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.graph.nest import flatten
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.unique import unique
from berth.ops.builder import current
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.flow.control import group
from berth.ops.flow.control import tuple as wait_for_all
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.public import public_v1
from berth.train.optimizers.slot_store import SlotStore
from berth.train.optimizers.targets import target_of
from berth.train.slots import colocated_with, is_graph_variable, lifted
from berth.variables.collections import trainable_variables


@public_v1("train.Optimizer")
class Optimizer(SlotStore):
    """Base class of optimizers: computes gradients, and applies them to variables.

    >>> import berth.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     w = tf.Variable(3.0, name="w")
    ...     train_op = tf.train.GradientDescentOptimizer(0.1).minimize(w * w)
    ...     with tf.Session() as sess:
    ...         sess.run(tf.global_variables_initializer())
    ...         sess.run(train_op)
    ...         print(f"{sess.run(w):.1f}")
    2.4
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    # --- the three steps ------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Minimize a loss: compute its gradients, and apply them."""
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in grads_and_vars]} "
                f"and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Compute the gradients of a loss: a list of pairs (gradient, variable).

        The variables are by default the trainable ones of the graph. A gradient is None where
        the loss does not depend on the variable.
        """
        if callable(loss):
            return _gradients_of_function(loss, var_list, grad_loss)
        if executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled."
            )
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        variables = _trained(var_list)
        grads = gradients(
            loss,
            [target.source for target in map(target_of, variables)],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = wait_for_all(grads)
        pairs = list(zip(grads, variables, strict=True))
        self._assert_valid_dtypes([variable for grad, variable in pairs if grad is not None])
        return pairs

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Apply gradients to variables; return the operation that does all of it.

        A `global_step` is incremented afterwards.
        """
        pairs = [(_as_gradient(grad), variable) for grad, variable in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        given = [(grad, target_of(variable)) for grad, variable in pairs if grad is not None]
        if not given:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        with lifted():
            self._create_slots([target.variable for _, target in given])
        with scope(self._name, name) as inner:
            self._prepare()
            updates = []
            for grad, target in given:
                variable = target.variable
                builder: Any = current()
                in_graph = is_graph_variable(variable)
                label = f"update_{variable.op.name}" if in_graph else "update_"
                with builder.name_scope(label), colocated_with(variable):
                    updates.append(target.update(self, grad))
            if global_step is None:
                done = self._finish(updates, inner)
            else:
                done = self._finish_and_count(updates, global_step, inner)
            return _as_train_op(done)

    def _finish_and_count(self, updates: list[Any], global_step: Any, name: str) -> Any:
        finished = self._finish(updates, "update")
        builder: Any = current()
        waits = [] if finished is None else [finished]
        with builder.control_dependencies(waits), colocated_with(global_step):
            return global_step.assign_add(1, name=name, read_value=False)

    # --- checks ---------------------------------------------------------------------------

    def _valid_dtypes(self) -> Iterable[DType]:
        """Return the types that the loss, variables and gradients may have."""
        return float32, float64, float16

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {list(valid)}."
                )

    # --- for subclasses to implement ------------------------------------------------------

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Create the slots of some variables: by default none."""

    def _prepare(self) -> None:
        """Make tensors of the optimizer's numbers, in its name scope: by default none."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Update a reference variable by a gradient of all of it."""
        raise NotImplementedError()

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Update a resource variable by a gradient of all of it."""
        raise NotImplementedError()

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        """Update some rows of a reference variable; each row is there once."""
        raise NotImplementedError()

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Update some rows of a resource variable; each row is there once."""
        raise NotImplementedError()

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        """Update some rows of a reference variable; by default equal rows are summed first."""
        values, indices = _summed(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any
    ) -> Any:
        """Update some rows of a resource variable; by default equal rows are summed first."""
        values, indices = _summed(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """Return the operation that waits for all updates."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param


def _trained(var_list: Any) -> list[Any]:
    if var_list is None:
        graph = get_default_graph()
        more = graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        variables = [*trainable_variables(), *more]
    else:
        variables = list(flatten(var_list))
    if not variables:
        raise ValueError("No variables to optimize.")
    return variables


def _gradients_of_function(loss: Any, var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
    with GradientTape() as tape:
        if var_list is not None:
            tape.watch(var_list)
        value = loss()
    variables = list(tape.watched_variables() if var_list is None else flatten(var_list))
    return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))


def _as_gradient(grad: Any) -> Any:
    if grad is None or isinstance(grad, IndexedSlices) or is_tensor(grad):
        return grad
    try:
        return convert(grad)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from None


def _summed(values: Any, indices: Any) -> tuple[Any, Any]:
    """Sum the rows of equal indices."""
    found, positions = unique(indices)
    return unsorted_segment_sum(values, positions, shape(found)[0]), found


def _as_train_op(done: Any) -> Any:
    """Return the operation of a training step, and put it among the graph's."""
    if executing_eagerly():
        return None
    op = done.op if isinstance(done, SymbolicTensor) else done
    known = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
    if op not in known:
        known.append(op)
    return op
