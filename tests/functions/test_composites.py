"""Composite tensors pass through functions, loops, sessions and gradients as one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import berth as tf
from berth.compat import v1
from berth.ops.type_spec import CompositeTensor

pytestmark = pytest.mark.usefixtures("eager")


class Interval(CompositeTensor):
    """A composite of a user: two tensors of one shape."""

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = tf.convert_to_tensor(low), tf.convert_to_tensor(high)

    @property
    def _type_spec(self) -> IntervalSpec:
        return IntervalSpec(self.low.shape, self.low.dtype)

    def _gradient_component(self) -> Any:
        return self.low

    def _with_gradient(self, grad: Any) -> Any:
        return Interval(grad, tf.zeros_like(grad))


class IntervalSpec(tf.TypeSpec):
    """The type of an interval."""

    def __init__(self, shape: Any, dtype: Any = "float32") -> None:
        self.shape, self.dtype = tf.TensorShape(shape), tf.as_dtype(dtype)

    @property
    def value_type(self) -> Any:
        return Interval

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    @property
    def _component_specs(self) -> Any:
        return [tf.TensorSpec(self.shape, self.dtype)] * 2

    def _to_components(self, value: Interval) -> Any:
        return [value.low, value.high]

    def _from_components(self, components: Any) -> Any:
        return Interval(*components)

    def _from_arrays(self, arrays: Any) -> Any:
        return tuple(arrays)

    def _with_shape(self, shape: Any) -> Any:
        return IntervalSpec(shape, self.dtype)


def shown(interval: Interval) -> list[Any]:
    return [part.numpy().tolist() for part in (interval.low, interval.high)]


def test_specs_compare_by_what_they_say() -> None:
    known, partly, other = IntervalSpec([2]), IntervalSpec([None]), IntervalSpec([3])
    assert repr(known) == "IntervalSpec(TensorShape([2]), tf.float32)"
    assert known == IntervalSpec([2])
    assert hash(known) == hash(IntervalSpec([2]))
    assert known != partly
    assert known.is_subtype_of(partly)
    assert not partly.is_subtype_of(known)
    assert partly.is_compatible_with(Interval([1.0], [2.0]))
    assert not known.is_compatible_with(Interval([1.0], [2.0]))
    assert known.most_specific_common_supertype([other]) == partly
    assert known.most_specific_common_supertype([tf.TensorSpec([2])]) is None
    with pytest.raises(ValueError, match=r"^No TypeSpec is compatible with both IntervalSpec"):
        known.most_specific_compatible_type(IntervalSpec([2], tf.int32))


TENSOR_SPECS = [
    (lambda: 1, "TensorSpec(shape=(), dtype=tf.int32, name=None)"),
    (lambda: np.zeros(3), "TensorSpec(shape=(3,), dtype=tf.float64, name=None)"),
    (lambda: "x", "TensorSpec(shape=(), dtype=tf.string, name=None)"),
    (lambda: Interval([1.0], [2.0]), "IntervalSpec(TensorShape([1]), tf.float32)"),
    (
        lambda: tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([0])),
        "IndexedSlicesSpec(TensorShape([None, 2]), tf.float32, tf.int32, None, "
        "TensorShape([1]))",
    ),
]


@pytest.mark.parametrize(("value", "expected"), TENSOR_SPECS)
def test_values_have_specs(value: Callable[[], Any], expected: str) -> None:
    assert repr(tf.type_spec_from_value(value())) == expected


def test_other_values_have_none() -> None:
    with pytest.raises(TypeError, match=r"^Could not build a TypeSpec for \{\} of unsupported"):
        tf.type_spec_from_value({})


def test_structures_expand_composites() -> None:
    value = {"a": Interval([1.0], [2.0]), "b": 3}
    assert len(tf.nest.flatten(value)) == 2
    leaves = tf.nest.flatten(value, expand_composites=True)
    assert len(leaves) == 3
    again = tf.nest.pack_sequence_as(value, [[4.0], [5.0], 6], expand_composites=True)
    assert shown(again["a"]) == [[4.0], [5.0]]
    doubled = tf.nest.map_structure(lambda x: x * 2, value["a"], expand_composites=True)
    assert shown(doubled) == [[2.0], [4.0]]
    with pytest.raises(ValueError, match=r"^The two structures don't have the same nested"):
        tf.nest.assert_same_structure(value["a"], tf.zeros([1]), expand_composites=True)


def test_functions_take_and_return_composites() -> None:
    captured = Interval([10.0], [20.0])

    @tf.function
    def widened(x: Any, by: Any) -> Any:
        return {"wide": Interval(x.low - by, x.high + by), "more": captured, "none": None}

    result = widened(Interval([1.0], [2.0]), tf.constant(0.5))
    assert shown(result["wide"]) == [[0.5], [2.5]]
    assert shown(result["more"]) == [[10.0], [20.0]]
    widened(Interval([3.0], [4.0]), tf.constant(0.5))
    assert widened.experimental_get_tracing_count() == 1
    widened(Interval([3.0, 4.0], [4.0, 5.0]), tf.constant(0.5))
    assert widened.experimental_get_tracing_count() == 2


def test_signatures_take_specs_of_composites() -> None:
    @tf.function(input_signature=[IntervalSpec([None])])
    def width(x: Any) -> Any:
        assert x.low.shape.as_list() == [None]
        return x.high - x.low

    assert width(Interval([1.0], [3.0])).numpy().tolist() == [2.0]
    assert width(Interval([1.0, 2.0], [3.0, 5.0])).numpy().tolist() == [2.0, 3.0]
    assert width.experimental_get_tracing_count() == 1
    concrete = width.get_concrete_function()
    assert concrete.structured_input_signature == ((IntervalSpec([None]),), {})
    assert concrete(Interval([1.0], [2.0])).numpy().tolist() == [1.0]
    with pytest.raises(TypeError, match=r"^Binding inputs to tf.function failed due to `Can"):
        width(tf.zeros([2]))


def test_branches_and_loops_pass_composites() -> None:
    @tf.function
    def grown(start: Any, n: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            longer = tf.concat([x.low, [tf.cast(i, tf.float32)]], 0)
            return i + 1, Interval(longer, longer + 1.0)

        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        _, x = tf.while_loop(lambda i, x: i < n, body, (0, start), shapes)
        return tf.cond(n > 1, lambda: x, lambda: Interval([7.0], [8.0]))

    one = Interval([5.0], [6.0])
    assert shown(grown(one, tf.constant(2))) == [[5.0, 0.0, 1.0], [6.0, 1.0, 2.0]]
    assert shown(grown(one, tf.constant(1))) == [[7.0], [8.0]]


def test_gradients_of_composites_are_composites() -> None:
    x = Interval([1.0, 2.0], [5.0, 5.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x.low * x.low
    assert shown(tape.gradient(y, x)) == [[2.0, 4.0], [0.0, 0.0]]

    @tf.function
    def squared(x: Any) -> Any:
        return Interval(x.low * x.low, x.high)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = squared(x)
    assert shown(tape.gradient(y, x)) == [[2.0, 4.0], [0.0, 0.0]]


def test_sessions_feed_and_fetch_composites() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        x = Interval(v1.placeholder("float32", [None]), v1.placeholder("float32", [None]))
        wide = Interval(x.low - 1.0, x.high + 1.0)
        low, high = session.run(wide, {x: ([1.0, 2.0], [3.0, 4.0])})
        assert (low.tolist(), high.tolist()) == ([0.0, 1.0], [4.0, 5.0])
        [grad] = v1.gradients(x.low * 3.0, [x])
        assert session.run(grad, {x: ([1.0], [2.0])})[0].tolist() == [3.0]
        with pytest.raises(ValueError, match=r"^Could not flatten dictionary. Key had 2 elem"):
            session.run(wide, {x: ([1.0],)})


def test_slices_are_composites() -> None:
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))

    @tf.function
    def doubled(x: Any) -> Any:
        return tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)

    result = doubled(slices)
    assert tf.convert_to_tensor(result).numpy().tolist() == [[0, 0], [2, 2], [0, 0]]
    assert len(tf.nest.flatten(slices, expand_composites=True)) == 3
