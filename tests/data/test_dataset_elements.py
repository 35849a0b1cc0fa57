"""Datasets read eagerly: structures, functions, errors in TensorFlow's words."""

from __future__ import annotations

import collections
import gc

import numpy as np
import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")

D = tf.data.Dataset


def numbers(dataset):
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


# --- structures -----------------------------------------------------------------------------


def test_elements_keep_their_structure():
    Point = collections.namedtuple("Point", "x y")
    data = {"b": (1, [2.0, 3.0]), "a": Point(np.arange(3), "text")}
    [element] = D.from_tensors(data)

    assert list(element) == ["b", "a"]
    assert isinstance(element["a"], Point)
    assert element["a"].y.numpy() == b"text"
    assert element["b"][1].numpy().tolist() == [2, 3]
    assert element["b"][0].dtype is tf.int32


def test_lists_are_tensors_and_returned_lists_are_tuples():
    assert D.from_tensors([1, 2]).element_spec == tf.TensorSpec([2], tf.int32)
    doubled = D.range(3).map(lambda x: [x, x + 1])
    assert doubled.element_spec == (tf.TensorSpec([], tf.int64),) * 2


def test_tuples_are_unpacked_for_functions_and_dicts_are_not():
    pairs = D.from_tensor_slices(([1, 2], [3, 4]))
    assert numbers(pairs.map(lambda x, y: x + y)) == [4, 6]
    named = D.from_tensor_slices({"x": [1, 2]})
    assert numbers(named.map(lambda row: row["x"] * 2)) == [2, 4]


def test_changing_an_array_later_changes_nothing():
    array = np.arange(3)
    dataset = D.from_tensor_slices(array)
    array[:] = 7
    assert numbers(dataset) == [0, 1, 2]


def test_tensors_are_on_the_cpu():
    assert next(iter(D.range(1))).device.endswith("CPU:0")


def test_iterators_end_and_stay_at_their_end():
    iterator = iter(D.range(1))
    assert iterator.get_next().numpy() == 0
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
    assert not iterator.get_next_as_optional().has_value()


def test_optionals_have_a_value_or_raise():
    iterator = iter(D.range(1))
    optional = iterator.get_next_as_optional()
    assert optional.has_value()
    assert optional.get_value().numpy() == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        tf.experimental.Optional.empty(tf.TensorSpec([])).get_value()


def test_cardinality_and_length():
    assert len(D.range(7).batch(2).repeat(3)) == 12
    assert D.range(5).repeat().cardinality().numpy() == tf.data.INFINITE_CARDINALITY
    assert D.range(5).filter(lambda x: x > 1).cardinality() == tf.data.UNKNOWN_CARDINALITY
    with pytest.raises(TypeError, match="The dataset length is unknown"):
        len(D.range(5).filter(lambda x: x > 1))
    with pytest.raises(TypeError, match="The dataset is infinite"):
        len(D.range(5).repeat())


def test_repr_is_tensorflows():
    assert repr(D.range(3).batch(2)) == (
        "<_BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.int64, name=None)>"
    )


# --- functions ------------------------------------------------------------------------------


def test_functions_are_traced_once():
    calls = []

    def double(x):
        calls.append(x)
        return x * 2

    dataset = D.range(50).map(double)
    assert numbers(dataset) == numbers(dataset) == list(range(0, 100, 2))
    assert len(calls) == 1


def test_functions_read_variables_as_they_are_then():
    variable = tf.Variable(1, dtype=tf.int64)
    dataset = D.range(3).map(lambda x: x + variable)
    assert numbers(dataset) == [1, 2, 3]
    variable.assign(10)
    assert numbers(dataset) == [10, 11, 12]


def test_functions_capture_tensors():
    offset = tf.constant([5, 6], tf.int64)
    assert numbers(D.range(2).map(lambda x: x + offset)) == [[5, 6], [6, 7]]
    assert numbers(D.range(1, 3).flat_map(lambda x: D.range(x).map(lambda y: x + y))) == [
        1,
        2,
        3,
    ]


def test_functions_may_call_python():
    seen = []

    def note(x):
        seen.append(int(x))
        return x + 1

    dataset = D.range(4).map(lambda x: tf.numpy_function(note, [x], tf.int64))
    assert numbers(dataset) == [1, 2, 3, 4]
    assert seen == [0, 1, 2, 3]


def test_functions_of_many_shapes_are_planned_for_each():
    assert numbers(D.range(4).map(tf.range)) == [[], [0], [0, 1], [0, 1, 2]]


def test_functions_may_be_random():
    tf.random.set_seed(1)
    drawn = numbers(D.range(4).map(lambda x: tf.random.uniform([])))
    assert len(set(drawn)) == 4


