"""Every operation there is, with something to try it on."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import berth.graph
import berth.ops
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import Case
from tests.ops.formulas import FORMULAS, dtypes_of, operands
from tests.ops.samples import all_samples, large_samples

for package in (berth.ops, berth.graph):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)

ELEMENTWISE = sorted(name for name, op in CATALOGUE.items() if op.elementwise is not None)

SHAPES = ((2, 3, 1), (3, 4))
ELEMENTWISE_CASES: list[Case] = [
    (
        name,
        operands(name, dtypes_of(name)[0], *SHAPES[: 2 if formula.broadcasts else 1]),
        dict(formula.attrs),
    )
    for name, formula in FORMULAS.items()
]
EVERY = [
    *all_samples(),
    *ELEMENTWISE_CASES,
]

LARGE = large_samples()
"""Arrays large enough to see whether others like them are made."""
