"""Evaluates cases with one library, and writes down what came of them.

    python -m tests.parity.differential.evaluate tensorflow eager,gradient results.jsonl

Each line of the results is a case, a mode and an outcome, and is written at once: a process
that dies shows where. The modes:

- eager: the case as it is written;
- function: in a ``tf.function``, with the inputs as its arguments;
- unknown: so too, but the function knows no shapes when it is traced;
- gradient: what a tape finds for the inputs, given fixed gradients of the results;
- second: so too, for the gradients themselves, where they are real;
- session: in a graph of TensorFlow 1, with the inputs fed.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from tests.parity.differential.inputs import Array, Inputs, cases_for
from tests.parity.differential.outcome import Outcome, describe, leaves, of_error

MODES = ("eager", "function", "unknown", "gradient", "second", "session")


class Evaluator:
    """Evaluates cases with a library, in one of the modes."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf

    def outcome(self, mode: str, case: str) -> Outcome:
        """Evaluate a case; a failure is an outcome, too."""
        code = compile(case, case, "eval")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome: Outcome = getattr(self, f"_{mode}")(code)
            except Exception as error:
                outcome = of_error(error)
        if messages := [str(w.message) for w in caught if w.category is RuntimeWarning]:
            outcome["warned"] = messages[0]
        return outcome

    def _value(self, code: CodeType, make: Callable[[int, Array], Any]) -> tuple[Any, Inputs]:
        inputs = Inputs(make)
        names = {"tf": self.tf, "np": np, **inputs.names()}
        return eval(code, names), inputs

    def _constant(self, _number: int, array: Array) -> Any:
        return self.tf.constant(array)

    def _eager(self, code: CodeType) -> Outcome:
        return describe(self._value(code, self._constant)[0])

    def _function(self, code: CodeType, unknown: bool = False) -> Outcome:
        arrays = self._arrays(code)
        shapes: list[str] = []

        def traced(*arguments: Any) -> Any:
            def make(number: int, array: Array) -> Any:
                known = number < len(arguments)
                return arguments[number] if known else self.tf.constant(array)

            value, _ = self._value(code, make)
            shapes[:] = [str(getattr(leaf, "shape", "")) for leaf in leaves(value)]
            return value

        tensors = [self.tf.constant(array) for array in arrays]
        signature = [self.tf.TensorSpec(None, each.dtype) for each in tensors]
        options = {"input_signature": signature} if unknown else {}
        function = self.tf.function(traced, autograph=False, **options)
        outcome = describe(function(*tensors))
        outcome["shapes"] = shapes
        return outcome

    def _unknown(self, code: CodeType) -> Outcome:
        return self._function(code, unknown=True)

    def _arrays(self, code: CodeType) -> Sequence[Array]:
        """Find a case's inputs: those it asks for until it fails."""
        inputs = Inputs(self._constant)
        try:
            eval(code, {"tf": self.tf, "np": np, **inputs.names()})
        except Exception:
            return inputs.arrays
        return inputs.arrays

    def _gradient(self, code: CodeType) -> Outcome:
        sources: list[Any] = []
        with self.tf.GradientTape() as tape:
            targets = self._targets(code, tape, sources)
        if not targets or not sources:
            return {"skipped": True}
        return describe(tape.gradient(targets, sources, self._weights(targets)))

    def _second(self, code: CodeType) -> Outcome:
        sources: list[Any] = []
        with self.tf.GradientTape() as outer:
            with self.tf.GradientTape() as inner:
                targets = self._targets(code, inner, sources, outer)
            if not targets or not sources:
                return {"skipped": True}
            found = inner.gradient(targets, sources, self._weights(targets))
            first = [self.tf.convert_to_tensor(each) for each in found if each is not None]
        if not first:
            return {"skipped": True}
        return describe(outer.gradient(first, sources, self._weights(first)))

    def _targets(
        self, code: CodeType, tape: Any, sources: list[Any], outer: Any = None
    ) -> list[Any]:
        """Evaluate a case under a tape; return what of its results has gradients."""

        def watched(_number: int, array: Array) -> Any:
            tensor = self.tf.constant(array)
            if array.dtype.kind in ("f" if outer else "fc"):
                for each in filter(None, (tape, outer)):
                    each.watch(tensor)
                sources.append(tensor)
            return tensor

        try:
            value, _ = self._value(code, watched)
        except Exception:
            return []  # its failure is an outcome of the eager mode
        return [leaf for leaf in leaves(value) if has_gradients(leaf)]

    def _weights(self, targets: Sequence[Any]) -> list[Any]:
        return [
            self.tf.constant(np.cos(np.arange(array.size)).reshape(array.shape), target.dtype)
            for target in targets
            for array in [target.numpy()]
        ]

    def _session(self, code: CodeType) -> Outcome:
        tf = self.tf
        feeds: dict[Any, Array] = {}

        def fed(_number: int, array: Array) -> Any:
            dtype = tf.string if array.dtype == object else array.dtype
            placeholder = tf.placeholder(dtype, array.shape)
            feeds[placeholder] = array
            return placeholder

        with tf.Graph().as_default():
            tf.set_random_seed(1)
            value, _ = self._value(code, fed)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                return describe(session.run(value, feeds))


def has_gradients(leaf: Any) -> bool:
    return hasattr(leaf, "numpy") and (leaf.dtype.is_floating or leaf.dtype.is_complex)


def load(module: str, mode: str) -> Any:
    if mode != "session":
        return importlib.import_module(module)
    tf = importlib.import_module(f"{module}.compat.v1")
    tf.disable_v2_behavior()
    return tf


def main(module: str, modes: str, out: str, words: Sequence[str]) -> None:
    with Path(out).open("w") as file:
        for mode in modes.split(","):
            evaluator = Evaluator(load(module, mode))
            for case in cases_for(mode):
                if not words or any(word in case for word in words):
                    if mode != "session":
                        evaluator.tf.random.set_seed(1)
                    outcome = evaluator.outcome(mode, case)
                    file.write(json.dumps([mode, case, outcome]) + "\n")
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
