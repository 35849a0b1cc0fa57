"""Where eager operations run: §1.6, §6.7, §6.8, §2.3 (policies), §7.2 (logs), §5.11 (memory)."""

from __future__ import annotations

import gc
import logging
import threading

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import (
    CPU_0,
    CPU_1,
    GPU_0,
    GPU_1,
    Differs,
    cases,
    evaluate,
    in_use,
    two_cpus,
)
from tests.parity.programs import first_line

COPY = "Tensors can be copied explicitly using: `with tf.device(device_name): x = tf.identity(x)` or transparently copied by using tf.config.experimental.set_device_policy('silent'). Copying tensors between devices may slow down your model"
BOTH_CPUS = f"[{CPU_0}, {CPU_1}]"


@pytest.fixture(autouse=True)
def settings(eager):
    """Leave no setting of this thread behind."""
    yield
    tf.config.set_soft_device_placement(True)
    tf.config.experimental.set_device_policy(None)
    tf.debugging.set_log_device_placement(False)


def places(*names):
    """The device of an operation in these blocks, outermost first."""
    if not names:
        return tf.zeros([2]).device
    with tf.device(names[0]):
        return places(*names[1:])


# --- tf.device ---------------------------------------------------------------------------------------

BLOCKS = {
    "": CPU_0,
    "'/cpu:1'": CPU_1,
    "'CPU:1'": CPU_1,
    "'/device:CPU:1'": CPU_1,
    f"'{CPU_1}'": CPU_1,
    "'/cpu:*'": CPU_0,
    "'/job:localhost'": CPU_0,
    "''": CPU_0,
    "None": CPU_0,
    "'/cpu:1', '/cpu:0'": CPU_0,
    "'/cpu:1', None": CPU_0,
    "'/cpu:1', ''": CPU_1,
    "'/cpu:1', '/job:localhost'": CPU_1,
    "'/cpu:1', '/cpu:*'": CPU_1,
    "'/cpu:1', None, ''": CPU_0,
    "tf.DeviceSpec(device_type='CPU', device_index=1)": CPU_1,
    "tf.config.list_logical_devices()[1]": CPU_1,
    "'/gpu:0'": CPU_0,  # by soft placement
    "'/cpu:7'": CPU_0,
}


@pytest.mark.parametrize(("names", "device"), cases(BLOCKS))
def test_blocks_place_operations(names, device):
    two_cpus()
    assert evaluate(f"places({names})", places=places) == device


@pytest.mark.parametrize(("names", "device"), cases(BLOCKS))
def test_blocks_place_constants(names, device):
    two_cpus()

    def constants(*names):
        if not names:
            return tf.constant([1.0]).device
        with tf.device(names[0]):
            return constants(*names[1:])

    assert evaluate(f"places({names})", places=constants) == device


ON_GPUS = {
    "": GPU_0,
    "None": GPU_0,
    "''": CPU_0,
    "'/gpu:*'": GPU_0,
    "'/gpu:1'": GPU_1,
    "'/cpu:0'": CPU_0,
    "'/gpu:1', '/cpu:0'": CPU_0,
    "'/gpu:1', ''": GPU_1,
    "'/gpu:1', None": GPU_0,
    "'/cpu:0', '/gpu:1'": GPU_1,
    "'/gpu:7'": GPU_0,
}


@pytest.mark.parametrize(("names", "device"), cases(ON_GPUS))
def test_gpus_are_preferred(sim, names, device):
    sim("2xT4")
    assert evaluate(f"places({names})", places=places) == device


NO_DEVICE = {
    "5": (ValueError, "Expecting a string device name. Got <class 'int'>(5)"),
    "lambda op: ''": (RuntimeError, "tf.device does not support functions."),
    "'foo'": (
        ValueError,
        "Unknown attribute 'foo' is encountered while parsing the device spec: 'foo'.",
    ),
    "'/foo:0'": (
        ValueError,
        "Unknown attribute 'foo' is encountered while parsing the device spec: '/foo:0'.",
    ),
}


@pytest.mark.parametrize(("name", "error"), cases(NO_DEVICE))
def test_what_names_no_device(name, error):
    kind, message = error
    with pytest.raises(kind) as raised, evaluate(f"tf.device({name})"):
        pass
    assert first_line(raised.value) == message


