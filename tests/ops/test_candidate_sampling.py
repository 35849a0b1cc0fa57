"""Candidate samplers and sampled losses: TensorFlow 2.21's values, for the same seeds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf

RECORDED = json.loads((Path(__file__).parent / "candidate_samplers.json").read_text())
ONE = np.array([[1], [3], [0]], np.int64)
TWO = np.array([[1, 2], [3, 9], [0, 4]], np.int64)
WEIGHTS = [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10]

SAMPLERS = {
    "uniform": lambda u: tf.nn.uniform_candidate_sampler(ONE, 1, 5, u, 10, seed=3),
    "uniform_pow2": lambda u: tf.nn.uniform_candidate_sampler(TWO, 2, 5, u, 16, seed=3),
    "log": lambda u: tf.nn.log_uniform_candidate_sampler(TWO, 2, 5, u, 20, seed=4),
    "learned": lambda u: tf.nn.learned_unigram_candidate_sampler(TWO, 2, 4, u, 12, seed=5),
    "fixed": lambda u: tf.nn.fixed_unigram_candidate_sampler(
        TWO, 2, 4, u, 10, unigrams=WEIGHTS, distortion=0.75, seed=6
    ),
    "fixed_res": lambda u: tf.nn.fixed_unigram_candidate_sampler(
        TWO, 2, 4, u, 12, unigrams=WEIGHTS, num_reserved_ids=2, seed=6
    ),
    "all": lambda u: tf.nn.all_candidate_sampler(ONE, 1, 4, u, seed=6),
}


@pytest.fixture
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def check(found, recorded):
    for array, expected in zip(found, recorded, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_unique", [True, False], ids=["unique", "repeated"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_samples_are_tensorflows_in_every_run(graph, name, is_unique):
    sampled = SAMPLERS[name](is_unique)
    with tf.Session() as session:
        for recorded in RECORDED[f"{name}_{is_unique}"]:
            check(session.run(list(sampled)), recorded)


def test_weights_are_read_from_a_file(graph, tmp_path):
    (tmp_path / "words.csv").write_text("a,3\nb,1\nc,5\nd,2\n")
    sampled = tf.nn.fixed_unigram_candidate_sampler(
        [[1], [2]], 1, 3, True, 4, vocab_file=str(tmp_path / "words.csv"), seed=6
    )
    with tf.Session() as session:
        check(session.run(list(sampled)), RECORDED["fixed_file"][0])


def test_hits_are_found(graph):
    hits = tf.nn.compute_accidental_hits(TWO, [3, 4, 1, 7, 3], 2)
    with tf.Session() as session:
        check(session.run(list(hits)), RECORDED["hits"][0])


LOSSES = {
    "nce": {},
    "nce_hits": {"remove_accidental_hits": True},
    "nce2": {"num_true": 2},
    "nce_parts": {"partition_strategy": "mod"},
    "soft": {},
    "soft_nohits": {"remove_accidental_hits": False},
    "soft2": {"num_true": 2},
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_gradients_are_tensorflows(graph, name):
    random = np.random.RandomState(0)
    shapes = ((20, 3), (20,), (3, 3))
    tables = [tf.constant(random.randn(*shape).astype(np.float32)) for shape in shapes]
    weights, biases, inputs = tables
    arguments = {
        "weights": [weights[0::2], weights[1::2]] if name == "nce_parts" else weights,
        "biases": biases,
        "labels": tf.constant(TWO if "num_true" in LOSSES[name] else ONE),
        "inputs": inputs,
        "num_sampled": 5,
        "num_classes": 20,
        **LOSSES[name],
    }
    if name.startswith("nce"):
        tf.set_random_seed(7)
        loss = tf.nn.nce_loss(**arguments)
    else:
        loss = tf.nn.sampled_softmax_loss(seed=7, **arguments)
    gradients = [tf.convert_to_tensor(grad) for grad in tf.gradients(loss, tables)]
    with tf.Session() as session:
        for recorded in RECORDED[name]:
            check(session.run([loss, *gradients]), recorded)


def test_losses_of_eager_programs(eager):
    """If all classes are sampled, and are not removed, it is the softmax over all of them."""
    weights, biases = np.eye(3, dtype=np.float32), np.zeros(3, np.float32)
    labels, inputs = np.array([[1], [2]]), np.float32([[1, 2, 3], [0, 0, 1]])
    sampled = tf2.random.all_candidate_sampler(labels, 1, 3, True)
    loss = tf2.nn.sampled_softmax_loss(weights, biases, labels, inputs, 3, 3, 1, sampled)
    others = np.log(np.exp(inputs).sum(1)) - inputs[[0, 1], labels[:, 0]]
    np.testing.assert_allclose(loss, others, rtol=1e-5)
    assert tf2.nn.nce_loss(weights, biases, labels, inputs, 3, 3).shape == (2,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda r: r.uniform_candidate_sampler(ONE, 1, 11, True, 10),
            "Sampler's range is too small.",
        ),
        (
            lambda r: r.uniform_candidate_sampler(ONE, 2, 5, True, 10),
            "true_classes must have num_true columns, expected: 1 was: 2",
        ),
        (
            lambda r: r.fixed_unigram_candidate_sampler(ONE, 1, 5, True, 10),
            "Must provide either vocab_file or unigrams.",
        ),
        (
            lambda r: r.fixed_unigram_candidate_sampler(
                ONE, 1, 5, True, 10, vocab_file="x", unigrams=[1.0]
            ),
            "Must only provide one of vocab_file and unigrams.",
        ),
        (
            lambda r: r.fixed_unigram_candidate_sampler(ONE, 1, 5, True, 10, unigrams=[1.0, 2]),
            "range is 10 must be equal to weights size  2",
        ),
        (
            lambda r: r.log_uniform_candidate_sampler([[12]], 1, 2, True, 4),
            "`true_candidate` out of range [0, 4), received 12",
        ),
        (
            lambda r: r.fixed_unigram_candidate_sampler(
                [[0]], 1, 3, True, 3, unigrams=[1.0, 0.0, 1.0]
            ),
            "Sampler's range is too small.",
        ),
    ],
)
def test_what_cannot_be_sampled(eager, make, message):
    with pytest.raises(tf2.errors.InvalidArgumentError) as error:
        make(tf2.random)
    assert message in str(error.value).splitlines()[0]
