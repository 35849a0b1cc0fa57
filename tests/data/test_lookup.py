"""tf.lookup: values and errors are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
import berth.compat.v1 as tf1

pytestmark = pytest.mark.usefixtures("eager")
WORDS, LINES = -2, -1


def long(*numbers):
    return tf.constant(numbers, tf.int64)


def static(keys, values, default, **options):
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, values, **options), default
    )


def vocabulary(n_buckets, **options):
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], long(0, 1))
    return tf.lookup.StaticVocabularyTable(words, n_buckets, **options)


def changing(**options):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, **options)
    table.insert(["a", "b"], [1, 2])
    return table


def dense():
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -9)
    table.insert(long(11, 12), long(1, 2))
    return table


@pytest.fixture
def files(tmp_path):
    (tmp_path / "words").write_text("x\ny\nz\n")
    (tmp_path / "pairs").write_text("x\t1\ny\t2\n")
    return tmp_path


def of_file(path, *columns, default=-1, **options):
    reading = tf.lookup.TextFileInitializer(str(path), *columns, **options)
    return tf.lookup.StaticHashTable(reading, default)


VALUES = [
    (lambda: static(["a", "b"], [1, 2], -1).lookup(tf.constant(["a", "z"])), [1, -1]),
    (lambda: static(["a", "a"], [2, 2], -1).size(), 1),
    (lambda: static([["a", "b"]], [[2, 3]], -1).size(), 2),
    (lambda: static([1, 2], [2.5, 3], 1).lookup(tf.constant([[1], [5]])), [[2.5], [1.0]]),
    (
        lambda: static([1, 2], ["a", "b"], "?", key_dtype=tf.int64).lookup(long(1, 5)),
        [b"a", b"?"],
    ),
    (lambda: vocabulary(3).lookup(tf.constant(["a", "b", "zz", "emerson"])), [0, 1, 3, 3]),
    (lambda: vocabulary(3).size(), 5),
    (
        lambda: tf.lookup.StaticVocabularyTable(None, 4).lookup(tf.constant(["a", "q"])),
        [3, 1],
    ),
    (
        lambda: tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(long(5, 6), long(0, 1)),
            2,
            lookup_key_dtype=tf.int32,
        ).lookup(tf.constant([5, 7, 8])),
        [0, 2, 3],
    ),
    (lambda: changing().lookup(["a", "b", "c"]), [1, 2, -1]),
    (lambda: changing()["b"], 2),
    (lambda: changing().lookup(["a", "q"], dynamic_default_values=[7, 8]), [1, 8]),
    (lambda: dense().lookup(long(11, 9)), [1, -1]),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_lookups_have_tensorflow_s_values(number):
    make, expected = VALUES[number]
    assert make().numpy().tolist() == expected


ERRORS = [
    (
        lambda: static(["a"], [1], -1).lookup(tf.constant([1])),
        TypeError,
        "Dtype of argument `keys` must be <dtype: 'string'>, received: <dtype: 'int32'>",
    ),
    (
        lambda: static(["a"], [1], -1).lookup(["a"]),
        AttributeError,
        "'list' object has no attribute 'dtype'",
    ),
    (
        lambda: static(["a", "a"], [1, 2], -1),
        tf.errors.FailedPreconditionError,
        "HashTable has different value for same key. Key a has 1 and trying to add value 2",
    ),
    (
        lambda: static(["a", "b"], [2], -1),
        tf.errors.InvalidArgumentError,
        "Expected shape [2] for value, got [1]",
    ),
    (lambda: static(["a"], [1], [1, 2]), ValueError, "Shapes (2,) and () are not compatible"),
    (lambda: vocabulary(0), ValueError, "`num_oov_buckets` must be > 0; use StaticHashTable."),
    (
        lambda: vocabulary(2, lookup_key_dtype=tf.int64),
        TypeError,
        "Invalid `key_dtype`, expected integer but got <dtype: 'string'>.",
    ),
    (
        lambda: changing().insert(["a"], [1, 2]),
        tf.errors.InvalidArgumentError,
        "Expected shape [1] for value, got [2]",
    ),
    (
        lambda: changing().remove(tf.constant([1])),
        TypeError,
        "Dtype of argument `keys` must be <dtype: 'string'>, received: <dtype: 'int32'>",
    ),
    (
        lambda: dense().insert(long(0), long(1)),
        tf.errors.InvalidArgumentError,
        "Using the empty_key as a table key is not allowed",
    ),
    (
        lambda: dense().lookup(long(-9)),
        tf.errors.InvalidArgumentError,
        "Using the deleted_key as a table key is not allowed",
    ),
    (
        lambda: tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, 0),
        tf.errors.InvalidArgumentError,
        "Empty and deleted keys cannot be equal",
    ),
    (
        lambda: tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.int64, -1, 0, 1, initial_num_buckets=5
        ),
        tf.errors.InvalidArgumentError,
        "Number of buckets must be at least 4 and a power of 2, got: 5",
    ),
    (
        lambda: tf.lookup.TextFileInitializer("", tf.string, 0, tf.int64, 1),
        ValueError,
        "`filename` argument required for tf.lookup.TextFileInitializer",
    ),
    (
        lambda: tf.lookup.TextFileInitializer("x", tf.string, -3, tf.int64, 1),
        ValueError,
        "`key_index` should be >= -2, received: -3.",
    ),
    (
        lambda: tf.lookup.TextFileInitializer("x", tf.string, LINES, tf.int64, 1),
        ValueError,
        "`key_dtype` must be int64 if `key_index` is -1, received: <dtype: 'string'>",
    ),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_are_tensorflow_s(number):
    make, kind, message = ERRORS[number]
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value).partition("\n")[0] == message


def test_float_keys_have_no_table():
    with pytest.raises(tf.errors.NotFoundError, match="Could not find device for node"):
        static([1.0], [2], 0)


def test_files_fill_tables(files):
    words = (tf.string, WORDS, tf.int64, LINES)
    of_words = of_file(files / "words", *words)
    assert of_words.lookup(tf.constant(["y", "q"])).numpy().tolist() == [1, -1]
    shifted = of_file(files / "words", *words, value_index_offset=5)
    assert shifted.lookup(tf.constant(["y"])).numpy().tolist() == [6]
    assert of_file(files / "words", *words, vocab_size=2).size().numpy() == 2
    of_numbers = of_file(files / "words", tf.int64, LINES, tf.string, WORDS, default="?")
    assert of_numbers.lookup(long(0, 9)).numpy().tolist() == [b"x", b"?"]
    keys, values = of_file(files / "pairs", tf.string, 0, tf.float32, 1).export()
    assert (keys.numpy().tolist(), values.numpy().tolist()) == ([b"x", b"y"], [1.0, 2.0])


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ((1, 0), {}, "Field x in line 0 is not a valid int64."),
        (
            (0, 2),
            {},
            "Invalid number of columns in pairs line 0 (x\t1) : expected at least 3 got 2",
        ),
        ((0, 1), {"delimiter": ",,"}, "delimiter should be only 1 char"),
        ((0, 1), {"vocab_size": 9}, "Invalid vocab_size in pairs: expected 9 but got 2"),
    ],
)
def test_files_that_do_not_fit(files, monkeypatch, columns, options, message):
    monkeypatch.chdir(files)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        of_file("pairs", tf.string, columns[0], tf.int64, columns[1], **options)
    assert str(caught.value).partition("\n")[0] == message


def test_a_missing_file_is_not_found(tmp_path):
    path = tmp_path / "none"
    with pytest.raises(tf.errors.NotFoundError) as caught:
        of_file(path, tf.string, 0, tf.int64, 1)
    assert str(caught.value).partition("\n")[0] == f"{path}; No such file or directory"


def test_mutable_tables_change():
    table = changing()
    table.remove(tf.constant(["a", "zz"]))
    keys, values = table.export()
    assert (keys.numpy().tolist(), values.numpy().tolist()) == ([b"b"], [2])
    vectors = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [1.0, 2.0])
    vectors.insert(long(1), [[3.0, 4.0]])
    found = vectors.lookup(tf.constant([[1, 5]], tf.int64))
    assert found.numpy().tolist() == [[[3.0, 4.0], [1.0, 2.0]]]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        vectors.insert(long(1), [[3.0, 4.0, 5.0]])
    assert str(caught.value).startswith("Expected shape [1,2] for value, got [1,3]")


def test_functions_use_tables_of_the_program():
    table, words = changing(), static(["a", "b"], [1, 2], -1)

    @tf.function
    def add(keys):
        table.insert(keys, long(9))
        return table.lookup(keys), words.lookup(keys), table.size()

    assert [each.numpy().tolist() for each in add(tf.constant(["n"]))] == [[9], [-1], 3]
    assert table.lookup(["n"]).numpy().tolist() == [9]


def test_a_function_makes_its_table_once():
    made = []

    @tf.function
    def look(keys):
        if not made:
            made.append(static(["a"], [5], -1))
        return made[0].lookup(keys)

    assert look(tf.constant(["a"])).numpy().tolist() == [5]
    assert made[0].lookup(tf.constant(["b"])).numpy().tolist() == [-1]


def test_datasets_map_tables():
    words = static(["a", "b"], [1, 2], -1)
    dataset = tf.data.Dataset.from_tensor_slices(["a", "q"]).map(words.lookup)
    assert list(dataset.as_numpy_iterator()) == [1, -1]


def test_sessions_have_tables_of_their_own():
    with tf.Graph().as_default():
        words = tf1.lookup.StaticHashTable(
            tf1.lookup.KeyValueTensorInitializer(["a"], [1]), -1, name="words"
        )
        found = words.lookup(tf.constant(["a", "q"]))
        assert (words.name, found.op.name) == ("words", "words_Lookup/LookupTableFindV2")
        initialize = tf1.tables_initializer()
        with tf1.Session() as session:
            with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
                session.run(found)
            session.run(initialize)
            session.run(initialize)
            np.testing.assert_array_equal(session.run(found), [1, -1])
        with tf1.Session() as other, pytest.raises(tf.errors.FailedPreconditionError):
            other.run(found)


def test_contrib_tables_in_a_dataset_of_a_session(files):
    lookup = tf1.contrib.lookup
    with tf.Graph().as_default(), tf1.Session() as session:
        table = lookup.index_table_from_tensor(["x", "y", "z"], num_oov_buckets=1)
        dataset = tf1.data.Dataset.from_tensor_slices(["x", "q", "z"]).map(table.lookup)
        iterator = tf1.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        back = lookup.index_to_string_table_from_file(str(files / "words"))
        texts = back.lookup(long(1, 9))
        session.run(tf1.tables_initializer())
        session.run(iterator.initializer)
        assert [session.run(following) for _ in range(3)] == [0, 3, 2]
        assert session.run(texts).tolist() == [b"y", b"UNK"]
