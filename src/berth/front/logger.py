"""``tf.get_logger`` and ``tf.logging``: the logger named ``tensorflow``, for programs.

TensorFlow 1's functions over Python's `logging`. Records have TensorFlow's name, levels and
format (``INFO:tensorflow:step 1``), and the caller's file and line. berth's own messages go
to the logger ``berth``.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from functools import cache
from typing import Any

from berth.callsite import mark_caller
from berth.public import public, public_v1, public_value

DEBUG = logging.DEBUG
ERROR = logging.ERROR
FATAL = logging.FATAL
INFO = logging.INFO
WARN = logging.WARNING
for _level in ("DEBUG", "ERROR", "FATAL", "INFO", "WARN"):
    public_value(__name__, _level, f"logging.{_level}", apis=("v1",))

_calls: Counter[tuple[str, int]] = Counter()
"""How often each line of a program has called `log_every_n` or `log_first_n`."""
_calls_lock = threading.Lock()


@public("get_logger")
@cache
def get_logger() -> logging.Logger:
    """Return the logger named ``tensorflow``.

    It writes to stderr, unless the program has configured logging before. In an interactive
    Python it shows INFO too, on stdout.
    """
    logger = logging.getLogger("tensorflow")
    if logging.getLogger().handlers or logger.handlers:
        return logger
    is_interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    if is_interactive:
        logger.setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stdout if is_interactive else sys.stderr)
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    logger.addHandler(handler)
    return logger


@public_v1("logging.log")
def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at a level."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.vlog")
def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at a level."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.debug")
def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level DEBUG."""
    get_logger().debug(msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.info")
def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level INFO."""
    get_logger().info(msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.warn", "logging.warning")
def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level WARN."""
    get_logger().warning(msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.error")
def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level ERROR."""
    get_logger().error(msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.fatal")
def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at level FATAL. The program goes on."""
    get_logger().critical(msg, *args, stacklevel=2, **kwargs)


@public_v1("logging.TaskLevelStatusMessage")
def task_level_status_message(msg: Any) -> None:
    """Log a message at level ERROR."""
    get_logger().error(msg, stacklevel=2)


@public_v1("logging.log_if")
def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log a message at a level if a condition holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


@public_v1("logging.log_every_n")
def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log a message the first of every ``n`` times that the calling line is reached."""
    if _count_call() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


@public_v1("logging.log_first_n")
def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log a message the first ``n`` times that the calling line is reached."""
    if _count_call() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


@public_v1("logging.flush")
def flush() -> None:
    """Raise NotImplementedError, as in TensorFlow: records are written at once."""
    raise NotImplementedError


@public_v1("logging.get_verbosity")
def get_verbosity() -> int:
    """Return the lowest level that is shown."""
    return get_logger().getEffectiveLevel()


@public_v1("logging.set_verbosity")
def set_verbosity(v: int | str) -> None:
    """Set the lowest level that is shown: ``tf.logging.INFO``, or its name."""
    get_logger().setLevel(v)


def _count_call() -> int:
    """Count the calls of the program's current line; return how many came before."""
    caller = mark_caller()
    line = caller.file, caller.line
    with _calls_lock:
        _calls[line] += 1
        return _calls[line] - 1
