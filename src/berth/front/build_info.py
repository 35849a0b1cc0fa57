"""How TensorFlow was built: what ``tf.test.is_built_with_cuda`` and the like answer.

berth stands for TensorFlow's package with GPU support, whether or not there are GPUs: its
devices are NVIDIA's. It has no XLA, ROCm or TensorRT.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from berth.public import public

_GPU_PACKAGE: dict[str, Any] = {
    "cuda_compute_capabilities": ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"],
    "cuda_version": "12.5.1",
    "cudnn_version": "9",
    "is_cuda_build": True,
    "is_rocm_build": False,
    "is_tensorrt_build": False,
}
"""What TensorFlow 2's package for GPUs says of itself."""


@public("sysconfig.get_build_info")
def get_build_info() -> OrderedDict[str, Any]:
    """Return what TensorFlow's GPU package of the same version was built with.

    berth uses no CUDA: programs that print or compare these versions find TensorFlow's.
    """
    return OrderedDict(_GPU_PACKAGE)


@public("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Tell whether NVIDIA's GPUs are supported: True, whether or not there are any."""
    return bool(_GPU_PACKAGE["is_cuda_build"])


@public("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Tell whether GPUs are supported: True, whether or not there are any."""
    return is_built_with_cuda() or is_built_with_rocm()


@public("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Tell whether AMD's GPUs are supported: False."""
    return bool(_GPU_PACKAGE["is_rocm_build"])


@public("test.is_built_with_xla")
def is_built_with_xla() -> bool:
    """Tell whether there is XLA: False, berth has its own plans."""
    return False
