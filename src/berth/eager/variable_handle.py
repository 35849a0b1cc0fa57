"""Handles of eager variables: their memory and type.

Reading gives a tensor over the variable's own bytes. While such a tensor exists, a write moves
the variable to other bytes first (copy on write), and the tensor keeps its value. So reading
copies nothing, and writing copies only what is still read.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from berth.callsite import mark_caller
from berth.devices.device import Device
from berth.dtypes import resource
from berth.eager.tensor import EagerTensor
from berth.errors import FailedPreconditionError
from berth.finalizers import WeakSet
from berth.front.context import context
from berth.memory.buffer import Holder
from berth.ops.shape import Dims, TensorShape
from berth.ops.state import variables as state
from berth.run.launch import new_array


class _Lease:
    """Held by every tensor over a variable's bytes."""

    __slots__ = ("__weakref__",)


class Handle:
    """A variable as the input of an operation: its memory and type.

    It is to a function what a `VariableSlot` is to a session.
    """

    __slots__ = (
        "__weakref__",
        "_lease",
        "array",
        "attrs",
        "declared",
        "is_initialized",
        "lock",
        "name",
        "place",
        "trainable",
        "variable",
        "where",
    )
    dtype = resource
    dims: Dims = ()
    definition = state.HANDLE
    type = state.HANDLE.name
    inputs: tuple[Any, ...] = ()

    def __init__(
        self, name: str, first: EagerTensor, shape: TensorShape, *, trainable: bool
    ) -> None:
        self.name = name
        self.where = mark_caller()
        self.attrs: dict[str, Any] = {"dtype": first.dtype, "shape": shape}
        self.declared = (first.dtype, shape.dims_or_none)
        self.trainable = trainable
        self._lease: weakref.ref[_Lease] | None = None
        self.lock = threading.RLock()
        """Held while the variable is written, and by functions that read it while they run."""
        self.variable: Callable[[], Any] = lambda: None
        """Gives the variable that it stands for."""
        self.place: Device = first.place
        self.array = self._copy_of(first.array)
        self.is_initialized = True
        _handles.add(self)

    @property
    def op(self) -> Handle:
        """What made it: nothing but itself."""
        return self

    @property
    def device(self) -> str:
        """The name of the device that it is on."""
        return self.place.name

    @property
    def handle(self) -> Handle:
        return self

    def read(self) -> EagerTensor:
        """Return the value, as a tensor over the variable's bytes."""
        if not self.is_initialized:
            raise FailedPreconditionError(
                None, None, f"Could not find variable {self.name}. It has no value."
            )
        with self.lock:
            lease = self._lease and self._lease()
            if lease is None:
                lease = _Lease()
                self._lease = weakref.ref(lease)
            return EagerTensor(self.array, self.place, self.attrs["dtype"], shares=lease)

    def prepare_write(self, dims: Any = None) -> None:
        """Move to other bytes if tensors share these; `dims`: all will be written."""
        is_seen = self._lease is not None and self._lease() is not None
        is_whole = dims is not None
        if not is_seen and (not is_whole or dims == self.array.shape):
            return
        self._lease = None
        if is_whole:
            self.array = self._new_array(dims)
        else:
            self.array = self._copy_of(self.array)

    def _copy_of(self, array: Any) -> Any:
        copy = self._new_array(array.shape)
        copyto = self.place.hardware.backend.xp.copyto
        self.place.stream.launch(lambda: copyto(copy, array))
        return copy

    def _new_array(self, dims: Any) -> Any:
        devices = context().opened()
        return new_array(self.place, dims, self.attrs["dtype"], self._holder, devices)

    def _holder(self) -> Holder:
        return Holder(self.name, self.type, self.where)


_handles: WeakSet[Handle] = WeakSet()


def _after_fork_in_child() -> None:
    for handle in list(_handles):
        handle.lock = threading.RLock()  # a thread that the child does not have may hold it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
