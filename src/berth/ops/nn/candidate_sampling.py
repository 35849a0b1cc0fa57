"""Candidate samplers: classes to compare with, drawn as TensorFlow draws them.

Each operation has a generator of its own (`random.seeded`); the values are TensorFlow's for
the same seeds. They run on the CPU, as TensorFlow's do.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import float32, int64
from berth.errors import InvalidArgumentError
from berth.file_errors import naming
from berth.ops.attributes import check_least
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.nn.range_samplers import (
    FixedUnigramSampler,
    LearnedUnigramSampler,
    LogUniformSampler,
    RangeSampler,
    UniformSampler,
    expected_counts,
    sample_batch,
)
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.random.seeded import get_seed, memory_of, reserve
from berth.ops.random.simple_philox import SimplePhilox
from berth.ops.rules import ShapeMismatch
from berth.public import public, public_v1

_WORDS_PER_SAMPLE = 2048
"""How many words of 32 bits TensorFlow sets aside for each sample."""

MakeSampler = Callable[[Attrs], RangeSampler]


class Candidates(NamedTuple):
    """Sampled classes, and how often true and sampled classes are expected in such a sample."""

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


# --- kernels ----------------------------------------------------------------------------------


def _candidates_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = inputs[0].dims
    n_true, n_sampled = attrs["num_true"], attrs["num_sampled"]
    if dims is not None and len(dims) != 2:
        rank = len(dims)
        message = f"Shape must be rank 2 but is rank {rank}"
        raise ShapeMismatch(message, "true_classes must be a matrix")
    if dims is not None and dims[1] not in (None, n_true):
        raise InvalidArgumentError(
            None,
            None,
            f"true_classes must have num_true columns, expected: {dims[1]} was: {n_true}",
        )
    n_rows = None if dims is None else dims[0]
    return ((int64, (n_sampled,)), (float32, (n_rows, n_true)), (float32, (n_sampled,)))


def _sampler_op(name: str, make: MakeSampler, sample_attrs: str) -> OpDef:
    def bind(launch: Launch) -> Call:
        return _sample, (memory_of(launch), make, launch.attrs, *launch.inputs, launch.outputs)

    return OpDef(
        name,
        "true_classes:int64",
        _candidates_type,
        kernels=host_only(bind),
        is_stateful=True,
        gradient=NOT_DIFFERENTIABLE,
        samples=(f"np.array([[1, 2], [3, 0]]), num_true=2, {sample_attrs}, seed=1, seed2=2",),
    )


def _sample(
    memory: dict[str, Any], make: MakeSampler, attrs: Attrs, true_classes: Any, outputs: Any
) -> None:
    n_samples, is_unique = attrs["num_sampled"], attrs["unique"]
    generator = reserve(memory, 0, _WORDS_PER_SAMPLE * n_samples // 4)
    with memory["lock"]:
        sampler = memory.get("sampler") or memory.setdefault("sampler", make(attrs))
        _check(sampler, true_classes, n_samples, is_unique)
        random = SimplePhilox(generator)
        classes, n_draws = sample_batch(sampler, random, n_samples, is_unique)
        counts = [
            expected_counts(sampler.probabilities(each), n_samples, n_draws)
            for each in (true_classes, classes)
        ]
        sampler.update(true_classes)
    for out, found in zip(outputs, (classes, *counts), strict=True):
        out[...] = found


def _check(sampler: RangeSampler, true_classes: Any, n_samples: int, is_unique: bool) -> None:
    range_max = sampler.range_max
    if is_unique and n_samples > sampler.n_possible:
        raise InvalidArgumentError(None, None, "Sampler's range is too small.")
    wrong = true_classes[(true_classes < 0) | (true_classes >= range_max)]
    if wrong.size:
        raise InvalidArgumentError(
            None,
            None,
            f"`true_candidate` out of range [0, {range_max}), received {wrong.flat[0]}",
        )


UNIFORM = _sampler_op(
    "UniformCandidateSampler",
    lambda attrs: UniformSampler(attrs["range_max"]),
    "num_sampled=3, unique=True, range_max=10",
)
LOG_UNIFORM = _sampler_op(
    "LogUniformCandidateSampler",
    lambda attrs: LogUniformSampler(attrs["range_max"]),
    "num_sampled=3, unique=True, range_max=10",
)
LEARNED_UNIGRAM = _sampler_op(
    "LearnedUnigramCandidateSampler",
    lambda attrs: LearnedUnigramSampler(attrs["range_max"]),
    "num_sampled=3, unique=False, range_max=10",
)


def _fixed_sampler(attrs: Attrs) -> RangeSampler:
    weights = list(attrs["unigrams"]) or _read_weights(attrs["vocab_file"])
    shard, n_shards = attrs["shard"], attrs["num_shards"]
    n_reserved = attrs["num_reserved_ids"]
    if n_shards > 1:
        weights = [w for k, w in enumerate(weights, n_reserved) if k % n_shards == shard]
        n_reserved = len(range(shard, n_reserved, n_shards)) if shard < n_shards else 0
    n_weights = len(weights) + n_reserved
    if n_weights != attrs["range_max"]:
        raise InvalidArgumentError(
            None,
            None,
            f"range is {attrs['range_max']} must be equal to weights size  {n_weights}",
        )
    return FixedUnigramSampler(weights, attrs["distortion"], n_reserved)


def _read_weights(path: str) -> list[float]:
    """Read the last column of a CSV file."""
    with naming(path), open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        return [float(row[-1]) for row in rows]
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"Wrong vocabulary format: {error}") from None


FIXED_UNIGRAM = _sampler_op(
    "FixedUnigramCandidateSampler",
    _fixed_sampler,
    "num_sampled=3, unique=True, range_max=4, vocab_file='', distortion=0.5, "
    "num_reserved_ids=0, num_shards=1, shard=0, unigrams=[1.0, 2.0, 3.0, 4.0]",
)


def _bind_all(launch: Launch) -> Call:
    return _sample_all, (launch.inputs[0], tuple(launch.outputs))


def _sample_all(true_classes: Any, outputs: Sequence[Any]) -> None:
    candidates, *counts = outputs
    _check(UniformSampler(candidates.size), true_classes, candidates.size, True)
    candidates[...] = np.arange(candidates.size)
    for count in counts:
        count[...] = 1.0


ALL_CANDIDATES = OpDef(
    "AllCandidateSampler",
    "true_classes:int64",
    _candidates_type,
    kernels=host_only(_bind_all),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("np.array([[1], [0]]), num_true=1, num_sampled=3, unique=True, seed=1, seed2=2",),
)


# --- functions --------------------------------------------------------------------------------


def _apply(
    op: OpDef,
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None,
    name: str | None,
    **attrs: Any,
) -> Candidates:
    sizes = {"num_true": num_true, "num_sampled": num_sampled}
    if "range_max" in attrs:
        sizes["range_max"] = attrs["range_max"]
    for attr, value in sizes.items():
        check_least(op.name, attr, value, 1)
    first, second = get_seed(seed)
    given = {**sizes, "unique": unique, "seed": first, "seed2": second, **attrs}
    return Candidates(*apply(op, (convert(true_classes, int64),), given, name))


@public("random.uniform_candidate_sampler")
@public_v1("nn.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Sample classes, all of them equally likely.

    >>> found = uniform_candidate_sampler([[1]], 1, 3, True, 3, seed=1)
    >>> sorted(found.sampled_candidates.numpy().tolist())
    [0, 1, 2]
    """
    return _apply(
        UNIFORM, true_classes, num_true, num_sampled, unique, seed, name, range_max=range_max
    )


