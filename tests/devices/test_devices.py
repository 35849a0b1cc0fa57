"""Bad input, threads and callbacks leave a program's devices as they were."""

from __future__ import annotations

import logging
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest

import berth as tf
from berth.errors import BerthWarning
from berth.front.context import Context, context

PART = tf.config.LogicalDeviceConfiguration
v1 = tf.compat.v1


def gpus():
    return tf.config.list_physical_devices("GPU")


@pytest.mark.parametrize("limit", ["1024", float("inf"), float("nan"), -5, [1], 1e13])
def test_memory_limit_must_be_an_amount(sim, limit):
    sim("1xT4")
    with pytest.raises(ValueError, match="memory_limit must be a number") as raised:
        tf.config.set_logical_device_configuration(gpus()[0], [PART(memory_limit=limit)])

    assert str(raised.value) == (
        f"memory_limit must be a number of MiB, from 0 to 16777216, and not {limit!r}."
    )
    assert tf.config.get_logical_device_configuration(gpus()[0]) is None
    assert len(tf.config.list_logical_devices("GPU")) == 1


@pytest.mark.parametrize("limit", [1024, 1024.5, np.int64(1024), np.float32(1024)])
def test_memory_limit_may_be_any_number(sim, limit):
    sim("1xT4")
    tf.config.set_logical_device_configuration(gpus()[0], [PART(memory_limit=limit)])
    tf.config.list_logical_devices()
    assert context().devices.opened[1].limit.nbytes == 1024 * 2**20


@pytest.mark.parametrize(
    "parts", [[1024], PART(1024), (PART(1024) for _ in range(2)), {PART(1)}]
)
def test_parts_must_be_a_list_of_configurations(sim, parts):
    sim("1xT4")
    with pytest.raises(TypeError, match="must be a list of LogicalDeviceConfiguration"):
        tf.config.set_logical_device_configuration(gpus()[0], parts)
    assert len(tf.config.list_logical_devices("GPU")) == 1


@pytest.mark.parametrize("enable", ["False", "yes", 0.5])
def test_growth_must_be_true_or_false(sim, enable):
    sim("1xT4")
    with pytest.raises(TypeError, match="enable must be True or False"):
        tf.config.experimental.set_memory_growth(gpus()[0], enable)
    assert tf.config.experimental.get_memory_growth(gpus()[0]) is None


def test_tuple_of_devices_gets_a_hint(sim):
    sim("2xT4")
    with pytest.raises(ValueError, match="Unrecognized device") as raised:
        tf.config.set_visible_devices(tuple(gpus()))
    assert str(raised.value).splitlines()[-1] == "  Several devices must be a list."


def test_wrong_types_are_named(sim):
    sim("1xT4")
    logical = tf.config.list_logical_devices("GPU")[0]
    with pytest.raises(TypeError, match="A device's name is a text like 'GPU:0', and not "):
        tf.config.experimental.get_memory_info(logical)
    with pytest.raises(TypeError, match="takes a text like '4xT4', or None"):
        tf.simulate(["T4"])
    with pytest.raises(TypeError, match="must be a whole number, and not 'two'"):
        tf.config.threading.set_inter_op_parallelism_threads("two")


def test_refused_config_changes_nothing(sim):
    sim("2xT4")
    tf.config.set_logical_device_configuration(gpus()[1], [PART(memory_limit=100)])
    config = v1.ConfigProto(device_count={"CPU": 2})
    config.gpu_options.visible_device_list = "1"
    config.gpu_options.allow_growth = True
    with pytest.raises(ValueError, match="Cannot set memory growth on device"):
        v1.enable_eager_execution(config)

    assert len(tf.config.get_visible_devices()) == 3
    assert (
        tf.config.get_logical_device_configuration(tf.config.list_physical_devices()[0]) is None
    )


def test_config_is_adopted_whole(sim):
    sim("2xT4:1GiB")
    config = v1.ConfigProto()
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.gpu_options.experimental.num_virtual_devices_per_gpu = 2
    v1.enable_eager_execution(config)
    tf.config.list_logical_devices()
    assert [d.limit.nbytes for d in context().devices.opened[1:]] == [2**28] * 4

    sim("2xT4:1GiB")
    config = v1.ConfigProto()
    for _ in range(2):
        config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[100, 200])
    v1.enable_eager_execution(config)
    tf.config.list_logical_devices()
    limits = [d.limit.nbytes >> 20 for d in context().devices.opened[1:]]
    assert limits == [100, 200, 100, 200]


