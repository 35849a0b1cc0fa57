"""``tf.test.TestCase``: unittest's, with sessions and comparisons of arrays."""

from __future__ import annotations

import atexit
import math
import os
import re
import shutil
import sys
import tempfile
import unittest
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np

from berth.blocks import Block, Use
from berth.devices.full_name import parse_full_name
from berth.eager.mode import executing_eagerly
from berth.errors import OpError
from berth.graph.default_graph import get_default_graph, reset_default_graph
from berth.graph.graph import Graph
from berth.graph.nest import map_structure
from berth.ops.random.seeded import set_random_seed
from berth.proto.config import ConfigProto
from berth.proto.message import Message
from berth.proto.text import merge_text
from berth.public import public
from berth.session.session import Session

_SEED = 87654321  # of every test, as in TensorFlow


@public("test.get_temp_dir")
@cache
def get_temp_dir() -> str:
    """Return a folder for the files of tests, removed at the end of the program."""
    folder = tempfile.mkdtemp(prefix="berth-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@public("test.main")
def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program that calls this."""
    unittest.main(module="__main__", argv=argv or sys.argv)


class _TestSession(Block[Session]):
    """A session of a test: the default one, with operations on the device that is asked for."""

    def __init__(self, session: Session, device: str | None, *, closes: bool) -> None:
        self._session = session
        self._device = device
        self._closes = closes

    def _begin(self, use: Use) -> Session:
        session = self._session
        use.enter(session.graph.as_default())
        use.enter(session.as_default())
        if self._device is not None:
            use.enter(session.graph.device(self._device))
        return session

    def _finish(self, use: Use) -> None:
        use.end()
        if self._closes:
            self._session.close()


@public("test.TestCase")
class TestCase(unittest.TestCase):
    """Base class of tests that need TensorFlow: a graph and a seed for each test."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached: Session | None = None

    def setUp(self) -> None:
        """Start with an empty default graph, and a fixed seed."""
        self._close_cached()
        reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        """Close the cached session."""
        self._close_cached()

    def _close_cached(self) -> None:
        session, self._cached = self._cached, None
        if session is not None:
            session.close()

    # --- sessions ---------------------------------------------------------------------------

    def get_temp_dir(self) -> str:
        """Return a folder for the files of this test."""
        folder = os.path.join(get_temp_dir(), re.sub(r"\W", "_", self.id()))
        os.makedirs(folder, exist_ok=True)
        return folder

    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> AbstractContextManager[Session]:
        """Open a session for a block; without `use_gpu` its operations are on the CPU."""
        session = Session(graph=graph, config=_test_config(config, force_gpu))
        return _TestSession(session, _test_device(use_gpu, force_gpu), closes=True)

    def cached_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> AbstractContextManager[Session]:
        """Use one session in all blocks of a test."""
        wanted = graph or get_default_graph()
        if self._cached is None:
            self._cached = Session(graph=wanted, config=_test_config(config, force_gpu))
        elif self._cached.graph is not wanted:
            raise ValueError(
                "The graph used to get the cached session is different than the one that was "
                "used to create the session. Maybe create a new session with self.session()"
            )
        return _TestSession(self._cached, _test_device(use_gpu, force_gpu), closes=False)

    def test_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> AbstractContextManager[Session]:
        """Open a session for a block, or use the cached one if no graph is given."""
        if self.id().endswith(".test_session"):  # unittest takes it for a test by its name
            self.skipTest("Not a test.")
        if graph is None:
            return self.cached_session(graph, config, use_gpu, force_gpu)
        return self.session(graph, config, use_gpu, force_gpu)

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors, in the structure that they are in."""
        if executing_eagerly():
            return map_structure(_value_of, tensors)
        session = self._cached
        if session is not None and session.graph is get_default_graph():
            return session.run(tensors)
        with self.cached_session() as current:
            return current.run(tensors)

    def _values(self, value: Any) -> Any:
        """Return an array of what a comparison is given."""
        if hasattr(value, "numpy"):
            return np.asarray(value.numpy())
        if hasattr(value, "graph") and not isinstance(value, np.ndarray):
            return np.asarray(self.evaluate(value))
        return np.asarray(value)

    # --- comparisons ------------------------------------------------------------------------

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Assert that two structures of arrays are nearly equal."""
        if isinstance(a, dict) or hasattr(a, "_asdict"):
            a, b = (each._asdict() if hasattr(each, "_asdict") else each for each in (a, b))
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{key}: {msg}")
            return
        if isinstance(a, list | tuple) and any(isinstance(e, list | tuple | dict) for e in a):
            self.assertEqual(len(a), len(b), msg)
            for one, other in zip(a, b, strict=True):
                self.assertAllClose(one, other, rtol, atol, msg)
            return
        one, other = self._values(a), self._values(b)
        self._assert_shapes(one, other, msg)
        np.testing.assert_allclose(one, other, rtol, atol, err_msg=str(msg or ""))

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        msg: Any = None,
    ) -> None:
        """Assert that arrays are nearly equal, as near as their types allow."""
        kinds = {self._values(each).dtype for each in (a, b)}
        if np.dtype(np.float32) in kinds or np.dtype(np.complex64) in kinds:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if np.dtype(np.float16) in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Assert that two arrays differ."""
        try:
            self.assertAllClose(a, b, rtol, atol, msg)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements. {msg or ''}".rstrip())

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Assert that two arrays have the same shape and elements; NaN equals NaN."""
        one, other = self._values(a), self._values(b)
        self._assert_shapes(one, other, msg)
        np.testing.assert_array_equal(one, other, err_msg=str(msg or ""))

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Assert that two arrays differ in an element."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}".rstrip())

    def _assert_shapes(self, one: Any, other: Any, msg: Any) -> None:
        if one.shape != other.shape:
            shapes = f"Shape mismatch: expected {one.shape}, got {other.shape}"
            raise AssertionError(f"{shapes}. {msg or ''}".rstrip())

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Assert that two numbers differ by no more than `err`."""
        if f1 != f2 and not math.fabs(f1 - f2) <= err:
            raise AssertionError(f"{f1:f} != {f2:f} +/- {err:f}{f' ({msg})' if msg else ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Assert that the numbers of two lists differ by no more than `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None
    ) -> None:
        """Assert that the distance of two arrays is below `err`."""
        distance = np.linalg.norm(self._values(ndarray1) - self._values(ndarray2))
        self.assertTrue(distance < err, msg)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are greater than a number."""
        self.assertGreater(self._values(a).min(), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are less than a number."""
        self.assertLess(self._values(a).max(), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that no element is less than a number."""
        self.assertGreaterEqual(self._values(a).min(), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that no element is greater than a number."""
        self.assertLessEqual(self._values(a).max(), comparison_target)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        """Assert that an array and a tensor have the same shape."""
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Assert the type of the elements."""
        self.assertEqual(self._values(target).dtype, np.dtype(expected_dtype))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Assert that two names mean the same device."""
        one, other = (parse_full_name(str(device or "")) for device in (device1, device2))
        self.assertEqual(
            one, other, f"Devices {device1} and {device2} are not equal. {msg or ''}"
        )

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        """Assert how a text begins."""
        if not actual.startswith(expected_start):
            raise AssertionError(
                f"{actual!r} does not start with {expected_start!r}. {msg or ''}"
            )

    def assertEndsWith(self, actual: str, expected_end: str, msg: Any = None) -> None:
        """Assert how a text ends."""
        if not actual.endswith(expected_end):
            raise AssertionError(f"{actual!r} does not end with {expected_end!r}. {msg or ''}")

    def assertLen(self, container: Any, expected_len: int, msg: Any = None) -> None:
        """Assert how many elements there are."""
        if len(container) != expected_len:
            raise AssertionError(
                f"{container!r} has length of {len(container)}, expected {expected_len}. "
                f"{msg or ''}"
            )

    def assertEmpty(self, container: Any, msg: Any = None) -> None:
        """Assert that there are no elements."""
        if len(container):
            raise AssertionError(f"{container!r} has length of {len(container)}. {msg or ''}")

    def assertNotEmpty(self, container: Any, msg: Any = None) -> None:
        """Assert that there are elements."""
        if not len(container):
            raise AssertionError(f"{container!r} has length of 0. {msg or ''}")

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Message) -> None:
        """Assert that a message equals another, or one in protobuf's text format."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = merge_text(expected, type(message)())
        self.assertEqual(expected, message)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Assert that a block raises an OpError with a message that matches."""
        return self.assertRaisesRegex(OpError, expected_err_re_or_predicate)


def _value_of(tensor: Any) -> Any:
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


def _test_config(config: ConfigProto | None, force_gpu: bool) -> ConfigProto:
    chosen = ConfigProto()
    if config is not None:
        chosen.CopyFrom(config)
    else:
        chosen.allow_soft_placement = not force_gpu
    return chosen


def _test_device(use_gpu: bool, force_gpu: bool) -> str | None:
    if force_gpu:
        return "/device:GPU:0"
    return None if use_gpu else "/device:CPU:0"
