"""`tf.logging` and `tf.get_logger`: levels, format and callers are TensorFlow's."""

from __future__ import annotations

import io
import logging
import sys

import pytest

import berth
import berth.compat.v1 as tf
from berth.front.logger import get_logger

# What TensorFlow 2.21 writes for the same calls, but for the two that count: there it counts
# the calls of all lines together, and its documentation says of each line.
WRITTEN = """\
WARNING:tensorflow:seen 3
ERROR:tensorflow:e
CRITICAL:tensorflow:f
INFO:tensorflow:now
INFO:tensorflow:every 0
WARNING:tensorflow:first 0
WARNING:tensorflow:first 1
INFO:tensorflow:every 2
INFO:tensorflow:every 4
INFO:tensorflow:yes 1
ERROR:tensorflow:vlog 1
DEBUG:tensorflow:log
ERROR:tensorflow:task
"""


@pytest.fixture
def start(monkeypatch):
    """Start a program that has not logged yet; return what it writes to stderr."""
    logger, root = logging.getLogger("tensorflow"), logging.getLogger()
    level = logger.level

    def begin() -> io.StringIO:
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        monkeypatch.setattr(logger, "handlers", [])
        monkeypatch.setattr(root, "handlers", [])  # pytest's own are there from the start
        get_logger.cache_clear()
        return sys.stderr

    yield begin
    logger.setLevel(level)
    get_logger.cache_clear()


def test_messages_have_tensorflow_s_format(start):
    written, log = start(), tf.logging
    log.info("hidden")
    log.warn("seen %d", 3)
    log.error("e")
    log.fatal("f")
    log.set_verbosity(log.INFO)
    log.info("now")
    log.debug("no")
    log.set_verbosity("ERROR")
    log.warning("no")
    assert log.get_verbosity() == log.ERROR == 40
    log.set_verbosity(log.DEBUG)
    for i in range(5):
        log.log_every_n(log.INFO, "every %d", 2, i)
        log.log_first_n(log.WARN, "first %d", 2, i)
    log.log_if(log.INFO, "yes %s", True, 1)
    log.log_if(log.INFO, "no %s", False, 1)
    log.vlog(log.ERROR, "vlog %s", 1)
    log.log(log.DEBUG, "log")
    log.TaskLevelStatusMessage("task")
    assert written.getvalue() == WRITTEN
    with pytest.raises(NotImplementedError):
        log.flush()
    with pytest.raises(ValueError, match=r"^Unknown level: 'LOUD'$"):
        log.set_verbosity("LOUD")


def test_records_have_the_caller_s_line(start, caplog):
    start()
    log = tf.logging
    log.set_verbosity(log.DEBUG)
    calls = [
        lambda: log.debug("x"),
        lambda: log.info("x"),
        lambda: log.warn("x"),
        lambda: log.error("x"),
        lambda: log.fatal("x"),
        lambda: log.log(log.INFO, "x"),
        lambda: log.vlog(log.INFO, "x"),
        lambda: log.log_if(log.INFO, "x", True),
        lambda: log.log_every_n(log.INFO, "x", 1),
        lambda: log.log_first_n(log.INFO, "x", 1),
        lambda: log.TaskLevelStatusMessage("x"),
    ]
    logging.getLogger("tensorflow").addHandler(caplog.handler)
    for call in calls:
        call()
    lines = [call.__code__.co_firstlineno for call in calls]
    assert [record.lineno for record in caplog.records] == lines
    assert {record.pathname for record in caplog.records} == {__file__}
    assert {record.name for record in caplog.records} == {"tensorflow"}


def test_logger_is_the_same_in_both_apis():
    assert berth.get_logger() is tf.get_logger() is logging.getLogger("tensorflow")


def test_configured_logging_is_left_alone(start):
    start()
    logging.getLogger().addHandler(logging.NullHandler())
    assert tf.get_logger().handlers == []


def test_interactive_python_shows_info(start, monkeypatch, capsys):
    written = start()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    tf.logging.info("shown")
    assert capsys.readouterr().out == "INFO:tensorflow:shown\n"
    assert written.getvalue() == ""
