"""Records what TensorFlow makes of the expressions of some files."""

from __future__ import annotations

import json
import sys

import tensorflow  # type: ignore[import-not-found]

from tests.ops.expressions import FOLDER, Outcome, describe, evaluate, expressions, of_error


def outcome(expression: str) -> Outcome:
    try:
        return describe(evaluate(tensorflow, expression))
    except Exception as error:
        return of_error(error)


if __name__ == "__main__":
    for subject in sys.argv[1:]:
        lines = [
            f"{json.dumps(each)}: {json.dumps(outcome(each), separators=(',', ':'))}"
            for each in expressions(subject)
        ]
        (FOLDER / f"{subject}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
