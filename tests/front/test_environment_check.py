"""Environment variables that look like others are noticed."""

from __future__ import annotations

import warnings

import pytest

from berth.errors import BerthWarning

NOTICED = {
    "no S": (
        {"CUDA_VISIBLE_DEVICE": "1"},
        "CUDA_VISIBLE_DEVICE is set, and means nothing. Did you mean CUDA_VISIBLE_DEVICES?",
    ),
    "lower case": (
        {"cuda_visible_devices": "1"},
        "cuda_visible_devices is set, and means nothing. Did you mean CUDA_VISIBLE_DEVICES?",
    ),
    "of berth": (
        {"BERTH_LOG_PLACEMENTS": "1"},
        "BERTH_LOG_PLACEMENTS is set, and means nothing. Did you mean BERTH_LOG_PLACEMENT?",
    ),
    "growth": (
        {"TF_FORCE_GPU_ALLOW_GROWHT": "true"},
        "TF_FORCE_GPU_ALLOW_GROWHT is set, and means nothing. Did you mean "
        "TF_FORCE_GPU_ALLOW_GROWTH?",
    ),
    "spaces": (
        {"CUDA_VISIBLE_DEVICES": "0 1"},
        "CUDA_VISIBLE_DEVICES='0 1': of '0 1' only 0 counts. Write commas between: 0,1.",
    ),
}


@pytest.mark.parametrize(("environ", "message"), NOTICED.values(), ids=NOTICED)
def test_mistyped_setting_is_noticed(sim, environ, message):
    with pytest.warns(BerthWarning) as caught:
        sim("2xT4", **environ).devices.physical()
    assert [str(each.message) for each in caught] == [message]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "environ",
    [
        {"CUDA_VISIBLE_DEVICES": "0, 1"},
        {"CUDA_VISIBLE_DEVICES": " 1 "},
        {"CUDA_HOME": "/usr", "CUDA_CACHE_PATH": "x", "TF_CPP_MIN_LOG_LEVEL": "2"},
        {"CUDA_VISIBLE_DEVICE": "1", "CUDA_VISIBLE_DEVICES": "0"},
    ],
)
def test_other_settings_are_left_alone(sim, environ):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim("2xT4", **environ).devices.physical()
