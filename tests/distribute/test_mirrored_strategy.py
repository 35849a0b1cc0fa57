"""MirroredStrategy on simulated GPUs: values, variables, reductions, gradients, threads."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")
D = tf.distribute


@pytest.fixture
def strategy(sim: Callable[..., Any]) -> Any:
    sim("2xT4")
    return D.MirroredStrategy()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGINT, also where the tests are a job in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def number() -> Any:
    """Return the number of the replica, as a float tensor."""
    return tf.cast(D.get_replica_context().replica_id_in_sync_group, tf.float32)


def as_list(value: Any) -> list[Any]:
    return [part.numpy().tolist() for part in value.values]


class TestVariables:
    def test_copies_are_on_all_devices(self, strategy: Any) -> None:
        with strategy.scope():
            v = tf.Variable(1.0, name="v")
        assert repr(v) == (
            "MirroredVariable:{\n"
            "  0: <tf.Variable 'v:0' shape=() dtype=float32, numpy=1.0>,\n"
            "  1: <tf.Variable 'v/replica_1:0' shape=() dtype=float32, numpy=1.0>\n}"
        )
        assert [copy.device[-5:] for copy in v.values] == ["GPU:0", "GPU:1"]
        assert isinstance(v, tf.Variable)
        assert isinstance(v, D.DistributedValues)
        assert (v.name, v.shape, v.dtype) == ("v:0", [], tf.float32)

    def test_copies_start_equal(self, strategy: Any) -> None:
        with strategy.scope():
            v = tf.Variable(lambda: tf.random.normal([4]))
        first, second = as_list(v)
        assert first == second

    def test_assignment_changes_all_copies(self, strategy: Any) -> None:
        with strategy.scope():
            v = tf.Variable([1.0, 2.0])
        v.assign([3.0, 4.0])
        v.assign_add([1.0, 1.0])
        assert as_list(v) == [[4.0, 5.0]] * 2
        v.scatter_update(tf.IndexedSlices([9.0], [1]))
        assert as_list(v) == [[4.0, 9.0]] * 2

    @pytest.mark.parametrize(
        ("aggregation", "copies"),
        [
            ("NONE", [1.0, 2.0]),
            ("SUM", [2.0, 2.0]),
            ("MEAN", [1.5, 1.5]),
            ("ONLY_FIRST_REPLICA", [1.0, 1.0]),
        ],
    )
    def test_replicas_aggregate_what_they_add(
        self, strategy: Any, aggregation: str, copies: list[float]
    ) -> None:
        with strategy.scope():
            v = tf.Variable(1.0, aggregation=tf.VariableAggregation[aggregation])
        strategy.run(lambda: v.assign_add(number()))
        assert as_list(v) == copies

    def test_variable_is_aggregated_when_it_is_read(self, strategy: Any) -> None:
        on_read = tf.VariableSynchronization.ON_READ
        with strategy.scope():
            v = tf.Variable(
                2.0, synchronization=on_read, aggregation=tf.VariableAggregation.SUM
            )
        strategy.run(lambda: v.assign_add(1.0 + number()))
        assert not v.trainable
        assert as_list(v) == [3.0, 4.0]
        assert [v.numpy(), float(v), (v + 1.0).numpy()] == [7.0, 7.0, 8.0]
        v.assign(10.0)
        assert as_list(v) == [5.0, 5.0]
        with pytest.raises(ValueError, match="does not support `assign_add` in cross-replica"):
            v.assign_add(1.0)

    def test_replicas_share_the_variables_they_make(self, strategy: Any) -> None:
        made: list[Any] = []

        @tf.function
        def step() -> Any:
            if not made:
                made.append(tf.Variable(3.0, name="made"))
            return made[0] + number()

        def run() -> Any:
            return strategy.run(step)

        assert as_list(run()) == [3.0, 4.0]
        assert type(made[0]).__name__ == "MirroredVariable"

    def test_update_is_called_for_each_copy(self, strategy: Any) -> None:
        with strategy.scope():
            v = tf.Variable(1.0)
        each = strategy.run(number)
        devices = []

        def add(copy: Any, value: Any) -> Any:
            devices.append(copy.device[-5:])
            return copy.assign_add(value)

        strategy.extended.update(v, add, args=(each,))
        assert as_list(v) == [1.0, 2.0]
        assert devices == ["GPU:0", "GPU:1"]
        with pytest.raises(AssertionError):
            strategy.extended.update(tf.Variable(1.0), add, args=(each,))

    def test_update_changes_other_variables_of_its_replica(self, strategy: Any) -> None:
        """An optimizer changes its own variables while it updates one copy of a weight."""
        with strategy.scope():
            weight, count = tf.Variable(1.0), tf.Variable(0.0)

        def change(copy: Any) -> None:
            count.assign_add(1.0)
            copy.assign_sub(count)

        strategy.extended.update(weight, change)
        assert (as_list(weight), as_list(count)) == ([0.0, 0.0], [1.0, 1.0])

    @pytest.mark.parametrize("options", [{}, {"trainable": True}])
    def test_wrong_synchronization_is_refused(self, strategy: Any, options: Any) -> None:
        wrong = "ON_READ" if options else "NONE"
        with strategy.scope(), pytest.raises(ValueError, match=r"[sS]ynchronization"):
            tf.Variable(1.0, synchronization=tf.VariableSynchronization[wrong], **options)


class TestValues:
    def test_results_are_regrouped(self, strategy: Any) -> None:
        with strategy.scope():
            v = tf.Variable(1.0)
        values, variable, same, nothing = strategy.run(lambda: (number(), v, 7, None))
        assert repr(values) == (
            "PerReplica:{\n"
            "  0: <tf.Tensor: shape=(), dtype=float32, numpy=0.0>,\n"
            "  1: <tf.Tensor: shape=(), dtype=float32, numpy=1.0>\n}"
        )
        assert (variable, same, nothing) == (v, 7, None)

    def test_replica_gets_its_component(self, strategy: Any) -> None:
        each = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([context.replica_id_in_sync_group + 1.0])
        )
        doubled = strategy.run(lambda x, y: 2.0 * x["a"] + y, args=({"a": each}, each))
        assert as_list(doubled) == [[3.0], [6.0]]
        assert [part.device[-5:] for part in doubled.values] == ["GPU:0", "GPU:1"]

    @pytest.mark.parametrize("reduction", ["NcclAllReduce", "ReductionToOneDevice"])
    @pytest.mark.parametrize("n_gpus", [2, 3])
    @pytest.mark.parametrize("n_elements", [5, 2050])
    def test_all_reduce_sums_and_averages(
        self, sim: Callable[..., Any], reduction: str, n_gpus: int, n_elements: int
    ) -> None:
        sim(f"{n_gpus}xT4")
        strategy = D.MirroredStrategy(cross_device_ops=getattr(D, reduction)())
        values = np.random.RandomState(0).randint(-9, 9, (n_gpus, n_elements)).astype("f")
        each = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(values[context.replica_id_in_sync_group])
        )

        @tf.function
        def reduce(x: Any) -> Any:
            context = D.get_replica_context()
            return context.all_reduce("SUM", x), context.all_reduce(D.ReduceOp.MEAN, [x, x])[1]

        total, mean = strategy.run(reduce, args=(each,))
        for part, average in zip(total.values, mean.values, strict=True):
            np.testing.assert_array_equal(part, values.sum(0))
            np.testing.assert_allclose(average, values.mean(0), rtol=1e-6)

    def test_sparse_gradients_are_joined(self, strategy: Any) -> None:
        def reduce() -> Any:
            k = D.get_replica_context().number
            slices = tf.IndexedSlices(
                tf.constant([k + 1.0]), tf.constant([k]), tf.constant([3])
            )
            return D.get_replica_context().all_reduce("SUM", slices)

        for part in strategy.experimental_local_results(strategy.run(reduce)):
            assert tf.convert_to_tensor(part).numpy().tolist() == [1.0, 2.0, 0.0]

    def test_reduce_along_an_axis_weighs_by_size(self, strategy: Any) -> None:
        rows = strategy.experimental_distribute_values_from_function(
            lambda context: tf.range(3.0 - 2.0 * context.replica_id_in_sync_group) + 4.0
        )
        assert as_list(rows) == [[4.0, 5.0, 6.0], [4.0]]
        assert strategy.reduce("SUM", rows, axis=0).numpy() == 19.0
        assert strategy.reduce("MEAN", rows, axis=0).numpy() == 4.75
        assert strategy.reduce("MEAN", tf.constant([1.0, 2.0]), axis=0).numpy() == 1.5
        assert strategy.gather(rows, axis=0).numpy().tolist() == [4.0, 5.0, 6.0, 4.0]

    def test_gather_inside_of_replicas(self, strategy: Any) -> None:
        gathered = strategy.run(
            lambda: D.get_replica_context().all_gather(tf.stack([number()]), axis=0)
        )
        assert as_list(gathered) == [[0.0, 1.0]] * 2

    def test_reduction_has_a_gradient(self, strategy: Any) -> None:
        def slope() -> Any:
            x = number() + 1.0
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = D.get_replica_context().all_reduce("SUM", x * x)
            return tape.gradient(y, x)

        assert as_list(strategy.run(slope)) == [4.0, 8.0]


class TestMergeCalls:
    def test_call_is_made_once_for_all(self, strategy: Any) -> None:
        calls = []

        def merged(called_with: Any, value: Any, factor: float) -> Any:
            calls.append(
                (called_with is strategy, D.in_cross_replica_context(), as_list(value))
            )
            return strategy.reduce("SUM", value, axis=None) * factor

        def step() -> Any:
            return D.get_replica_context().merge_call(merged, (number(),), {"factor": 2.0}) + 1

        assert as_list(strategy.run(step)) == [3.0, 3.0]
        assert calls == [(True, True, [0.0, 1.0])]

    def test_replicas_must_make_the_same_calls(self, strategy: Any) -> None:
        def step() -> None:
            context = D.get_replica_context()
            if context.number == 0:
                context.merge_call(lambda strategy: None)

        with pytest.raises(RuntimeError) as error:
            strategy.run(step)
        assert str(error.value) == (
            "Some replicas made a different number of replica_context().merge_call() calls."
        )
        self.assert_nothing_is_left(strategy)

    @pytest.mark.parametrize("failing", [0, 1])
    def test_error_of_a_replica_is_raised(self, strategy: Any, failing: int) -> None:
        def step() -> None:
            context = D.get_replica_context()
            if context.number == failing:
                raise KeyError("mine")
            context.merge_call(lambda strategy: None)

        with pytest.raises(KeyError, match="mine"):
            strategy.run(step)
        self.assert_nothing_is_left(strategy)

    @pytest.mark.usefixtures("ctrl_c")
    @pytest.mark.parametrize("is_traced", [False, True])
    def test_interrupt_ends_the_replicas(self, strategy: Any, is_traced: bool) -> None:
        main = threading.main_thread().ident
        assert main is not None

        def step() -> None:
            D.get_replica_context().merge_call(lambda strategy: None)
            signal.pthread_kill(main, signal.SIGINT)
            while True:
                pass

        with pytest.raises(KeyboardInterrupt):
            strategy.run(step) if not is_traced else tf.function(lambda: strategy.run(step))()
        self.assert_nothing_is_left(strategy)

    def assert_nothing_is_left(self, strategy: Any) -> None:
        assert not [t for t in threading.enumerate() if t.name.startswith("replica")]
        assert not D.has_strategy()
        assert as_list(strategy.run(number)) == [0.0, 1.0]


class TestFunctions:
    def test_operations_are_on_the_devices_of_replicas(self, strategy: Any) -> None:
        with strategy.scope():
            v = tf.Variable(2.0)

        @tf.function
        def run() -> Any:
            def slope() -> Any:
                with tf.GradientTape() as tape:
                    y = v * v
                return tape.gradient(y, [v])[0]

            return strategy.run(slope)

        assert as_list(run()) == [4.0, 4.0]
        placed = {
            op.name.startswith("replica_1"): op.device[-5:]
            for op in run.get_concrete_function().graph.get_operations()
            if op.type == "Mul"
        }
        assert placed == {False: "GPU:0", True: "GPU:1"}

    def test_scopes_of_replicas_are_apart(self, strategy: Any) -> None:
        @tf.function
        def run() -> Any:
            def step() -> Any:
                with tf.device("/cpu:0"), tf.name_scope("inner"):
                    total = D.get_replica_context().all_reduce("SUM", number())
                    inside = tf.add(total, 1.0, name="inside")
                return tf.add(inside, 1.0, name="outside")

            with tf.name_scope("outer"):
                return strategy.run(step)

        assert as_list(run()) == [3.0, 3.0]
        operations = {
            op.name: op.device[-5:] for op in run.get_concrete_function().graph.get_operations()
        }
        assert operations["outer/inner/inside"] == operations["outer/replica_1/inner/inside"]
        assert operations["outer/inner/inside"] == "CPU:0"
        assert operations["outer/outside"] == "GPU:0"
        assert operations["outer/replica_1/outside"] == "GPU:1"

    def test_distributed_values_are_arguments_and_results(self, strategy: Any) -> None:
        n_traces = []

        @tf.function
        def run(x: Any) -> Any:
            n_traces.append(1)
            return strategy.run(lambda y: y * 2.0, args=(x,))

        for start in (1.0, 5.0):
            each = strategy.experimental_distribute_values_from_function(
                lambda context, s=start: tf.constant(context.replica_id_in_sync_group + s)
            )
            assert as_list(run(each)) == [2 * start, 2 * start + 2]
        assert len(n_traces) == 1
