"""``tf.logging``: TensorFlow 1's logging functions, over Python's `logging`."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.front.logger import (
    DEBUG,
    ERROR,
    FATAL,
    INFO,
    WARN,
    debug,
    error,
    fatal,
    flush,
    get_verbosity,
    info,
    log,
    log_every_n,
    log_first_n,
    log_if,
    set_verbosity,
    vlog,
    warning,
)
from berth.front.logger import task_level_status_message as TaskLevelStatusMessage
from berth.front.logger import warning as warn

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "TaskLevelStatusMessage",
    "WARN",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]
# --- end
