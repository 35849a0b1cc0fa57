"""One side of the benchmark: times cases in this process and prints them as JSON.

Run by bench/run.py, with berth's Python and with the peer's: ``measure.py berth``.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any


def seconds_per_call(work: Callable[[], Any], at_least: float = 0.05) -> float:
    """Time a call, repeated until the clock can tell."""
    work()
    n_calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(n_calls):
            work()
        elapsed = time.perf_counter() - start
        if elapsed > at_least:
            return elapsed / n_calls
        n_calls *= 4


def cases(tf: Any) -> dict[str, Callable[[], Any]]:
    spec = tf.DeviceSpec.from_string("/job:worker/task:1")
    gpu = tf.DeviceSpec.from_string("/gpu:1")

    def scope() -> None:
        with tf.device("/cpu:0"):
            pass

    return {
        "DeviceSpec.from_string": lambda: tf.DeviceSpec.from_string(
            "/job:worker/replica:0/task:1/device:GPU:2"
        ),
        "DeviceSpec.make_merged_spec": lambda: spec.make_merged_spec(gpu),
        "DeviceSpec.to_string": spec.to_string,
        "config.list_physical_devices": tf.config.list_physical_devices,
        "config.list_logical_devices": tf.config.list_logical_devices,
        "with tf.device('/cpu:0'): pass": scope,
    }


def main() -> None:
    tf = importlib.import_module(sys.argv[1])
    print(json.dumps({name: seconds_per_call(work) for name, work in cases(tf).items()}))


if __name__ == "__main__":
    main()
