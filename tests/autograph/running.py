"""Programs for AutoGraph: loading their text for a side, and running them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs.py"
EXPECTED = HERE / "expected.json"


class Program(NamedTuple):
    """A function, and the numbers that it is called with."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def load(path: Path, tf: Any) -> dict[str, Program]:
    """Execute a file of programs with a `tf`; return its programs, by name."""
    found: dict[str, Program] = {}

    def program(*arguments: Any) -> Callable[[Any], Any]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            found[function.__name__] = Program(function, arguments)
            return function

        return add

    namespace = {"tf": tf, "program": program, "__name__": "programs", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return found


def outcome(tf: Any, program: Program, argument: Any, is_traced: bool = True) -> Any:
    """Call a program, traced or eagerly; return its result, or its error's class and words."""
    call = tf.function(program.function) if is_traced else program.function
    try:
        result = tf.nest.map_structure(tf.convert_to_tensor, call(tf.constant(argument)))
        leaves = tf.nest.map_structure(lambda leaf: leaf.numpy().tolist(), result)
        return json.loads(json.dumps(leaves))
    except Exception as error:
        return [type(error).__name__, words_of(error)]


def words_of(error: Exception) -> str:
    """Return an error's own words, without the user code that TensorFlow puts around them."""
    text = str(error)
    marker = f"{type(error).__name__}: "
    if text.startswith("in user code:"):
        text = "\n".join(line.removeprefix("    ") for line in text.splitlines())
        text = text[text.index(marker) + len(marker) :]
    return text.strip()
