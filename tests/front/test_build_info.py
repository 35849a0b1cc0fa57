"""How TensorFlow was built: what programs ask before they use a GPU."""

from __future__ import annotations

import pytest

import berth
import berth.compat.v1 as tf


@pytest.mark.parametrize("api", [berth, tf], ids=["v2", "v1"])
@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_gpus_of_nvidia_are_supported(sim, api, machine):
    sim(machine)
    assert api.test.is_built_with_cuda() is True
    assert api.test.is_built_with_gpu_support() is True
    assert api.test.is_built_with_rocm() is False
    assert api.test.is_built_with_xla() is False


def test_build_info_is_of_a_gpu_package():
    info = berth.sysconfig.get_build_info()
    assert list(info) == sorted(info)
    assert (info["is_cuda_build"], info["is_rocm_build"], info["is_tensorrt_build"]) == (
        1,
        0,
        0,
    )
    assert info["cuda_version"].split(".")[0] == "12"
    info.clear()
    assert berth.sysconfig.get_build_info()
