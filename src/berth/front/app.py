"""``tf.app.run``: parse the flags and call the program's ``main``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from berth.flags.values import FLAGS
from berth.public import public_v1


@public_v1("app.run")
def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Call ``main(argv)`` with the words that are not flags of the program, and exit.

    Flags that are not defined are passed on to it. If the program has defined flags by absl-py,
    they are parsed too. What it returns is the exit code.
    """
    call = main or sys.modules["__main__"].main
    words = FLAGS(sys.argv if argv is None else argv, known_only=True)
    absl_flags = sys.modules.get("absl.flags")
    if absl_flags is not None and not absl_flags.FLAGS.is_parsed():
        words = absl_flags.FLAGS(words, known_only=True)
    sys.exit(call(words))