def test_functions_may_return_none():
    assert list(D.range(2).map(lambda x: None)) == [None, None]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.cast(x, tf.float32) * 0.1 + 3.0,
        lambda x: tf.maximum(tf.cast(x, tf.float16) * 1.7, 20.0),
        lambda x: (x - 3) * x,
        lambda x: tf.cast(x > 5, tf.int32),
        lambda x: (x, tf.constant(1)),
        lambda x: tf.constant(7) + 1,
        lambda x: x + tf.constant([1, 2], tf.int64),
    ],
)
def test_blocks_of_elements_give_the_same_bits_as_single_ones(function):
    dataset = D.range(600)
    together = list(dataset.map(function).as_numpy_iterator())
    single = list(dataset.filter(lambda x: True).map(function).as_numpy_iterator())
    for a, b in zip(together, single, strict=True):
        pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
        for left, right in pairs:
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes()


def test_reduce_combines_all_elements():
    total = D.range(5).reduce(np.int64(0), lambda state, x: state + x)
    assert total.numpy() == 10
    count, largest = D.range(5).reduce(
        (0, np.int64(-1)), lambda state, x: (state[0] + 1, tf.maximum(state[1], x))
    )
    assert (count.numpy(), largest.numpy()) == (5, 4)


def test_generators_are_called_for_each_iteration():
    def generate(n):
        yield from ({"x": k, "y": "a" * k} for k in range(n))

    signature = {"x": tf.TensorSpec([], tf.int32), "y": tf.TensorSpec([], tf.string)}
    dataset = D.from_generator(generate, args=(3,), output_signature=signature)
    for _ in range(2):
        assert [row["y"] for row in dataset.as_numpy_iterator()] == [b"", b"a", b"aa"]


def test_options_are_kept_and_merged():
    options = tf.data.Options()
    options.deterministic = False
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    more = tf.data.Options()
    more.threading.private_threadpool_size = 3
    merged = D.range(3).with_options(options).map(lambda x: x).with_options(more).options()
    assert merged.deterministic is False
    assert merged.threading.private_threadpool_size == 3
    assert merged.experimental_distribute.auto_shard_policy == 2
    with pytest.raises(AttributeError, match="Cannot set the property nonsense"):
        options.nonsense = 1


