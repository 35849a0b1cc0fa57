"""tf.test.TestCase: sessions, comparisons and messages of tests written for TensorFlow."""

from __future__ import annotations

import unittest

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf


class Case(tf.test.TestCase):
    """What a program's test does."""

    __test__ = False  # pytest does not run it

    def runTest(self):
        pass


@pytest.fixture
def case():
    case = Case()
    case.setUp()
    yield case
    case.tearDown()


def test_tests_of_programs_run():
    class Square(tf.test.TestCase):
        def testSquare(self):
            with self.test_session():
                x = tf.square([2, 3])
                self.assertAllEqual(x.eval(), [4, 9])
                self.assertAllClose(self.evaluate(tf.sqrt([4.0])), [2.0])

        def testSeeds(self):
            with self.session() as sess:
                first = sess.run(tf.random_uniform([2]))
            self.setUp()
            with self.session() as sess:
                self.assertAllEqual(first, sess.run(tf.random_uniform([2])))

        def testWrong(self):
            self.assertAllEqual([1, 2], [1, 3])

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Square).run(result)
    assert result.testsRun == 4
    assert [reason for _, reason in result.skipped] == ["Not a test."]
    assert result.errors == []
    assert [test.id().rpartition(".")[2] for test, _ in result.failures] == ["testWrong"]


def test_sessions_have_devices_and_are_cached(case, sim):
    sim("1xT4")
    with case.session(use_gpu=False):
        assert tf.constant(1.0).op.device == "/device:CPU:0"
    with case.session(force_gpu=True) as session:
        x = tf.constant(1.0) + 1
        assert x.device == "/device:GPU:0"
        assert session.run(x) == 2
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(x)
    with case.cached_session() as first, case.cached_session() as second:
        assert first is second is tf.get_default_session()
    with pytest.raises(ValueError, match="different than the one that was used to create"):
        case.cached_session(graph=tf.Graph())


PASSES = {
    "close": lambda c: c.assertAllClose([1.0, 2.0], np.array([1.0, 2.0 + 1e-7])),
    "nested": lambda c: c.assertAllClose(
        {"a": [1.0], "b": (2.0, [3.0])}, {"a": [1.0], "b": (2.0, [3.0])}
    ),
    "half": lambda c: c.assertAllCloseAccordingToType(np.float16(1), np.float16(1.001)),
    "not close": lambda c: c.assertNotAllClose([1.0], [1.1]),
    "not equal": lambda c: c.assertNotAllEqual([1, 2], [1, 3]),
    "nan": lambda c: c.assertAllEqual([np.nan], [np.nan]),
    "near": lambda c: c.assertNear(1.0, 1.05, 0.1),
    "array near": lambda c: c.assertArrayNear([1.0, 2.0], [1.01, 2.0], 0.1),
    "nd near": lambda c: c.assertNDArrayNear(np.ones(2), np.ones(2) + 1e-4, 0.01),
    "greater": lambda c: c.assertAllGreater([2, 3], 1),
    "less equal": lambda c: c.assertAllLessEqual([2, 3], 3),
    "shape": lambda c: c.assertShapeEqual(np.ones([2, 1]), tf.ones([2, 1])),
    "dtype": lambda c: c.assertDTypeEqual(np.ones(1, np.float32), np.float32),
    "device": lambda c: c.assertDeviceEqual("/gpu:0", "/device:GPU:0"),
    "proto": lambda c: c.assertProtoEquals(
        "allow_soft_placement: true", tf.ConfigProto(allow_soft_placement=True)
    ),
    "start": lambda c: c.assertStartsWith("tower_0", "tower"),
}
FAILS = {
    "close": lambda c: c.assertAllClose([1.0], [1.1]),
    "shapes": lambda c: c.assertAllEqual([1, 1], [1]),
    "equal": lambda c: c.assertNotAllEqual([1], [1]),
    "keys": lambda c: c.assertAllClose({"a": 1.0}, {"b": 1.0}),
    "near": lambda c: c.assertNear(1.0, 1.5, 0.1),
    "less": lambda c: c.assertAllLess([2, 3], 3),
    "device": lambda c: c.assertDeviceEqual("/gpu:0", "/gpu:1"),
    "start": lambda c: c.assertStartsWith("tower_0", "gpu"),
}


@pytest.mark.parametrize("name", PASSES)
def test_comparison_passes(case, name):
    PASSES[name](case)


@pytest.mark.parametrize("name", FAILS)
def test_comparison_fails(case, name):
    with pytest.raises(AssertionError):
        FAILS[name](case)


def test_errors_of_operations_are_expected(case):
    with case.session() as session, case.assertRaisesOpError("division by zero"):
        session.run(tf.constant(1) // tf.placeholder_with_default(0, []))


def test_eager_values_are_compared(eager):
    case = Case()
    case.assertAllEqual(tf2.constant([1, 2]) + 1, [2, 3])
    assert case.evaluate({"a": tf2.constant(2)}) == {"a": 2}


def test_folders_are_of_each_test(case):
    assert case.get_temp_dir().startswith(tf.test.get_temp_dir())
