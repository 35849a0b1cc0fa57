"""Memory limits: each rule of §4.1, and TF_FORCE_GPU_ALLOW_GROWTH (§4.5)."""

from __future__ import annotations

from logging import ERROR, NOTSET, WARNING

import pytest

import berth.compat.v1 as tf
from berth.front.context import context
from berth.memory.limits import (
    configured_limit,
    default_limit,
    environment_limit,
    forced_growth,
    fraction_limit,
    split_limit,
    system_reserve_limit,
)

MiB, GiB = 2**20, 2**30


@pytest.mark.parametrize(
    ("free", "capability", "reserve"),
    [
        (2 * GiB - 1, (9, 0), 225 * MiB),
        (2 * GiB, (3, 5), 500 * MiB),
        (16 * GiB, (6, 0), 500 * MiB),
        (16 * GiB, (7, 5), 1050 * MiB),
        (40 * GiB, (8, 0), 1536 * MiB),
        (80 * GiB, (9, 0), 1800 * MiB),
        (32 * GiB, (12, 0), 1800 * MiB),
        (225 * MiB, (3, 5), 0),
        (100 * MiB, (3, 5), 0),
    ],
)
def test_default_leaves_a_reserve(free, capability, reserve):
    assert default_limit(free, capability).nbytes == free - reserve


@pytest.mark.parametrize(
    ("total", "fraction", "expected"),
    [(1000, 0.4, 400), (12 * GiB, 0.7, 9019431321), (1000, 1.5, 1500)],
)
def test_fraction_is_of_the_total(total, fraction, expected):
    assert fraction_limit(total, fraction).nbytes == expected


def test_system_may_be_left_all_that_is_free():
    assert system_reserve_limit(904 * MiB, 903).nbytes == MiB
    assert system_reserve_limit(904 * MiB, 904).nbytes == 0
    assert system_reserve_limit(904 * MiB, 905) is None


def test_configured_limit_drops_part_of_a_megabyte():
    assert configured_limit(1024).nbytes == 1024 * MiB
    assert configured_limit(1.9).nbytes == MiB


def test_split_shares_evenly():
    assert split_limit(fraction_limit(1000, 1.0), 3).nbytes == 333


@pytest.mark.parametrize(
    ("requested", "forced", "growth", "level", "message"),
    [
        (False, None, False, NOTSET, ""),
        (True, "true", True, NOTSET, ""),
        (
            False,
            "true",
            True,
            WARNING,
            "Overriding orig_value setting because the TF_FORCE_GPU_ALLOW_GROWTH environment "
            "variable is set. Original config value was 0.",
        ),
        (
            True,
            "false",
            False,
            WARNING,
            "Overriding orig_value setting because the TF_FORCE_GPU_ALLOW_GROWTH environment "
            "variable is set. Original config value was 1.",
        ),
        *(
            (
                False,
                text,
                False,
                ERROR,
                "The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be "
                f'parsed: "{text}". Valid values are "true" or "false". Using original config '
                "value of 0.",
            )
            for text in ("1", "True", "TRUE", "")
        ),
    ],
)
def test_environment_forces_growth(requested, forced, growth, level, message):
    assert forced_growth(requested, forced) == (growth, level, message)


def planned(**gpu_options):
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(**gpu_options))
    from berth.front.options import device_options

    return context().devices.maker.plan(device_options(config))[1:]


def test_devices_carry_their_limits(sim):
    sim("1xT4:1GiB")
    free = GiB - 120 * MiB

    assert planned()[0].limit.nbytes == free - 225 * MiB
    assert planned(per_process_gpu_memory_fraction=0.5)[0].limit.nbytes == GiB // 2
    parts = planned(experimental={"num_virtual_devices_per_gpu": 2})
    assert [gpu.limit.nbytes for gpu in parts] == [(free - 225 * MiB) // 2] * 2


def test_growth_is_the_environment_s(sim, caplog):
    sim("1xT4", TF_FORCE_GPU_ALLOW_GROWTH="true")

    assert planned()[0].growth
    assert "Original config value was 0." in caplog.text


@pytest.mark.parametrize(
    ("option", "variable", "limit_mib", "message"),
    [
        (100, None, 804, ""),
        (0, "200", 704, ""),
        (100, "200", 704, ""),
        (
            2000,
            None,
            679,
            "The requested reserved device memory 1.95GiB is larger than the available memory "
            "of 904.00MiB. The request is ignored.",
        ),
        (
            0,
            "-3",
            679,
            "The requested reserved device memory -3 is invalid. The request will be ignored.",
        ),
    ],
)
def test_system_memory_may_be_set(sim, caplog, option, variable, limit_mib, message):
    """§4.1: the variable wins over the option, and both over a fraction."""
    environ = {} if variable is None else {"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": variable}
    sim("1xT4:1GiB", **environ)
    [gpu] = planned(experimental={"gpu_system_memory_size_in_mb": option})

    assert gpu.limit.nbytes == limit_mib * MiB
    assert caplog.messages == ([message] if message else [])


def test_old_gpus_cannot_be_oversubscribed(sim):
    """§4.1: a fraction above 1 needs unified memory."""
    sim("1xK20m")
    with pytest.raises(tf.errors.InternalError) as raised:
        planned(per_process_gpu_memory_fraction=1.5)
    assert str(raised.value) == (
        "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) "
        "does not support oversubscription."
    )
    sim("1xT4")
    assert planned(per_process_gpu_memory_fraction=1.5)[0].limit.nbytes == 15095 * MiB * 3 // 2


@pytest.mark.parametrize("setting", ["false", "true", "maybe"])
def test_collection_of_regions_can_be_switched_off(sim, caplog, setting):
    """§4.5."""
    sim("1xT4", TF_ENABLE_GPU_GARBAGE_COLLECTION=setting)
    assert planned()[0].arena.options.collect_regions == (setting != "false")
    assert bool(caplog.messages) == (setting == "maybe")


@pytest.mark.parametrize(
    ("setting", "first_region"), [(None, 2), ("unparseable", 2), ("true", 2), ("false", 679)]
)
def test_first_region_follows_the_variable(sim, setting, first_region):
    """§5.12: growth was asked for, and the variable has the last word."""
    environ = {} if setting is None else {"TF_FORCE_GPU_ALLOW_GROWTH": setting}
    sim("1xT4:1GiB", **environ)
    assert planned(allow_growth=True)[0].arena.next_region_bytes == first_region * MiB


@pytest.mark.parametrize(("share", "nbytes"), [(0.5, 500), (300, 300), (1.0, 1000), (1, 1)])
def test_environment_gives_bytes_or_a_part(share, nbytes):
    limit = environment_limit(1000, share, "BERTH_MEMORY")
    assert (limit.nbytes, limit.source) == (nbytes, "BERTH_MEMORY")