def test_blocks_can_be_used_again():
    two_cpus()
    block = tf.device("/cpu:1")
    with block:
        first = tf.zeros([1])
    with block:
        second = tf.zeros([1])
    assert (first.device, second.device, tf.zeros([1]).device) == (CPU_1, CPU_1, CPU_0)


def test_errors_leave_blocks():
    two_cpus()
    with pytest.raises(KeyError), tf.device("/cpu:1"):
        raise KeyError("on purpose")
    assert tf.zeros([1]).device == CPU_0


def test_blocks_belong_to_their_thread():
    two_cpus()
    devices = []
    with tf.device("/cpu:1"):
        thread = threading.Thread(target=lambda: devices.append(tf.zeros([1]).device))
        thread.start()
        thread.join()
        devices.append(tf.zeros([1]).device)
    assert devices == [CPU_0, CPU_1]


HOST = "what is in host memory is said to be with the operation"
EVERYTHING = {
    "tf.constant([1.])": CPU_1,
    "tf.constant([1, 2])": Differs(CPU_0, HOST),
    "tf.constant('a')": Differs(CPU_0, HOST),
    "tf.shape([1, 2])": Differs(CPU_0, HOST),
    "tf.reshape([1, 2], [2, 1])": CPU_1,
    "tf.cast([1, 2], tf.float32)": CPU_1,
    "tf.fill([2], 3.)": CPU_1,
    "tf.range(3)": CPU_1,
    "tf.constant([1, 2])[0]": CPU_1,
    "tf.constant([1.]) * 2.": CPU_1,
    "tf.identity(x)": CPU_1,
    "x + 1.": CPU_1,
    "tf.Variable([1.]) + 1.": CPU_1,
}


@pytest.mark.parametrize(("call", "backing"), cases(EVERYTHING))
def test_every_operation_is_placed(call, backing):
    two_cpus()
    x = tf.constant([1.0])
    with tf.device("/cpu:1"):
        y = evaluate(call, x=x)
    assert (x.device, y.device, y.backing_device) == (CPU_0, CPU_1, backing)


# --- devices that are not there ----------------------------------------------------------------------

UNKNOWN = (
    "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:{}'. enable_soft_placement=0. Supported device types [CPU]. All available devices "
    + BOTH_CPUS
    + "."
)
MISSING = {
    "'/gpu:0', tf.matmul": UNKNOWN.format("GPU:0") + " [Op:MatMul] name: ",
    "'/cpu:5', tf.matmul": UNKNOWN.format("CPU:5") + " [Op:MatMul] name: ",
    "'/gpu:1', tf.add": UNKNOWN.format("GPU:1") + " [Op:AddV2] name: ",
    "'/cpu:5', lambda a, b: tf.constant(1.)": UNKNOWN.format("CPU:5"),
    "'/gpu:0', lambda a, b: tf.Variable([1.5])": UNKNOWN.format("GPU:0"),
    "'/gpu:0', lambda a, b: tf.Variable(a, name='w')": UNKNOWN.format("GPU:0")
    + " [Op:VarHandleOp] name: w/",
}


@pytest.mark.parametrize(("call", "message"), cases(MISSING))
def test_hard_placement_says_what_is_there(call, message):
    two_cpus()
    tf.config.set_soft_device_placement(False)
    matrix = tf.constant([[1.0]])
    name, compute = evaluate(call)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised, tf.device(name):
        compute(matrix, matrix)
    assert first_line(raised.value) == message
    assert tf.matmul(matrix, matrix).numpy().tolist() == [[1.0]]


def test_hard_placement_on_gpus(sim):
    sim("2xT4")
    tf.config.set_soft_device_placement(False)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised, tf.device("/gpu:7"):
        tf.matmul(tf.constant([[1.0]]), tf.constant([[1.0]]))
    assert first_line(raised.value).startswith(
        "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:7'. enable_soft_placement=0."
    )
    with tf.device("/gpu:1"):
        assert tf.zeros([2]).device == GPU_1


@pytest.mark.parametrize("name", ["/job:foo", "/job:foo/cpu:0", "/task:3"])
@pytest.mark.parametrize("soft", [True, False])
def test_other_tasks_are_unknown(name, soft):
    two_cpus()
    tf.config.set_soft_device_placement(soft)
    with pytest.raises(tf.errors.InvalidArgumentError), tf.device(name):
        tf.zeros([2])


