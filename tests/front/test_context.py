"""When the environment counts, and who is told when it does not."""

from __future__ import annotations

import pytest

import berth as tf
from berth.compat import v1
from berth.errors import BerthWarning
from berth.front.context import Context, context

HERE = "test_context.py"


def line_of(function) -> int:
    """The first line of a function's body."""
    return function.__code__.co_firstlineno + 1


def test_variables_set_before_first_use_count():
    environ = {"BERTH_SIM": "4xK20m"}
    with Context(environ).as_default():
        environ["CUDA_VISIBLE_DEVICES"] = "2"
        gpus = tf.config.list_physical_devices("GPU")
        shown = context().devices.gpu_backend.devices()

    assert len(gpus) == 1
    assert shown[0].pci_bus_id == "0000:83:00.0"


def test_late_change_warns_and_names_the_line():
    environ = {"BERTH_SIM": "4xK20m"}

    def first_use():
        return tf.config.list_physical_devices("GPU")

    with Context(environ).as_default():
        first_use()
        environ["CUDA_VISIBLE_DEVICES"] = "2"
        with pytest.warns(BerthWarning) as caught:
            gpus = tf.config.list_physical_devices("GPU")
        tf.config.list_physical_devices("GPU")  # says it once: warnings are errors here

    assert len(gpus) == 4
    assert str(caught[0].message) == (
        "CUDA_VISIBLE_DEVICES was changed from nothing to '2' after the devices were "
        f"listed by list_physical_devices() at {HERE}:{line_of(first_use)}. The change has "
        "no effect: set it before that line, or before the program starts."
    )
    assert caught[0].filename == __file__


def test_bad_machine_says_where_it_comes_from():
    with Context({"BERTH_SIM": "T4:0"}).as_default():
        with pytest.raises(tf.errors.MachineSpecError, match=r"It is what BERTH_SIM says\.$"):
            tf.config.list_physical_devices()
        with pytest.raises(tf.errors.MachineSpecError):
            tf.config.list_physical_devices()


def test_blank_machine_is_none():
    with Context({"BERTH_SIM": " "}).as_default():
        assert tf.config.list_physical_devices("GPU") == []


def test_simulate_replaces_the_machine(sim):
    sim("1xT4")
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices([], "GPU")
    tf.simulate("2xT4")

    assert len(gpus) == 1
    assert len(tf.config.list_logical_devices("GPU")) == 2


def test_simulate_obeys_the_driver_s_variables(sim):
    sim(CUDA_VISIBLE_DEVICES="3,0")
    tf.simulate("4xK20m")

    assert [i.pci_bus_id for i in context().devices.gpu_backend.devices()] == [
        "0000:84:00.0",
        "0000:02:00.0",
    ]


def test_simulate_none_goes_back(sim):
    sim("1xT4")
    tf.simulate("2xT4")
    tf.simulate(None)

    assert len(tf.config.list_physical_devices("GPU")) == 1


def test_simulate_too_late_names_the_line(sim):
    sim("1xT4")

    def open_devices():
        return tf.config.list_logical_devices()

    open_devices()
    with pytest.raises(RuntimeError) as raised:
        tf.simulate("2xT4")
    assert str(raised.value) == (
        "The machine cannot be changed after the devices were opened\n"
        f"  They were opened by list_logical_devices() at {HERE}:{line_of(open_devices)}: "
        "simulate first, or after berth.reset()."
    )
    assert len(tf.config.list_physical_devices("GPU")) == 1


def test_bad_simulate_changes_nothing(sim):
    sim("1xT4")
    with pytest.raises(tf.errors.MachineSpecError):
        tf.simulate("1xnothing")
    assert len(tf.config.list_physical_devices("GPU")) == 1


def test_failed_opening_can_be_mended(sim):
    """What cannot be opened is not half open: mend the configuration, and go on."""
    sim("2xT4")
    first, second = tf.config.list_physical_devices("GPU")
    tf.config.experimental.set_memory_growth(first, True)
    with pytest.raises(ValueError, match="cannot differ") as raised:
        tf.config.list_logical_devices()
    assert str(raised.value) == (
        "Memory growth cannot differ between GPU devices\n"
        "  It is set to /physical_device:GPU:0: True, /physical_device:GPU:1: None. "
        "Set it alike on all visible GPUs."
    )

    tf.config.experimental.set_memory_growth(second, True)
    assert len(tf.config.list_logical_devices("GPU")) == 2


def test_threads_have_device_scopes_of_their_own(sim):
    import threading

    sim("2xT4")
    seen = []

    def other() -> None:
        seen.append(context().eager_scope.device_name)

    with tf.device("/gpu:1"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [""]


def test_scope_is_left_when_its_body_fails(sim):
    sim("2xT4")

    def fail() -> None:
        with tf.device("/gpu:1"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert context().eager_scope.device_name == ""


def test_machine_of_a_session_stays(sim):
    sim("1xT4")
    graph = v1.Graph()
    with graph.as_default():
        x = v1.constant([1.0])
    with v1.Session(graph=graph) as session:
        with pytest.raises(RuntimeError, match="cannot be changed after") as refused:
            tf.simulate("2xT4")
        assert "test_context.py:" in str(refused.value)
        assert session.run(x).tolist() == [1.0]
    tf.reset()
    tf.simulate("2xT4")
    assert len(tf.config.list_physical_devices("GPU")) == 2
