"""NumPy's warnings, off while an operation computes, and back afterwards: also after Ctrl-C."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import berth as tf
from berth import fp_errors
from berth.fp_errors import ignore_fp_errors
from tests.memory.interrupts import Interrupter

SOURCE = Path(tf.__file__).parent


@pytest.mark.parametrize("module", ["fp_errors.py", "eager/direct.py"])
def test_interrupt_leaves_no_warnings_off(eager, module):
    x = tf.constant([1.0, 0.0])
    interrupter, n, is_reached = Interrupter(SOURCE / module), 0, True

    def divide():
        assert (x / 0.0).numpy()[0] == np.inf
        ignore_fp_errors(np.divide, (np.ones(2), np.zeros(2)))

    divide()
    while is_reached:
        n += 1
        is_reached, _ = interrupter.run(divide, n)
        assert np.geterr()["divide"] == "warn", f"interrupted at moment {n}"
    assert n > 10


def test_settings_of_the_program_are_restored():
    with np.errstate(divide="raise", over="print"):
        before = np.geterr()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            quotient = ignore_fp_errors(np.divide, (np.ones(1), np.zeros(1)))
        assert np.geterr() == before
    assert quotient[0] == np.inf
    assert fp_errors.get_state() is not fp_errors.IGNORE