def test_soft_placement_is_a_setting():
    assert tf.config.get_soft_device_placement() is True
    tf.config.set_soft_device_placement(False)
    assert tf.config.get_soft_device_placement() is False
    with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/cpu:5"):
        tf.constant(1.0)
    tf.config.set_soft_device_placement(True)
    with tf.device("/cpu:5"):
        assert tf.constant(1.0).device == CPU_0


# --- variables and automatic copies --------------------------------------------------------------------


def test_variables_decide_for_their_operations():
    two_cpus()
    with tf.device("/cpu:1"):
        variable = tf.Variable([1.0])
    with tf.device("/cpu:0"):
        variable.assign_add([1.0])
        product = variable * 2.0
    assert variable.device == CPU_1
    assert variable.value().device == CPU_1
    assert product.device == CPU_0
    assert variable.numpy().tolist() == [2.0]


def test_read_value_is_read_here():
    two_cpus()
    with tf.device("/cpu:1"):
        variable = tf.Variable([1.0])
    assert variable.read_value().device == CPU_0
    with tf.device("/cpu:1"):
        assert variable.read_value().device == CPU_1


def test_operands_are_copied_silently(sim):
    sim("2xT4")
    with tf.device("/gpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/gpu:1"):
        b = tf.constant([10.0, 20.0])
    with tf.device("/cpu:0"):
        c = tf.constant([100.0, 200.0])
    assert (a + b).device == GPU_0
    assert (b + a).device == GPU_0  # the first device of the program, not of the operands
    for place, device in [("/gpu:0", GPU_0), ("/gpu:1", GPU_1), ("/cpu:0", CPU_0)]:
        with tf.device(place):
            total = tf.add_n([a, b, c])
        assert total.device == device
        assert total.numpy().tolist() == [111.0, 222.0]
    assert (a.device, b.device, c.device) == (GPU_0, GPU_1, CPU_0)
    assert tf.stack([a, b, c]).numpy().tolist() == [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]


@pytest.mark.parametrize("policy", ["explicit", "warn", "silent", "silent_for_int32"])
def test_policies_are_settings(policy):
    assert tf.config.experimental.get_device_policy() == "silent"
    tf.zeros([1])  # before anything is computed, the policy is that of all threads
    tf.config.experimental.set_device_policy(policy)
    assert tf.config.experimental.get_device_policy() == policy
    others = []
    thread = threading.Thread(
        target=lambda: others.append(tf.config.experimental.get_device_policy())
    )
    thread.start()
    thread.join()
    assert others == ["silent"]
    tf.config.experimental.set_device_policy(None)
    assert tf.config.experimental.get_device_policy() == "silent"


def test_other_policies_are_refused():
    with pytest.raises(
        ValueError, match=r"^Invalid argument `device_policy`: 'xx'\. Please refer to "
    ):
        tf.config.experimental.set_device_policy("xx")


def conflict(op, position, wanted, actual):
    return f"Tensors on conflicting devices: cannot compute {op} as input #{position} was expected to be on {wanted} but is actually on {actual} (operation running on {wanted}) {COPY} [Op:{op}] name: "


