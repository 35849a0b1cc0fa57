"""Section 2.3: the switches of tf.config, a ConfigProto's settings, deprecated functions."""

from __future__ import annotations

import pytest

import berth as tf
from berth.compat import v1
from tests.parity.config_devices import CPU, GPU, PART
from tests.parity.programs import first_line, run

config = tf.config
experimental = tf.config.experimental
threading = tf.config.threading


# --- 2.3 The switches ---

SWITCHES = {
    "soft placement": (
        config.set_soft_device_placement,
        config.get_soft_device_placement,
        True,
    ),
    "log placement": (
        tf.debugging.set_log_device_placement,
        tf.debugging.get_log_device_placement,
        False,
    ),
}


@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("write", "read", "default"), SWITCHES.values(), ids=SWITCHES)
def test_switch_may_always_change(write, read, default, initialised):
    """Section 2.3: eager defaults; changed at any time."""
    if initialised:
        config.list_logical_devices()
    assert read() is default
    write(not default)
    assert read() is not default
    write(default)
    assert read() is default


THREADS = {
    "Intra": (
        threading.set_intra_op_parallelism_threads,
        threading.get_intra_op_parallelism_threads,
    ),
    "Inter": (
        threading.set_inter_op_parallelism_threads,
        threading.get_inter_op_parallelism_threads,
    ),
}


@pytest.mark.parametrize(("write", "read"), THREADS.values(), ids=THREADS)
def test_thread_numbers_are_kept(write, read):
    """Section 2.3: 0 when unset; the same number is accepted after initialisation."""
    assert read() == 0
    write(3)
    assert read() == 3
    config.list_logical_devices()
    write(3)
    assert read() == 3


@pytest.mark.parametrize("number", [4, 0])
@pytest.mark.parametrize("name", THREADS)
@pytest.mark.parametrize("before", [3, None], ids=["set", "unset"])
def test_thread_numbers_freeze(name, before, number):
    """Section 2.3: a different value; what is unset differs from 0 (TensorFlow 2.21)."""
    write, read = THREADS[name]
    if before is not None:
        write(before)
    config.list_logical_devices()
    with pytest.raises(RuntimeError) as caught:
        write(number)
    assert first_line(caught.value) == (
        f"{name} op parallelism cannot be modified after initialization."
    )
    assert read() == (before or 0)


@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("policy", "stored"),
    [
        (None, "silent"),
        ("silent", "silent"),
        ("silent_for_int32", "silent_for_int32"),
        ("warn", "warn"),
        ("explicit", "explicit"),
    ],
)
def test_device_policy_is_stored(policy, stored, initialised):
    """Section 2.3: 'silent' by default."""
    assert experimental.get_device_policy() == "silent"
    if initialised:
        config.list_logical_devices()
    experimental.set_device_policy("warn")
    experimental.set_device_policy(policy)
    assert experimental.get_device_policy() == stored


def test_device_policy_must_be_known():
    """Section 2.3."""
    with pytest.raises(ValueError, match="device_policy") as caught:
        experimental.set_device_policy("xx")
    assert first_line(caught.value) == (
        "Invalid argument `device_policy`: 'xx'. Please refer to "
        "https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_device_policy "
        "for valid `device_policy` arguments."
    )


def test_device_policy_belongs_to_thread(in_thread):
    """Section 2.3: thread-local."""
    config.list_logical_devices()
    experimental.set_device_policy("warn")
    assert in_thread(experimental.get_device_policy) == "silent"
    assert experimental.get_device_policy() == "warn"


def test_early_policy_is_for_all(in_thread):
    """Section 2.3: before initialisation it sets the default (TensorFlow 2.21)."""
    experimental.set_device_policy("warn")
    config.list_logical_devices()
    assert in_thread(experimental.get_device_policy) == "warn"


# --- 2.3 ConfigProto import ---


def adopt(**fields):
    """Start eager execution with a configuration; return the visible GPUs."""
    v1.enable_eager_execution(v1.ConfigProto(**fields))
    return config.get_visible_devices("GPU")


def test_config_without_cpu_hides_it():
    """Section 2.3, ConfigProto import."""
    adopt(device_count={"CPU": 0})
    assert config.get_visible_devices() == []
    with pytest.raises(tf.errors.NotFoundError) as caught:
        config.list_logical_devices()
    assert first_line(caught.value) == "No CPU devices are available in this process"


@pytest.mark.parametrize(("n", "split"), [(1, None), (3, [PART()] * 3)])
def test_config_splits_the_cpu(n, split):
    """Section 2.3, ConfigProto import."""
    adopt(device_count={"CPU": n})
    assert config.get_logical_device_configuration(CPU) == split
    assert len(config.list_logical_devices("CPU")) == n


@pytest.mark.parametrize(
    ("count", "listed", "visible"),
    [
        ({}, "", GPU[:3]),
        ({}, "1", [GPU[1]]),
        ({}, "2,0", [GPU[2], GPU[0]]),
        ({"GPU": 2}, "", GPU[:2]),
        ({"GPU": 1}, "2,0", [GPU[2]]),
        ({"GPU": 0}, "", []),
        ({"GPU": 9}, "", GPU[:3]),
    ],
    ids=str,
)
def test_config_keeps_first_gpus(sim, count, listed, visible):
    """Section 2.3, ConfigProto import: the first k of the list."""
    sim("3xT4")
    options = v1.GPUOptions(visible_device_list=listed)
    assert adopt(device_count=count, gpu_options=options) == visible


@pytest.mark.parametrize(("listed", "shown"), [("7", "7"), ("0,2", "2")])
def test_config_lists_existing_gpus(sim, listed, shown):
    """Section 2.3, ConfigProto import."""
    sim("2xT4")
    with pytest.raises(ValueError, match="Invalid visible") as caught:
        adopt(gpu_options=v1.GPUOptions(visible_device_list=listed))
    assert first_line(caught.value) == f"Invalid visible device index: {shown}"


def test_config_list_needs_gpus():
    """Section 3.3: with no GPU the list is never read."""
    assert adopt(gpu_options=v1.GPUOptions(visible_device_list="7")) == []


def test_config_sets_the_switches():
    """Section 2.3, ConfigProto import, as TensorFlow 2.21 does it."""
    adopt(
        log_device_placement=True,
        intra_op_parallelism_threads=3,
        inter_op_parallelism_threads=2,
    )
    assert tf.debugging.get_log_device_placement() is True
    assert threading.get_intra_op_parallelism_threads() == 3
    assert threading.get_inter_op_parallelism_threads() == 2


# --- 2.3 Deprecations ---


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("get_memory_usage", "tf.config.experimental.get_memory_usage('GPU:0')"),
        ("is_gpu_available", "tf.test.is_gpu_available()"),
    ],
)
def test_deprecated_call_warns_once(name, call):
    """Section 2.3: logged by the first call in a process."""
    printed = run(
        f"""
import logging, sys
logging.basicConfig(stream=sys.stdout, level="WARNING", format="%(message)s")
import berth as tf
for _ in range(2):
    {call}
""",
        BERTH_SIM="1xT4",
    )
    assert printed.count(name) == 1
    assert "deprecated" in printed
