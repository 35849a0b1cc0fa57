"""Strategies, scopes and replica contexts: what is in effect where. Texts are TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")
D = tf.distribute
CROSS_REPLICA = (
    "Method requires being in cross-replica context, use get_replica_context().merge_call()"
)


@pytest.fixture
def mirrored(sim: Callable[..., Any]) -> Iterator[Any]:
    sim("2xT4")
    yield D.MirroredStrategy()
    D.experimental_set_strategy(None)


def where() -> tuple[bool, bool, bool]:
    return D.has_strategy(), D.in_cross_replica_context(), D.get_replica_context() is None


def test_default_strategy_is_in_effect_outside() -> None:
    default = D.get_strategy()
    assert where() == (False, False, False)
    assert default.num_replicas_in_sync == 1
    assert default.run(lambda x: (x + 1, where()), args=(1,)) == (2, (False, False, False))
    with default.scope():
        assert where() == (False, False, False)


def test_scope_enters_the_cross_replica_context(mirrored: Any) -> None:
    with mirrored.scope() as entered:
        assert entered is D.get_strategy() is mirrored
        assert where() == (True, True, True)
        with mirrored.scope():  # again
            assert where() == (True, True, True)
        assert where() == (True, True, True)
    assert where() == (False, False, False)


def test_run_enters_replicas(mirrored: Any) -> None:
    def step() -> Any:
        context = D.get_replica_context()
        return (
            where(),
            context.strategy is mirrored,
            context.num_replicas_in_sync,
            context.number,
        )

    first, second = mirrored.experimental_local_results(mirrored.run(step))
    assert first == ((True, False, False), True, 2, 0)
    assert second == ((True, False, False), True, 2, 1)


def test_strategy_is_set_without_a_scope(mirrored: Any) -> None:
    D.experimental_set_strategy(mirrored)
    assert where() == (True, True, True)
    D.experimental_set_strategy(None)
    assert where() == (False, False, False)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda s: s.run(lambda: s.run(lambda: 1)), CROSS_REPLICA),
        (lambda s: s.run(lambda: s.reduce("SUM", 1.0, axis=None)), CROSS_REPLICA),
        (lambda s: s.run(s.scope), CROSS_REPLICA),
    ],
)
def test_replica_may_not_do_what_is_for_all(
    mirrored: Any, misuse: Callable[..., Any], message: str
) -> None:
    with pytest.raises(RuntimeError) as error:
        misuse(mirrored)
    assert str(error.value) == message
    assert where() == (False, False, False)


def test_strategies_are_not_mixed(mirrored: Any) -> None:
    other = D.OneDeviceStrategy("GPU:0")
    with mirrored.scope():
        with pytest.raises(RuntimeError) as error:
            other.run(lambda: 1)
        with pytest.raises(RuntimeError, match="Must not nest"):
            _default().scope()
        with pytest.raises(RuntimeError, match="Must not be called inside a"):
            D.experimental_set_strategy(None)
    assert str(error.value) == (
        f"Mixing different tf.distribute.Strategy objects: {mirrored} is not {other}"
    )


def _default() -> Any:
    from berth.distribute.default_strategy import _default as default

    return default


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda s: s.run(3), TypeError, "'int' object is not callable"),
        (
            lambda s: s.run(lambda x: x, args=3),
            ValueError,
            "positional args must be a list or tuple, got <class 'int'>",
        ),
        (
            lambda s: s.reduce("MAX", 1.0, axis=None),
            ValueError,
            "'MAX' is not a valid ReduceOp",
        ),
        (
            lambda s: s.reduce("SUM", 3.0, axis=None),
            ValueError,
            "A non-DistributedValues value 3.0 cannot be reduced with the given reduce op "
            "ReduceOp.SUM.",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    mirrored: Any, call: Callable[..., Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as error:
        call(mirrored)
    assert str(error.value) == message


def test_devices_of_a_strategy(sim: Callable[..., Any], caplog: Any) -> None:
    sim("2xT4")
    name = "/job:localhost/replica:0/task:0/device:GPU:{}".format
    both = (name(0), name(1))
    assert D.MirroredStrategy().extended.worker_devices == both
    assert D.MirroredStrategy(["/gpu:1"]).extended.worker_devices == (name(1),)
    assert D.OneDeviceStrategy("/gpu:1").extended.parameter_devices == (name(1),)
    with pytest.raises(AssertionError) as error:
        D.MirroredStrategy(["GPU:0", "/gpu:0"])
    twice = (name(0), name(0))
    assert str(error.value) == f"No duplicates allowed in `devices` argument: {twice}"
    D.MirroredStrategy(["GPU:0", "GPU:7"])
    assert (
        "Some requested devices in `tf.distribute.Strategy` are not visible to TensorFlow: "
        + name(7)
    ) in caplog.messages


def test_reduction_is_chosen_by_the_devices(sim: Callable[..., Any]) -> None:
    def chosen(*devices: str) -> str:
        return type(D.MirroredStrategy(devices).extended._cross_device_ops).__name__

    sim("2xT4")
    assert chosen("GPU:0", "GPU:1") == "NcclAllReduce"
    assert chosen("GPU:0", "CPU:0") == "ReductionToOneDevice"


def test_logical_devices_of_one_card_are_reduced_on_one(sim: Callable[..., Any]) -> None:
    sim("1xT4")
    halves = [tf.config.LogicalDeviceConfiguration(memory_limit=512)] * 2
    gpu = tf.config.list_physical_devices("GPU")[0]
    tf.config.set_logical_device_configuration(gpu, halves)
    strategy = D.MirroredStrategy()
    assert strategy.num_replicas_in_sync == 2
    assert isinstance(strategy.extended._cross_device_ops, D.ReductionToOneDevice)


def test_several_workers_are_refused(sim: Callable[..., Any]) -> None:
    sim("1xT4", TF_CONFIG='{"cluster": {"worker": ["a:1"]}}')
    assert D.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1
    sim("1xT4", TF_CONFIG='{"cluster": {"worker": ["a:1", "b:2"]}}')
    with pytest.raises(NotImplementedError) as error:
        D.MultiWorkerMirroredStrategy()
    assert str(error.value).splitlines() == [
        "MultiWorkerMirroredStrategy with 2 workers is not there.",
        "  berth trains on one computer.",
        "  Leave TF_CONFIG out, or give it one worker: it is MirroredStrategy then.",
    ]