@pytest.mark.parametrize("policy", ["explicit", "silent_for_int32"])
def test_explicit_policy_refuses_copies(policy):
    two_cpus()
    tf.config.experimental.set_device_policy(policy)
    with tf.device("/cpu:1"):
        there = tf.constant([[1.0]])
    here = tf.constant([[1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf.matmul(there, here)
    assert first_line(raised.value) == conflict("MatMul", 0, CPU_0, CPU_1)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        here + there
    assert first_line(raised.value) == conflict("AddV2", 1, CPU_0, CPU_1)
    with tf.device("/cpu:1"):
        assert tf.matmul(there, there).numpy().tolist() == [[1.0]]
    assert there.numpy().tolist() == [[1.0]]


def test_explicit_policy_lets_identity_copy():
    two_cpus()
    tf.config.experimental.set_device_policy("explicit")
    with tf.device("/cpu:1"):
        there = tf.constant([[1.0]])
    with tf.device("/cpu:0"):
        copied = tf.identity(there)
    assert copied.device == CPU_0


def test_explicit_policy_and_variables():
    two_cpus()
    tf.config.experimental.set_device_policy("explicit")
    here = tf.constant([[1.0]])
    with tf.device("/cpu:1"):
        variable = tf.Variable([[2.0]])
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        variable + here
    assert first_line(raised.value) == conflict("AddV2", 0, CPU_0, CPU_1)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        variable.assign(here)
    assert first_line(raised.value) == conflict("AssignVariableOp", 1, CPU_1, CPU_0)
    assert variable.numpy().tolist() == [[2.0]]


def test_integers_may_be_silent():
    two_cpus()
    tf.config.experimental.set_device_policy("silent_for_int32")
    numbers = tf.constant([1, 2])
    with tf.device("/cpu:1"):
        total = numbers + numbers
    assert total.device == CPU_1
    assert total.numpy().tolist() == [2, 4]


def test_warn_policy_copies_and_warns(caplog):
    two_cpus()
    tf.config.experimental.set_device_policy("warn")
    here = tf.constant([[2.0]])
    with caplog.at_level(logging.WARNING), tf.device("/cpu:1"):
        assert tf.matmul(here, here).numpy().tolist() == [[4.0]]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_warnings_are_tensorflows(sim, caplog):
    sim()
    two_cpus()
    tf.config.experimental.set_device_policy("warn")
    here = tf.constant([[2.0]])
    with caplog.at_level(logging.WARNING), tf.device("/cpu:1"):
        tf.matmul(here, here)
    assert [record.getMessage() for record in caplog.records] == [
        f"before computing MatMul input #{position} was expected to be on {CPU_1} but is actually on {CPU_0} (operation running on {CPU_1}). This triggers a copy which can be a performance bottleneck."
        for position in (0, 1)
    ]


# --- integers and strings stay in host memory (§6.8) ----------------------------------------------------


@pytest.mark.xfail(strict=True, reason="integers are kept on the GPU")
@pytest.mark.parametrize(
    "call", ["tf.constant([1, 2])", "tf.constant([1, 2]) + 1", "tf.shape([1.])", "tf.range(3)"]
)
def test_int32_results_are_backed_by_host(sim, call):
    sim("1xT4")
    with tf.device("/gpu:0"):
        numbers = evaluate(call)
    assert (numbers.device, numbers.backing_device) == (GPU_0, CPU_0)


def test_strings_are_in_host_memory(sim):
    sim("1xT4")
    with tf.device("/gpu:0"):
        words = tf.constant(["a", "b"])
    assert (words.device, words.backing_device) == (GPU_0, CPU_0)
    assert in_use() == 0
    tf.config.set_soft_device_placement(False)
    with tf.device("/gpu:0"):  # TensorFlow's _EagerConst takes strings on every device
        assert tf.constant("c").numpy() == b"c"


def test_int64_and_bool_are_on_the_gpu(sim):
    sim("1xT4")
    with tf.device("/gpu:0"):
        numbers, flags = tf.constant([1, 2], tf.int64), tf.constant([True])
    assert numbers.backing_device == GPU_0
    assert flags.backing_device == GPU_0


# --- logs (§7.2) -----------------------------------------------------------------------------------------


def executed(caplog):
    """The operations that were logged, with the ends of their devices."""
    lines = [record.getMessage() for record in caplog.records]
    start = "Executing op "
    return [
        line.removeprefix(start).replace(
            "in device /job:localhost/replica:0/task:0/device:", ""
        )
        for line in lines
        if line.startswith(start)
    ]


LOGGED = {
    "tf.constant([[1.]])": ["_EagerConst GPU:0"],
    "x + x": ["AddV2 GPU:0"],
    "x + 1.": ["_EagerConst GPU:0", "AddV2 GPU:0"],
    "[x + 2., x + 2.][1]": ["_EagerConst GPU:0", "AddV2 GPU:0", "AddV2 GPU:0"],
    "[tf.matmul(x, x), tf.matmul(x, x)]": ["MatMul GPU:0", "MatMul GPU:0"],
    "on('/gpu:1', lambda: x * x)": ["Mul GPU:1"],
    "on('/cpu:0', lambda: tf.matmul(x, x))": ["MatMul CPU:0"],
    "v + x": ["ReadVariableOp GPU:1", "AddV2 GPU:0"],
    "v.assign_add(x)": ["AssignAddVariableOp GPU:1"],
    "tf.Variable(x)": ["VarHandleOp GPU:0", "AssignVariableOp GPU:0"],
}


@pytest.mark.parametrize(("call", "lines"), cases(LOGGED))
def test_executed_operations_are_logged(sim, caplog, call, lines):
    sim("2xT4")

    def on(place, compute):
        with tf.device(place):
            return compute()

    x = tf.constant([[2.0]])
    v = on("/gpu:1", lambda: tf.Variable([[2.0]]))
    tf.debugging.set_log_device_placement(True)
    with caplog.at_level(logging.INFO):
        evaluate(call, x=x, v=v, on=on)
    assert executed(caplog) == lines


def test_function_calls_are_logged(sim, caplog):
    sim("2xT4")
    f = tf.function(lambda x: x + 1.0)
    x = tf.constant(1.0)
    tf.debugging.set_log_device_placement(True)
    with caplog.at_level(logging.INFO):
        f(x)
    (line,) = executed(caplog)
    assert line.startswith("__inference_")
    assert line.endswith(" GPU:0")


def test_nothing_is_logged_unasked(sim, caplog):
    sim("1xT4")
    assert tf.debugging.get_log_device_placement() is False
    with caplog.at_level(logging.INFO):
        tf.zeros([2])
    assert executed(caplog) == []


# --- memory ----------------------------------------------------------------------------------------------

DROPPED = {
    "tensor": "tf.zeros([1 << 18])",
    "chain": "tf.sin(tf.zeros([1 << 18]) + 1.) * 2.",
    "view": "tf.reshape(tf.zeros([1 << 18]), [512, 512])[:, ::1]",
    "variable": "tf.Variable(tf.zeros([1 << 18]))",
    "assigned": "tf.Variable(tf.zeros([1 << 18])).assign_add(tf.ones([1 << 18]))",
    "constant": "tf.constant(np.zeros(1 << 18, np.float32))",
    "function": "tf.function(lambda x: x * 2.)(tf.zeros([1 << 18]))",
    "parts": "tf.split(tf.zeros([1 << 18]), 4)",
}


@pytest.mark.parametrize("place", ["GPU:0", "GPU:1"])
@pytest.mark.parametrize("name", DROPPED)
def test_dropped_values_return_their_memory(sim, place, name):
    sim("2xT4")
    with tf.device(place):
        evaluate(DROPPED[name])  # numbers like 1. are kept for the next time, as in TensorFlow
        gc.collect()
        baseline = in_use(place)
        value = evaluate(DROPPED[name])
    assert in_use(place) - baseline >= 1 << 20
    del value
    gc.collect()
    assert in_use(place) == baseline


@pytest.mark.parametrize("name", ["tensor", "chain", "view", "variable", "constant", "parts"])
def test_memory_returns_at_once(sim, name):
    sim("1xT4")
    evaluate(DROPPED[name])
    baseline = in_use()
    gc.disable()
    try:
        value = evaluate(DROPPED[name])
        assert in_use() > baseline
        del value
        assert in_use() == baseline
    finally:
        gc.enable()


def test_memory_is_counted_by_chunks(sim):
    sim("1xT4")
    baseline = in_use()
    small = tf.constant([1.0])
    assert in_use() - baseline == 256
    large = tf.zeros([1 << 18])
    assert in_use() - baseline == 256 + (1 << 20)
    on_cpu = large.cpu()
    assert in_use() - baseline == 256 + (1 << 20)
    del small, large
    assert in_use() == baseline
    assert on_cpu.device == CPU_0


def test_failed_operations_keep_nothing(sim):
    sim("1xT4")
    tf.zeros([1])
    baseline = in_use()
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.zeros([1 << 18]) + tf.zeros([3])
    gc.collect()
    assert in_use() == baseline


def test_variables_are_updated_in_place(sim):
    sim("1xT4")
    variable = tf.Variable(tf.zeros([1 << 18]))
    step = tf.ones([1 << 18])
    before = tf.config.experimental.get_memory_info("GPU:0")
    tf.config.experimental.reset_memory_stats("GPU:0")
    for _ in range(3):
        variable.assign_add(step)
    after = tf.config.experimental.get_memory_info("GPU:0")
    assert after["current"] == before["current"]
    assert after["peak"] == before["current"]
    assert variable.numpy()[0] == 3.0


OUT_OF_MEMORY = {
    "tf.fill([1 << 20, 1 << 14], 1.)": ("Fill", "[1048576,16384]"),
    "tf.zeros([1 << 20, 1 << 14])": (None, "[1048576,16384]"),
    "tf.ones([1 << 18, 1]) * tf.ones([1 << 18])": ("Mul", "[262144,262144]"),
    "tf.matmul(tf.ones([1 << 18, 1]), tf.ones([1, 1 << 18]))": ("MatMul", "[262144,262144]"),
    "tf.Variable(tf.zeros([1 << 20, 1 << 14]))": (None, "[1048576,16384]"),
}


@pytest.mark.parametrize("place", ["GPU:0", "GPU:1"])
@pytest.mark.parametrize("call", OUT_OF_MEMORY)
def test_running_out_of_memory_is_survived(sim, place, call):
    sim("2xT4")
    op, shape = OUT_OF_MEMORY[call]
    kept = tf.constant([1.0, 2.0])
    with tf.device(place):
        tf.fill([1], 1.0)
        tf.zeros([1])
    baseline = in_use(place)
    with pytest.raises(tf.errors.ResourceExhaustedError) as raised, tf.device(place):
        evaluate(call)
    message = first_line(raised.value)
    full = f"/job:localhost/replica:0/task:0/device:{place}"
    allocator = f"GPU_{place[-1]}_bfc"
    assert (
        f"OOM when allocating tensor with shape{shape} and type float on {full} by allocator {allocator}"
        in message
    )
    if op is not None:
        assert f"[Op:{op}]" in message
    assert raised.value.error_code == 8
    del raised
    gc.collect()
    assert in_use(place) == baseline
    with tf.device(place):
        assert (kept + 1.0).numpy().tolist() == [2.0, 3.0]


def test_memory_limits_hold(sim):
    sim("1xT4")
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("GPU")[0],
        [tf.config.LogicalDeviceConfiguration(memory_limit=64)] * 2,
    )
    with tf.device("/gpu:1"):
        held = [tf.zeros([1 << 20]) for _ in range(12)]  # 48 MiB
        with pytest.raises(tf.errors.ResourceExhaustedError):
            tf.zeros([8 << 20])
    with tf.device("/gpu:0"):
        assert tf.zeros([8 << 20]).device == GPU_0  # 32 MiB on the other half
    assert {tensor.device for tensor in held} == {GPU_1}
    del held
    with tf.device("/gpu:1"):
        assert tf.zeros([8 << 20]).device == GPU_1


# --- several GPUs ----------------------------------------------------------------------------------------


def test_towers_average_on_the_cpu(sim):
    sim("2xT4")
    results = []
    for index in (0, 1):
        with tf.device(f"/gpu:{index}"):
            a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
            results.append(tf.matmul(a, a) * float(index + 1))
    with tf.device("/cpu:0"):
        total = tf.add_n(results)
    assert [result.device for result in results] == [GPU_0, GPU_1]
    assert total.device == CPU_0
    np.testing.assert_allclose(total.numpy(), 3.0 * np.array([[7.0, 10.0], [15.0, 22.0]]))


def test_copies_between_gpus_are_counted(sim):
    sim("2xT4")
    with tf.device("/gpu:0"):
        x = tf.ones([1 << 18])
    first, second = in_use("GPU:0"), in_use("GPU:1")
    with tf.device("/gpu:1"):
        y = tf.identity(x)
    assert (in_use("GPU:0") - first, in_use("GPU:1") - second) == (0, 1 << 20)
    del x
    assert in_use("GPU:0") == first - (1 << 20)
    assert y.numpy().sum() == 1 << 18


@pytest.mark.parametrize("n_threads", [4])
def test_threads_use_several_gpus(sim, n_threads):
    sim("2xT4")
    wrong = []

    def work(index):
        with tf.device(f"/gpu:{index % 2}"):
            for number in range(20):
                x = tf.fill([1000], float(number + index))
                total = tf.reduce_sum(x * 2.0)
                if float(total) != 2000.0 * (number + index) or not total.device.endswith(
                    str(index % 2)
                ):
                    wrong.append((index, number, float(total), total.device))

    for index in range(n_threads):
        work(index)
    baselines = in_use("GPU:0"), in_use("GPU:1")
    threads = [threading.Thread(target=work, args=(index,)) for index in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    gc.collect()
    assert (in_use("GPU:0"), in_use("GPU:1")) == baselines
