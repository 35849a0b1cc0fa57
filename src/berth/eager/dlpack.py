"""DLPack: tensors to and from other libraries, without a copy where possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.ops.arrays.array import constant
from berth.public import public_v2


class _Sender:
    """A capsule, as the object that `numpy.from_dlpack` takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU: where simulated GPUs keep their memory, too


@public_v2("experimental.dlpack.to_dlpack")
def to_dlpack(tf_tensor: Any) -> Any:
    """Return a tensor as a capsule that another library can take over, once.

    >>> np.from_dlpack(_Sender(to_dlpack(constant([1.0, 2.0])))).tolist()
    [1.0, 2.0]
    """
    return tf_tensor.__dlpack__()


@public_v2("experimental.dlpack.from_dlpack")
def from_dlpack(dlcapsule: Any) -> Any:
    """Return a tensor of what another library gives: a capsule, or anything that makes one.

    >>> from_dlpack(np.arange(3)).numpy().tolist()
    [0, 1, 2]
    """
    sender = dlcapsule if hasattr(dlcapsule, "__dlpack__") else _Sender(dlcapsule)
    return constant(np.from_dlpack(sender))
