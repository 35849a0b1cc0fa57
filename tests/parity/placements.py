"""Programs placed by the parity tests, on machines of their own."""

from __future__ import annotations

import pytest

from berth.errors import InvalidArgumentError
from berth.plan.placer import place
from berth.plan.walk import document_order
from tests.plan.nodes import machine, program, short_names

CPUS = machine(2)
K40 = machine(1, 1)
K20 = machine(1, 4)
CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
GPU_0 = "/job:localhost/replica:0/task:0/device:GPU:0"


PRODUCT = """
a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = matmul(a, b)
"""
MISSING = """
scope = graph.device('{}'); scope.__enter__()
a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = matmul(a, b)
scope.__exit__()
"""


def placed(text, devices, **options):
    """Place a program; return short names by operation, in the order of placing."""
    return short_names(place(program(text).ops, devices, **options))


def failure(graph, devices, fetch=None, **options):
    """Place a graph that cannot be placed; return the error."""
    order = None if fetch is None else document_order([graph.by_name[fetch]])
    with pytest.raises(InvalidArgumentError) as caught:
        place(graph.ops, devices, error_order=order, **options)
    assert caught.value.op in graph.ops
    assert caught.value.error_code == 3
    return caught.value.message