@pytest.mark.parametrize(
    "late",
    [
        v1.ConfigProto(intra_op_parallelism_threads=7),
        v1.ConfigProto(gpu_options=v1.GPUOptions(per_process_gpu_memory_fraction=0.5)),
        v1.ConfigProto(device_count={"GPU": 0}),
    ],
    ids=["threads", "fraction", "count"],
)
def test_late_config_is_refused(sim, late):
    sim("1xT4")
    tf.config.list_logical_devices()
    with pytest.raises(RuntimeError, match="cannot be modified after"):
        v1.enable_eager_execution(late)


def test_split_that_discards_growth_says_so(sim, caplog):
    sim("2xT4")
    tf.config.experimental.set_memory_growth(gpus()[0], True)
    tf.config.set_logical_device_configuration(gpus()[1], [PART(memory_limit=100)])
    tf.config.list_logical_devices()
    assert caplog.messages == [
        "Memory growth is ignored, since a device has a logical configuration."
    ]


def test_setters_and_opening_do_not_interleave():
    """What was accepted is what was opened, whichever thread came first."""
    for _ in range(200):
        program = Context({"BERTH_SIM": "4xT4"})
        devices = program.devices
        physical = devices.physical()

        def hide(devices=devices, physical=physical):
            with suppress(RuntimeError):
                devices.set_visible(physical[:2], None)

        threads = [threading.Thread(target=hide), threading.Thread(target=program.open)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(devices.opened) == len(devices.visible())


def test_handler_may_ask_for_devices(sim):
    """A log handler or warning hook that looks at the devices must not hang."""
    environ = {"BERTH_SIM": "2xT4", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    seen = []

    class Curious(logging.Handler):
        def emit(self, record):
            seen.append(len(tf.config.list_logical_devices()))

    handler = Curious()
    logging.getLogger("berth").addHandler(handler)
    try:
        with Context(environ).as_default():
            tf.config.list_logical_devices()
            environ["CUDA_VISIBLE_DEVICES"] = "1"
            with warnings.catch_warnings(record=True):
                warnings.simplefilter("always")
                tf.config.list_physical_devices()
    finally:
        logging.getLogger("berth").removeHandler(handler)
    assert seen == [3]


def test_late_change_warns_also_after_opening():
    environ = {"BERTH_SIM": "2xT4"}
    with Context(environ).as_default():
        tf.config.list_logical_devices()
        environ["CUDA_VISIBLE_DEVICES"] = "1"
        with pytest.warns(BerthWarning, match="from nothing to '1'"):
            tf.config.list_logical_devices()
        del environ["CUDA_VISIBLE_DEVICES"]
        tf.config.list_logical_devices()  # back to what is in force: nothing to say


def test_unknown_device_order_is_a_warning():
    with (
        Context({"BERTH_SIM": "1xT4", "CUDA_DEVICE_ORDER": "PCI_BUS_IDS"}).as_default(),
        pytest.warns(BerthWarning) as caught,
    ):
        tf.config.list_physical_devices()
    assert str(caught[0].message) == (
        "CUDA_DEVICE_ORDER=PCI_BUS_IDS means nothing: write FASTEST_FIRST or PCI_BUS_ID. "
        "The order is FASTEST_FIRST now."
    )


@pytest.mark.usefixtures("eager")
def test_one_scope_object_serves_many_threads(sim):
    sim("2xT4")
    scope, inside, done = tf.device("/gpu:1"), threading.Event(), threading.Event()
    names = []

    def other():
        with tf.device("/gpu:0"), scope:
            inside.set()
            done.wait(10)
            names.append(context().eager_scope.device_name[-5:])
        names.append(context().eager_scope.device_name)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    with scope:
        names.append(context().eager_scope.device_name[-5:])
    names.append(context().eager_scope.device_name)
    done.set()
    thread.join()
    assert names == ["GPU:1", "", "GPU:1", ""]


@pytest.mark.usefixtures("eager")
def test_scope_is_named_as_it_was_written(sim):
    sim("1xT4")
    with tf.device("/gpu:0"):
        pass
    with pytest.raises(RuntimeError, match=r"opened by tf\.device\(\) at test_devices\.py"):
        tf.config.set_visible_devices([], "GPU")