@public("random.log_uniform_candidate_sampler")
@public_v1("nn.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Sample classes by Zipf's law: they are sorted, and the first are the most frequent.

    >>> found = log_uniform_candidate_sampler([[0]], 1, 2, True, 2, seed=1)
    >>> sorted(found.sampled_candidates.numpy().tolist())
    [0, 1]
    """
    return _apply(
        LOG_UNIFORM,
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
    )


@public("random.learned_unigram_candidate_sampler", "nn.learned_unigram_candidate_sampler")
def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Sample classes as often as they were true in the runs before.

    >>> found = learned_unigram_candidate_sampler([[0]], 1, 2, False, 4, seed=1)
    >>> found.true_expected_count.numpy().tolist()
    [[0.5]]
    """
    return _apply(
        LEARNED_UNIGRAM,
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
    )


@public("random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Sample classes by weights, each to the power of `distortion`.

    The weights are given, or are the last column of a CSV file. `num_reserved_ids` classes
    before them are never sampled.

    >>> found = fixed_unigram_candidate_sampler([[1]], 1, 2, False, 2, unigrams=[1, 3])
    >>> found.true_expected_count.numpy().tolist()
    [[1.5]]
    """
    if bool(vocab_file) == bool(len(unigrams)):
        message = "Must provide either vocab_file or unigrams."
        if vocab_file:
            message = "Must only provide one of vocab_file and unigrams."
        raise InvalidArgumentError(None, None, message)
    return _apply(
        FIXED_UNIGRAM,
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=float(distortion),
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=[float(weight) for weight in unigrams],
    )


@public("random.all_candidate_sampler", "nn.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Return all classes, as a candidate sampler for tests.

    >>> all_candidate_sampler([[1]], 1, 3, True).sampled_candidates.numpy().tolist()
    [0, 1, 2]
    """
    return _apply(ALL_CANDIDATES, true_classes, num_true, num_sampled, unique, seed, name)
