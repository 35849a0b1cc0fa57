"""Tensors that have a value: those of eager programs.

A tensor is never changed once it is made, so several may share their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from berth.backends.base import Array
from berth.devices.device import Device
from berth.dtypes import DType, string
from berth.ops.arrays.array import constant
from berth.ops.builder import current
from berth.ops.operators import Tensor, ValueOperators
from berth.ops.shape import Known, TensorShape
from berth.run.launch import to_host


class EagerTensor(ValueOperators, Tensor):
    """An eager tensor: a value on a device."""

    __slots__ = (
        *("__dict__", "__weakref__"),  # a program may set attributes of its own
        *("_host", "array", "assign", "dims", "dtype", "place", "shares"),
    )

    def __init__(
        self,
        array: Array,
        place: Device,
        dtype: DType,
        *,
        host: np.ndarray[Any, Any] | None = None,
        shares: object = None,
    ) -> None:
        self.array = array
        """The bytes, on the device; never written to."""
        # `assign`: of a slice of a variable, and there only, what writes to that slice.
        self.place = place
        self.dtype = dtype
        self.dims: Known = array.shape
        self._host = host
        """The value on the host, if it is known there."""
        self.shares = shares
        """The lease of the variable whose bytes these are: it keeps them from being written."""

    # --- what it is -----------------------------------------------------------------------

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return TensorShape(self.dims)

    def set_shape(self, shape: Any) -> None:
        """Raise ValueError unless the shape is compatible."""
        if not TensorShape(shape).is_compatible_with(self.shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape "
                f"{TensorShape(shape)}."
            )

    @property
    def ndim(self) -> int:
        return len(self.dims)

    @property
    def device(self) -> str:
        """The name of the device that computed it."""
        return self.place.name

    @property
    def backing_device(self) -> str:
        """The name of the device that holds its bytes."""
        return self.place.name

    @property
    def value(self) -> np.ndarray[Any, Any]:
        """The value on the host, not to be written to."""
        if self._host is None:
            host = to_host(self.place, self.array)
            if self.place.is_host:
                return host
            self._host = host
        return self._host

    def numpy(self) -> Any:
        """Return the value as a NumPy array of its own, or a scalar."""
        host = self.value
        return host[()] if host.ndim == 0 else host.copy()

    def ref(self) -> Reference:
        """Return something that can be the key of a dictionary."""
        return Reference(self)

    # --- as other things ------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.value, dtype)

    def __bool__(self) -> bool:
        return bool(self._single("bool"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __float__(self) -> float:
        return float(self._single("float"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def __index__(self) -> int:
        if not self.dtype.is_integer or self.dims:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.value[()])

    def _single(self, kind: str) -> Any:
        if self.value.size == 1:
            return self.value.reshape(-1)[0]
        if kind == "bool":
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use "
                "a.any() or a.all()"
            )
        raise TypeError("only length-1 arrays can be converted to Python scalars")

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("Scalar tensor has no `len()`")
        return self.dims[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[position] for position in range(self.dims[0]))

    def __format__(self, form: str) -> str:
        return format(self.numpy(), form)

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return self  # it never changes

    def __reduce__(self) -> tuple[Any, ...]:
        return constant, (self.numpy(),)

    def __hash__(self) -> NoReturn:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    # --- to other devices -----------------------------------------------------------------

    def cpu(self) -> Any:
        """Return a copy on the CPU."""
        return self._moved("CPU", 0)

    def gpu(self, gpu_index: int = 0) -> Any:
        """Return a copy on a GPU."""
        return self._moved("GPU", gpu_index)

    def _moved(self, kind: str, index: int) -> Any:
        builder: Any = current()
        return builder.copy_to(self, builder.placer.find(kind, index), "Copy")

    def __dlpack__(self, **options: Any) -> Any:
        if self.dtype is string:
            raise TypeError("DLPack does not know strings.")
        return self.array.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.array.__dlpack_device__()
        return device

    # --- to be read -----------------------------------------------------------------------

    def __str__(self) -> str:
        return f"tf.Tensor({self._text()}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        shown = shown_value(self.value)
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={shown}>"

    def _text(self) -> str:
        host = self.value
        text = str(host[()]) if not self.dims else str(host)
        return f"\n{text}" if "\n" in text else text

    # --- what only graphs have ------------------------------------------------------------

    @property
    def op(self) -> NoReturn:
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")

    @property
    def graph(self) -> NoReturn:
        raise AttributeError("Tensor.graph is undefined when eager execution is enabled.")

    @property
    def name(self) -> NoReturn:
        raise AttributeError("Tensor.name is undefined when eager execution is enabled.")

    def consumers(self) -> NoReturn:
        """Fail: an eager tensor has no list of the operations that take it."""
        raise NotImplementedError(
            "Tensor.consumers is undefined when eager execution is enabled."
        )

    def eval(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """Fail: there is no session, and nothing left to compute."""
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're "
            "looking for?"
        )


def shown_value(host: np.ndarray[Any, Any]) -> str:
    """Write a value as TensorFlow's reprs do: of several lines, the first on its own."""
    if not host.ndim:
        item = host[()]
        return repr(item.item() if isinstance(item, np.generic) else item)
    text = repr(host)
    return f"\n{text}" if "\n" in text else text


class HostBackedTensor(EagerTensor):
    """A tensor of strings on a GPU: its device by name, while the host holds the bytes."""

    __slots__ = ("asked",)

    def __init__(self, array: Array, place: Device, dtype: DType, *, asked: Device) -> None:
        super().__init__(array, place, dtype)
        self.asked = asked

    @property
    def device(self) -> str:
        """The name of the device that was asked for."""
        return self.asked.name


class Reference:
    """A tensor as a key: equal only to references to the same tensor."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def deref(self) -> Any:
        """Return the tensor."""
        return self._tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._tensor is self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._tensor!r}>"
