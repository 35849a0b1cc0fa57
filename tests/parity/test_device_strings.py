"""Device names as TensorFlow reads them: what it does with odd ones, recorded.

`tests/parity/differential/device_strings.py` has made the table, and compares thousands more.
"""

from __future__ import annotations

import json

import pytest

import berth as tf
from tests.parity.differential.device_strings import INTERESTING, TABLE, draw, outcomes

RECORDED = json.loads(TABLE.read_text())


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("text", RECORDED, ids=repr)
def test_name_is_read_as_tensorflow_does(text):
    assert outcomes(tf, text) == RECORDED[text]


def test_table_has_every_interesting_name():
    assert set(RECORDED) == set(INTERESTING)


def test_strings_are_drawn_by_a_seed():
    assert draw(50, 1) == draw(50, 1) != draw(50, 2)
