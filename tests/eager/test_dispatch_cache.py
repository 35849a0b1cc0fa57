"""Calls that hit the dispatch cache are as calls that miss: values, errors, logs, records."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from contextlib import ExitStack
from threading import Thread
from unittest.mock import patch
from weakref import ref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import berth as tf
from berth.eager import conversion
from berth.eager.mode import eager_builder
from berth.ops.opdef import CATALOGUE
from tests.eager.cases import GPU_0, GPU_1, in_use


@pytest.fixture(autouse=True)
def defaults(eager):
    """Leave no setting of this thread behind."""
    yield
    tf.config.set_soft_device_placement(True)
    tf.config.experimental.set_device_policy(None)
    tf.debugging.set_log_device_placement(False)


def outcome(call, device=None):
    """What comes of a call: types, shapes, devices and bytes, or the error."""
    try:
        with ExitStack() as scopes:
            if device is not None:
                scopes.enter_context(tf.device(device))
            result = call()
    except Exception as error:
        return type(error), str(error)
    outputs = result if isinstance(result, list | tuple) else [result]
    return [
        (t.dtype, t.dims, t.device, repr(t) if t.dtype is tf.string else bits(t))
        for t in outputs
    ]


def bits(tensor):
    """The bytes of a tensor, which tell 0.0 from -0.0; any NaN is like another."""
    array = tensor.numpy()
    if tensor.dtype.is_floating:
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return np.asarray(array).tobytes()


def examined(call, device=None):
    """What comes of a call that is not looked up in the cache."""
    with patch("berth.eager.builder.key_of", lambda *_: None):
        return outcome(call, device)


# --- one kind after another -------------------------------------------------------------------

# Of each row, all calls but the first could take the first one for their like.
LOOKALIKES = {
    "zeros have signs": ("F * {}", ["0.0", "-0.0", "0.0", "0", "False"]),
    "numbers have types": ("F + {}", ["1", "1.0", "True", "np.float64(1)", "np.int32(1)", "1"]),
    "numbers that are none": ("F + {}", ["float('nan')", "float('inf')", "float('nan')"]),
    "integers that are too large": ("I + {}", ["1", "2**31", "2**40", "2**70", "1"]),
    "integers beside bytes": ("B * {}", ["2", "300", "-1", "2"]),
    "floats beside integers": ("I * {}", ["2", "2.0", "2", "'a'", "None", "[2, 2]"]),
    "numbers first": ("{} - F", ["1", "1.0", "-0.0", "0.0", "2**70"]),
    "more numbers than are kept": ("F * {}", [f"{n}.5" for n in (*range(40), *range(40))]),
    "divisors": ("I // {}", ["2", "0", "tf.constant(0)", "tf.constant([2, 0])", "2"]),
    "rows": ("tf.gather(F, tf.constant({}))", ["0", "1", "2", "-1", "0"]),
    "rows of a variable": ("tf.gather(tf.Variable(F), tf.constant({}))", ["0", "5", "1"]),
    "shapes": (
        "tf.reshape(M, {})",
        ["[4]", "(4,)", "[-1]", "4", "[4.0]", "[True, 4]", "np.array([4])", "[2, 2]", "[3]"],
    ),
    "shapes in tensors": (
        "tf.reshape(M, tf.constant({}))",
        ["[4, 1]", "[1, 4]", "[4, 1], tf.int64", "[2, 3]", "[2, 2]", "[-1, 2]"],
    ),
    "axes": ("tf.reduce_sum(M, axis={})", ["0", "1", "-1", "[0]", "None", "[]", "2", "False"]),
    "orders in arrays": (
        "tf.transpose(M, np.array({}))",
        ["[0, 1]", "[1, 0]", "[1, 0], '>i4'", "[1, 0], 'u1'", "[1.0, 0.0]", "[-1, 0]", "[0]"],
    ),
    "axes in tensors": ("tf.reduce_sum(M, tf.constant({}))", ["0", "1", "5", "-2"]),
    "kept axes": ("tf.reduce_sum(M, 0, keepdims={})", ["True", "False", "1", "0", "True"]),
    "types": ("tf.cast(F, {})", ["tf.int32", "tf.int64", "tf.float64", "'int32'", "tf.bool"]),
    "slopes": ("tf.nn.leaky_relu(F, alpha={})", ["0.0", "-0.0", "0", "0.5", "0.0"]),
    "masks": (
        "tf.boolean_mask(F, tf.constant([{}]))",
        ["True, False", "True, True", "1 < 0, 0 > 1"],
    ),
    "conditions": (
        "tf.where(tf.constant([{}]))",
        ["True, False", "False, False", "True, True"],
    ),
    "different elements": ("tf.unique(tf.constant({})).y", ["[1, 1]", "[1, 2]", "[2, 2]"]),
    "repetitions": ("tf.repeat(F, tf.constant({}))", ["[1, 2]", "[2, 1]", "[0, 0]", "[3, 1]"]),
    "parts": ("F[{}]", ["0", "1", "2", "-1", ":1", "1:", "::-1", "tf.constant(1)", "None"]),
    "empty arrays": ("tf.zeros([0, 2]) + tf.zeros({})", ["[0, 2]", "[1, 2]", "[2]", "[2, 2]"]),
    "strings": ("tf.strings.join([S, tf.constant({})])", ["'a'", "'bc'", "['d', 'e']"]),
    "joined": ("tf.concat([F, tf.constant({})], 0)", ["[1.0]", "[2.0]", "[]", "[1]", "1.0"]),
    "many at once": ("tf.add_n([F] * {})", ["2", "3", "1", "2"]),
}


@pytest.mark.parametrize("row", LOOKALIKES)
def test_lookalikes_are_distinguished(sim, row):
    sim("2xT4")
    form, arguments = LOOKALIKES[row]
    names = {
        "tf": tf,
        "np": np,
        "F": tf.constant([1.5, -2.0]),
        "I": tf.constant([7, -8]),
        "B": tf.constant([100, 200], tf.uint8),
        "M": tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        "S": tf.constant("s"),
    }
    for argument in (*arguments, *arguments):
        code = compile(form.format(argument), argument, "eval")
        call = lambda code=code: eval(code, names)  # noqa: E731
        assert outcome(call) == examined(call), argument


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0", "/gpu:1", "/gpu:7"])
@pytest.mark.parametrize("call", ["x + x", "x * 2.0", "tf.matmul(x, x)", "tf.reshape(x, [1])"])
def test_devices_are_distinguished(sim, call, device):
    sim("2xT4")
    names = {"tf": tf, "x": tf.constant([[3.0]])}
    code = compile(call, call, "eval")
    for soft in (True, False):
        for asked in (None, device, None, device):
            tf.config.set_soft_device_placement(soft)
            result = outcome(lambda: eval(code, names), asked)
            assert result == examined(lambda: eval(code, names), asked)


# --- any sequence -----------------------------------------------------------------------------

numbers = st.sampled_from(
    [0.0, -0.0, 1.0, 0.5, float("nan"), 1e39, 0, 1, -3, 2**31, 2**70, True, np.float64(2), 1j]
)
arrays = st.sampled_from(
    [
        np.float32([1, -2]),
        np.float32([[1, 2], [3, 4]]),
        np.float64([0, 3]),
        np.int32([5, 0]),
        np.int64([1, 1]),
        np.uint8([200, 3]),
        np.array([True, False]),
        np.zeros((0, 2), np.float32),
        np.float32(3),
    ]
)
sizes = st.sampled_from([0, 1, -1, 2, [2], [-1], (2, 1), [1, 2], [0, 0], [], True, 1.0])
operands = numbers | arrays.map(lambda array: ("tensor", array)) | arrays
BINARY = [tf.add, tf.multiply, tf.subtract, tf.divide, tf.maximum, tf.less, tf.equal, tf.pow]
binary = st.tuples(
    st.sampled_from([*BINARY, tf.math.floordiv, tf.math.floormod, tf.matmul]),
    operands,
    operands,
)
OF_A_SIZE = [tf.reshape, tf.reduce_sum, tf.reduce_max, tf.expand_dims, tf.tile, tf.gather]
of_a_size = st.tuples(st.sampled_from([*OF_A_SIZE, tf.cumsum, tf.transpose]), arrays, sizes)
calls = st.tuples(
    binary | of_a_size,
    st.sampled_from(["/cpu:0", "/gpu:0", "/gpu:1"]),
    st.sampled_from([None, "/cpu:0", "/gpu:0", "/gpu:1", "/gpu:7"]),
    st.booleans(),
)


def as_given(operand):
    """A tensor of an array that is marked so; anything else as it is."""
    is_marked = isinstance(operand, tuple) and operand[0] == "tensor"
    return tf.constant(operand[1]) if is_marked else operand


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(calls, min_size=1, max_size=8))
def test_any_sequence_is_as_examined(sim, sequence):
    if len(tf.config.list_physical_devices("GPU")) != 2:
        sim("2xT4")  # and what one sequence leaves behind is there for the next
    for (function, *operands), home, device, soft in [*sequence, *sequence]:
        tf.config.set_soft_device_placement(soft)
        with tf.device(home):
            given = [as_given(operand) for operand in operands]

        def call(function=function, given=given):
            return function(*given)

        assert outcome(call, device) == examined(call, device)


@given(
    x=st.sampled_from([np.float32([1, -2]), np.float64([[0.5], [3]]), np.float32(2)]),
    numbers=st.lists(
        st.floats(width=32) | st.integers(-(2**20), 2**20), min_size=1, max_size=30
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_are_what_numpy_makes(sim, x, numbers):
    tensor = tf.constant(x)
    with np.errstate(all="ignore"):
        for number in numbers:
            expected = x * x.dtype.type(number)
            np.testing.assert_array_equal((tensor * number).numpy(), expected, strict=True)


# --- around the call --------------------------------------------------------------------------


def test_later_calls_are_logged_too(sim, caplog):
    sim("1xT4")
    x, matrix = tf.constant([1.0]), tf.ones([2, 2])
    tf.debugging.set_log_device_placement(True)
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            _ = x * 2.0, tf.matmul(matrix, matrix), tf.reshape(x, [1, 1])
    mul, matmul, reshape = (
        f"Executing op {n} in device {GPU_0}" for n in ("Mul", "MatMul", "Reshape")
    )
    number = f"Executing op _EagerConst in device {GPU_0}"
    logged = [record.getMessage() for record in caplog.records]
    assert logged == [number, mul, matmul, reshape, mul, matmul, reshape]


def test_tapes_record_later_calls(sim):
    sim("1xT4")
    x = tf.constant([1.0, 2.0])
    for factor in (3.0, -0.0, 3.0):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reshape(x * factor, [2, 1])[0]
        assert tape.gradient(y, x).numpy().tolist() == [factor, 0.0]


def test_policies_hold_for_later_calls(sim):
    sim("2xT4")
    here = tf.constant([1.0])
    with tf.device("/gpu:1"):
        there = tf.constant([2.0])
    for policy in ("silent", "explicit", "silent", "explicit"):
        tf.config.experimental.set_device_policy(policy)
        result = outcome(lambda: here + there)
        is_refused = result[0] is tf.errors.InvalidArgumentError
        assert is_refused == (policy == "explicit")


def test_variables_of_a_kind_share_entries(sim):
    sim("2xT4")
    made = []
    for device in ("/gpu:0", "/gpu:1", "/gpu:0", "/gpu:1"):
        with tf.device(device):
            made.append(tf.Variable([1.0, float(len(made))]))
    for variable in made:
        variable.assign_add([1.0, 1.0])
    assert [v.numpy().tolist() for v in made] == [[2, 1], [2, 2], [2, 3], [2, 4]]
    places = [GPU_0, GPU_1, GPU_0, GPU_1]
    assert [v.device for v in made] == places
    assert [v.is_initialized().device for v in made] == places


def test_variables_change_their_shapes():
    variable = tf.Variable([1.0], shape=tf.TensorShape(None))
    for value in ([1.0], [[1.0, 2.0]], 3.0, [1.0]):
        variable.assign(value)
        variable.assign_add(value)
        assert (variable * 2.0).numpy().tolist() == (4 * np.array(value)).tolist()


def test_writes_leave_read_values_alone():
    variable = tf.Variable([1.0, 2.0])
    seen = []
    for _ in range(3):
        seen.append((variable.read_value(), tf.reshape(variable, [2, 1]), variable[:1]))
        variable.assign_add([1.0, 1.0])
    firsts = [[float(tf.reshape(part, [-1])[0]) for part in parts] for parts in seen]
    assert firsts == [[1.0] * 3, [2.0] * 3, [3.0] * 3]


def test_running_out_of_memory_is_as_before(sim):
    sim("1xT4")
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("GPU")[0],
        [tf.config.LogicalDeviceConfiguration(memory_limit=16)],
    )
    x, kept = tf.ones([1 << 20]), []
    errors = []
    for _ in range(8):
        try:
            kept.append(x * 2.0)
        except tf.errors.ResourceExhaustedError as error:
            errors.append(str(error).splitlines()[0])
    first = f"OOM when allocating tensor with shape[1048576] and type float on {GPU_0} by allocator GPU_0_bfc [Op:Mul] name: "
    assert len(kept) == 2
    assert set(errors) == {first}
    kept.clear()
    assert (x * 2.0).numpy()[-1] == 2.0


def test_entries_go_with_their_devices(sim):
    sim("2xT4")
    with tf.device("/gpu:1"):
        x = tf.constant([1.0]) * 2.0
    tf.reset()
    tf.simulate("1xT4")
    for _ in range(2):
        assert outcome(lambda: x * 2.0) == (
            RuntimeError,
            "A tensor or variable on GPU:1 cannot be used any more: its devices went by berth.reset().",
        )
        assert (tf.constant([1.0]) * 2.0).device == GPU_0


def test_entries_keep_no_closed_devices(sim):
    sim("1xT4")
    place = ref((tf.constant([1.0]) * 2.0).place)
    tf.reset()
    _ = tf.constant([1.0]) * 2.0
    gc.collect()
    assert place() is None


# --- what is kept -----------------------------------------------------------------------------


def test_few_numbers_are_kept_on_devices(sim):
    sim("1xT4")
    x = tf.ones([4])
    before = in_use()
    for number in range(2 * conversion.MAX_NUMBERS):
        _ = x * float(number)
    del _
    assert 0 < in_use() - before <= conversion.MAX_NUMBERS * 256


def test_entries_keep_no_results(sim):
    sim("1xT4")
    x = tf.ones([1 << 16])

    @tf.custom_gradient
    def exp(x):
        e = tf.exp(x)
        return e, lambda grad: grad * e

    for function in (exp, tf.exp, lambda x: tf.reshape(x, [-1, 2]) + x[0]):
        function(x)
        gc.collect()
        before = in_use()
        function(x)
        gc.collect()
        assert in_use() == before


def test_cache_evicts_the_least_recently_used(monkeypatch):
    monkeypatch.setattr("berth.eager.builder.MAX_ENTRIES", 3)
    x = tf.ones([12])
    for size in (1, 2, 3, 4, 6, 12, 1, 2):
        assert tf.reshape(x, [size, -1]).dims == (size, 12 // size)
        assert len(eager_builder()._cache) <= 3
    assert eager_builder()._cache.info().evictions >= 5


def test_caches_are_bounded_whatever_the_shapes():
    for size in range(5_000):
        x = tf.zeros([size])
        _ = x + float(size)
    caches = (
        eager_builder()._cache,
        eager_builder()._converter._numbers,
        eager_builder().placer._choices,
    )
    for cache in caches:
        assert len(cache) <= cache.max_entries < 5_000


# --- the shape rule ---------------------------------------------------------------------------


@pytest.fixture
def n_inferred(monkeypatch):
    """How often the shape rule of each operation was applied, by any way to it."""
    counted = Counter()

    def count(op):
        def infer(inputs, attrs, rule=op.infer):
            counted[op.name] += 1
            return rule(inputs, attrs)

        return infer

    for op in CATALOGUE.values():
        monkeypatch.setattr(op, "infer", count(op))
    return counted


@pytest.mark.parametrize(
    "call",
    [
        "F + F",
        "F * 2.0",
        "tf.matmul(M, M)",
        "tf.reshape(M, [4])",
        "tf.reduce_sum(M, axis=1)",
        "tf.where(tf.equal(F, 1.5))",
        "tf.slice(F, [1], [1])",
        "M[0]",
        "tf.reverse(F, [0])",
        "V.assign_add(F)",
    ],
)
def test_shape_rules_run_once(n_inferred, call):
    names = {
        "tf": tf,
        "F": tf.constant([1.5, -2.0]),
        "M": tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        "V": tf.Variable([1.0, 2.0]),
    }
    n_inferred.clear()
    eval(call, names)
    assert n_inferred
    assert set(n_inferred.values()) == {1}


def test_cached_calls_run_no_shape_rule(n_inferred):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        _ = (
            tf.matmul(x, x),
            x + 2.0,
            tf.reduce_sum(x, 1),
            tf.nn.max_pool2d(x[None, ..., None], [2, 2], 1, "SAME"),
        )
    assert n_inferred["MatMul"] == n_inferred["AddV2"] == n_inferred["Sum"] == 1
    assert n_inferred["MaxPool"] == 1


def test_threads_share_the_cache(sim):
    sim("1xT4")
    wrong = []

    def work(first):
        for number in range(first, first + 100):
            n_elements = number % 5 + 1
            result = (tf.ones([n_elements]) * float(number % 40)).numpy()
            if result.tolist() != [number % 40] * n_elements:
                wrong.append((number, result))

    threads = [Thread(target=work, args=(first,)) for first in range(0, 60, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
