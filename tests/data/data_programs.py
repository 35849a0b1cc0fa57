"""Pipelines that TensorFlow ran once: what came out is in tensorflow_orders.json.

To record it again, call `result` on each of `PROGRAMS` with ``tensorflow`` in the place of berth.
"""

from __future__ import annotations

import itertools
from typing import Any

SEED = 42


def _shuffled(n: int, buffer: int, seed: int, repeat: int | None, reshuffles: bool) -> Any:
    def program(tf: Any) -> Any:
        dataset = tf.data.Dataset.range(n).shuffle(
            buffer, seed=seed, reshuffle_each_iteration=reshuffles
        )
        return dataset if repeat is None else dataset.repeat(repeat)

    return program


PROGRAMS = {
    f"shuffle n={n} buffer={b} seed={s} repeat={r} reshuffles={e}": _shuffled(n, b, s, r, e)
    for (n, b), s, r, e in itertools.product(
        [(1, 1), (7, 3), (20, 5), (20, 64), (33, 33)],
        [0, 1, 2**31 + 5],
        [None, 3],
        [True, False],
    )
}


def _named(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


@_named
def shuffle_without_a_seed_of_its_own(tf):
    return tf.data.Dataset.range(12).shuffle(6)


@_named
def shuffle_then_batch_then_repeat(tf):
    return tf.data.Dataset.range(10).shuffle(4, seed=1).batch(4).repeat(2)


@_named
def shuffle_twice(tf):
    return tf.data.Dataset.range(12).shuffle(4, seed=1).shuffle(5, seed=2)


@_named
def shuffle_of_a_repeated_range(tf):
    return tf.data.Dataset.range(6).repeat(3).shuffle(7, seed=3)


@_named
def shuffle_and_repeat(tf):
    return tf.data.Dataset.range(6).apply(tf.data.experimental.shuffle_and_repeat(4, 3, seed=9))


@_named
def zip_of_one_shuffled_dataset_twice(tf):
    shuffled = tf.data.Dataset.range(6).shuffle(6, seed=1)
    return tf.data.Dataset.zip((shuffled, shuffled))


@_named
def concatenation_of_one_shuffled_dataset_twice(tf):
    shuffled = tf.data.Dataset.range(6).shuffle(6, seed=1)
    return shuffled.concatenate(shuffled)


@_named
def shuffle_of_each_inner_dataset(tf):
    def inner(x):
        return tf.data.Dataset.range(x, x + 5).shuffle(5, seed=1)

    return tf.data.Dataset.range(3).flat_map(inner)


@_named
def cache_before_shuffle(tf):
    return tf.data.Dataset.range(8).cache().shuffle(8, seed=1).repeat(2)


@_named
def cache_after_shuffle(tf):
    return tf.data.Dataset.range(8).shuffle(8, seed=1).cache().repeat(2)


def _interleaved(cycle, block, calls):
    def program(tf):
        def inner(x):
            return tf.data.Dataset.range(10 * x, 11 * x)

        return tf.data.Dataset.range(1, 6).interleave(
            inner, cycle_length=cycle, block_length=block, num_parallel_calls=calls
        )

    return program


for _cycle, _block, _calls in [
    (1, 1, None),
    (2, 1, None),
    (3, 2, None),
    (9, 3, None),
    (3, 2, 2),
]:
    PROGRAMS[f"interleave cycle={_cycle} block={_block} calls={_calls}"] = _interleaved(
        _cycle, _block, _calls
    )


def _windows(size, shift, stride, drops):
    def program(tf):
        windows = tf.data.Dataset.range(7).window(size, shift, stride, drops)
        return windows.flat_map(lambda window: window.batch(size))

    return program


for _size, _shift, _stride, _drops in [
    (3, None, 1, False),
    (3, 1, 1, True),
    (2, 4, 1, False),
    (3, 1, 2, False),
    (3, 2, 2, True),
    (2, 3, 3, True),
    (9, 1, 1, False),
]:
    PROGRAMS[f"window {_size} {_shift} {_stride} {_drops}"] = _windows(
        _size, _shift, _stride, _drops
    )


@_named
def padded_batches(tf):
    rows = tf.data.Dataset.range(1, 6).map(lambda x: tf.fill([x], x))
    return rows.padded_batch(2, padded_shapes=[None], padding_values=tf.constant(-1, tf.int64))


@_named
def padded_to_a_given_shape(tf):
    rows = tf.data.Dataset.range(1, 4).map(lambda x: (tf.fill([x], x), x))
    return rows.padded_batch(2, ([5], []), drop_remainder=True)


@_named
def buckets_by_length(tf):
    rows = tf.data.Dataset.range(1, 10).map(lambda x: tf.fill([x % 5 + 1], x))
    return rows.bucket_by_sequence_length(
        lambda row: tf.shape(row)[0], [3, 5], [2, 2, 3], padding_values=tf.constant(0, tf.int64)
    )


@_named
def buckets_padded_to_their_boundaries(tf):
    rows = tf.data.Dataset.range(1, 10).map(lambda x: tf.fill([x % 4 + 1], x))
    return rows.bucket_by_sequence_length(
        lambda row: tf.shape(row)[0], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True
    )


@_named
def groups_by_a_key(tf):
    return tf.data.Dataset.range(10).group_by_window(
        lambda x: x % 3, lambda key, group: group.batch(3), window_size=3
    )


@_named
def filtered_enumerated_and_sharded(tf):
    kept = tf.data.Dataset.range(20).filter(lambda x: x % 3 > 0)
    return kept.enumerate(start=5).shard(2, 1)


@_named
def unbatched_slices(tf):
    slices = tf.data.Dataset.from_tensor_slices({"a": [[1, 2], [3, 4]], "b": [[5, 6], [7, 8]]})
    return slices.unbatch()


@_named
def unique_elements(tf):
    return tf.data.Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique()


@_named
def scanned_and_taken(tf):
    def add(state, x):
        return state + x, state + x

    sums = tf.data.Dataset.range(10).scan(tf.constant(0, tf.int64), add)
    return sums.take_while(lambda x: x < 20)


@_named
def chosen_from_two(tf):
    choice = tf.data.Dataset.from_tensor_slices(tf.constant([0, 1, 1, 0, 1, 1, 0], tf.int64))
    pair = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)]
    return tf.data.Dataset.choose_from_datasets(pair, choice)


@_named
def chosen_until_all_are_empty(tf):
    choice = tf.data.Dataset.from_tensor_slices(tf.constant([1, 1, 1, 1, 0, 1, 0], tf.int64))
    pair = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)]
    return tf.data.Dataset.choose_from_datasets(pair, choice, False)


@_named
def random_integers(tf):
    return tf.data.Dataset.random(seed=4).take(5)


@_named
def strings_and_their_batches(tf):
    words = tf.data.Dataset.from_tensor_slices(["a", "bc", "d"])
    return words.map(lambda word: (word, tf.strings.join([word, "!"]))).batch(2)


@_named
def a_window_within_a_dictionary(tf):
    pairs = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [4, 5, 6]})
    return pairs.window(2).flat_map(lambda w: tf.data.Dataset.zip((w["a"], w["b"])))


def plain(value: Any) -> Any:
    """Return an element as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def result(tf: Any, program: Any) -> Any:
    """Run a program: its spec, its cardinality, and the elements of two iterations."""
    dataset = program(tf)
    rounds = [[plain(x) for x in dataset.as_numpy_iterator()] for _ in range(2)]
    return [str(dataset.element_spec), int(dataset.cardinality()), rounds]
