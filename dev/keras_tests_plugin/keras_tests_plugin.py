"""A plugin of pytest for Keras's tests: berth as the backend, and results as a file."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

import berth  # noqa: F401 - so that Keras finds it

_outcomes: dict[str, tuple[str, str]] = {}


def pytest_configure(config: Any) -> None:
    for marker in ("requires_trainable_backend", "multi_device"):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(items: Any) -> None:
    for item in items:
        if item.get_closest_marker("multi_device"):
            item.add_marker(pytest.mark.skip(reason="there is one device"))


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        error = "" if crash is None else crash.message.partition("\n")[0][:150]
        _outcomes[report.nodeid] = (report.outcome, error)


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _outcomes[report.nodeid] = ("error", str(report.longrepr).rpartition("\n")[2])


def pytest_sessionfinish() -> None:
    with open(os.environ["KERAS_TESTS_RESULTS"], "w") as file:
        json.dump(_outcomes, file)
