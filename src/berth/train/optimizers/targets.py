"""What an optimizer updates: a reference or a resource variable. Tensors raise an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from berth.dtypes import resource
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.builder import current
from berth.ops.compose import is_tensor
from berth.train.slots import is_reference

if TYPE_CHECKING:
    from berth.train.optimizers.optimizer import Optimizer


class ReferenceTarget:
    """A reference variable."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    @property
    def source(self) -> Any:
        """What the loss is differentiated by."""
        return self.variable

    def update(self, optimizer: Optimizer, grad: Any) -> Any:
        """Add the update of the variable by a gradient; hold it to its constraint."""
        if isinstance(grad, IndexedSlices):
            self._check_unconstrained()
            return self._sparse(optimizer, grad)
        update = self._dense(optimizer, grad)
        constraint = self.variable.constraint
        if constraint is None:
            return update
        builder: Any = current()
        with builder.control_dependencies([] if update is None else [update]):
            # A reference variable has another value now than at the start of the run.
            is_new = is_reference(self.variable)
            value = self.variable.read_value() if is_new else self.variable
            return self.variable.assign(constraint(value))

    def _check_unconstrained(self) -> None:
        if self.variable.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")

    def _dense(self, optimizer: Any, grad: Any) -> Any:
        return optimizer._apply_dense(grad, self.variable)

    def _sparse(self, optimizer: Any, grad: IndexedSlices) -> Any:
        return optimizer._apply_sparse_duplicate_indices(grad, self.variable)


class ResourceTarget(ReferenceTarget):
    """A resource variable of a graph, or a variable of an eager program."""

    def _dense(self, optimizer: Any, grad: Any) -> Any:
        return optimizer._resource_apply_dense(grad, self.variable)

    def _sparse(self, optimizer: Any, grad: IndexedSlices) -> Any:
        return optimizer._resource_apply_sparse_duplicate_indices(
            grad.values, self.variable, grad.indices
        )


class TensorTarget(ReferenceTarget):
    """A tensor: it has gradients, and cannot be updated."""

    def update(self, optimizer: Optimizer, grad: Any) -> NoReturn:
        """Raise NotImplementedError: a tensor cannot be updated."""
        raise NotImplementedError("Trying to update a Tensor ", self.variable)


def target_of(variable: Any) -> ReferenceTarget:
    """Return the way to update a variable."""
    handle = getattr(variable, "handle", None)
    if handle is not None:
        return (ResourceTarget if handle.dtype is resource else ReferenceTarget)(variable)
    if isinstance(variable, SymbolicTensor) or is_tensor(variable):
        return TensorTarget(variable)
    if not hasattr(variable, "op"):
        raise AttributeError(f"{type(variable).__name__!r} object has no attribute 'op'")
    raise NotImplementedError("Trying to optimize unsupported type ", variable)