def test_a_cache_is_filled_by_a_whole_iteration(tmp_path):
    for filename in ("", str(tmp_path / "cache")):
        calls = []

        def note(x, calls=calls):
            calls.append(int(x))
            return x

        counted = D.range(3).map(lambda x, note=note: tf.numpy_function(note, [x], tf.int64))
        dataset = counted.map(lambda x: (x, tf.strings.as_string(x))).cache(filename)
        next(iter(dataset))
        gc.collect()
        assert list(dataset.as_numpy_iterator()) == [(0, b"0"), (1, b"1"), (2, b"2")]
        assert calls == [0, 0, 1, 2]
        assert list(dataset.as_numpy_iterator()) == [(0, b"0"), (1, b"1"), (2, b"2")]
        assert calls == [0, 0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["cache.cache"]


# --- errors ---------------------------------------------------------------------------------


def failing():
    return D.range(4).map(lambda x: 10 // (x - 1))


def test_an_error_names_the_function_and_its_line():
    iterator = iter(failing())
    assert next(iterator).numpy() == -10
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        next(iterator)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("Error in user-defined function passed to MapDataset:")
    assert first.endswith(
        "transformation with iterator: Iterator::Root::Map: Integer division by zero"
    )
    assert "test_dataset_elements.py" in rest[-1]
    assert "Dataset.map()" in rest[-1]


def test_iteration_goes_on_after_an_error():
    iterator = iter(failing().prefetch(2))
    found = []
    for _ in range(4):
        try:
            found.append(int(next(iterator)))
        except tf.errors.InvalidArgumentError:
            found.append(None)
    assert found == [-10, None, 10, 5]
    assert numbers(failing().ignore_errors()) == [-10, 10, 5]
    assert numbers(failing().apply(tf.data.experimental.ignore_errors())) == [-10, 10, 5]


def raised(function):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function()
    return type(caught.value).__name__, str(caught.value).splitlines()[0]


ERRORS = {
    "batch of shapes": (
        lambda: list(D.range(1, 4).map(tf.range).batch(2)),
        "InvalidArgumentError",
        "Cannot batch tensors with different shapes in component 0. First element had shape [1] "
        "and element 1 had shape [2].",
    ),
    "batch of none": (
        lambda: D.range(3).batch(0),
        "InvalidArgumentError",
        "Batch size must be greater than zero.",
    ),
    "buffer of none": (
        lambda: D.range(3).shuffle(0),
        "InvalidArgumentError",
        "buffer_size must be greater than zero or UNKNOWN_CARDINALITY",
    ),
    "shard": (
        lambda: D.range(3).shard(2, 2),
        "InvalidArgumentError",
        "Index must be between 0 and 1 (currently index = 2).",
    ),
    "window": (
        lambda: D.range(3).window(0),
        "InvalidArgumentError",
        "Window size must be greater than zero.",
    ),
    "cycle": (
        lambda: D.range(3).interleave(D.range, cycle_length=0),
        "InvalidArgumentError",
        "cycle_length must be greater than zero.",
    ),
    "scalars": (
        lambda: D.from_tensor_slices(1),
        "ValueError",
        "Unbatching a tensor is only supported for rank >= 1",
    ),
    "sizes": (
        lambda: D.from_tensor_slices(([1, 2], [1, 2, 3])),
        "ValueError",
        "Dimensions 2 and 3 are not compatible",
    ),
    "predicate": (
        lambda: D.range(3).filter(lambda x: x),
        "ValueError",
        "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return "
        "type is TensorSpec(shape=(), dtype=tf.int64, name=None).",
    ),
    "unbatch": (
        lambda: D.range(3).unbatch(),
        "ValueError",
        "Cannot unbatch an input with scalar components.",
    ),
    "zip": (
        lambda: D.zip(1),
        "TypeError",
        "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
        "`tf.data.Dataset` objects but encountered object of type <class 'int'>.",
    ),
    "range": (
        D.range,
        "ValueError",
        "Invalid `args`. The length of `args` should be between 1 and 3 but was 0.",
    ),
    "concatenate": (
        lambda: D.range(3).concatenate(D.from_tensors(1.0)),
        "TypeError",
        "Incompatible dataset elements:",
    ),
    "generator": (
        lambda: D.from_generator(1),
        "TypeError",
        "`generator` must be a Python callable.",
    ),
    "generated shape": (
        lambda: list(D.from_generator(lambda: iter([[1, 2, 3]]), tf.int32, [2])),
        "InvalidArgumentError",
        "TypeError: `generator` yielded an element of shape (3,) where an element of shape (2,) "
        "was expected.",
    ),
    "padded": (
        lambda: list(D.range(3).map(tf.range).padded_batch(3, [1])),
        "DataLossError",
        "Attempted to pad to a smaller size than the input element.",
    ),
    "padded rank": (
        lambda: D.range(3).padded_batch(2, padded_shapes=[None]),
        "ValueError",
        "The padded shape (None,) is not compatible with the shape () of the corresponding input "
        "component.",
    ),
    "function": (
        lambda: D.range(3).map(1),
        "ValueError",
        "Argument `func` must be a callable. Received func=1 (of type <class 'int'>)",
    ),
    "count": (
        lambda: D.range(3).take("a"),
        "TypeError",
        "Cannot convert 'a' to EagerTensor of dtype int64",
    ),
    "state": (
        lambda: D.range(3).reduce(np.int64(0), lambda s, x: tf.cast(x, tf.int32)),
        "TypeError",
        "The element types for the new state must match the initial state. Expected <dtype: "
        "'int64'> but got <dtype: 'int32'>.",
    ),
    "single": (
        lambda: D.range(3).get_single_element(),
        "InvalidArgumentError",
        "Dataset had more than one element.",
    ),
    "files": (
        lambda: D.list_files("/nonexistent/*"),
        "InvalidArgumentError",
        "No files matched pattern: /nonexistent/*",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_tensorflows(case):
    function, kind, message = ERRORS[case]
    assert raised(function) == (kind, message)


def test_a_python_error_in_a_function_is_unknown():
    dataset = D.range(2).map(lambda x: tf.numpy_function(lambda v: {}[1], [x], tf.int64))
    with pytest.raises(tf.errors.UnknownError, match="KeyError: 1"):
        list(dataset)


def test_a_dataset_in_a_function_is_not_iterated_over():
    with pytest.raises(RuntimeError, match="only supports Python-style iteration"):
        tf.function(lambda: list(D.range(3)))()


def test_names_that_do_not_exist_are_explained():
    with pytest.raises(AttributeError, match=r"Did you mean"):
        _ = tf.data.Datasets


def test_a_function_reads_an_element_in_each_call():
    iterator = iter(D.range(3).map(lambda x: (x, x * 2)))

    @tf.function
    def step():
        x, y = next(iterator)
        return x + y

    assert [step().numpy(), step().numpy(), int(next(iterator)[0])] == [0, 3, 2]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        step()
