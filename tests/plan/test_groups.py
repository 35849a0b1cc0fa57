"""Groups: what operations that run together are held to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from berth.devices.full_name import FullName
from berth.plan.groups import ANYWHERE, _narrowed

ASKED = FullName(type="GPU", index=1)


@pytest.mark.parametrize("field", ["assigned", "resource"])
@pytest.mark.parametrize(
    ("held", "narrowed"),
    [
        (ANYWHERE, ASKED),
        (ASKED, ASKED),
        (FullName(type="CPU"), FullName(type="CPU", index=1)),
        (FullName(job="w", index=0), FullName(job="w", type="GPU", index=0)),
    ],
    ids=["anywhere", "the same", "another type", "a job"],
)
def test_request_is_as_narrow_as_what_holds_the_group(field, held, narrowed):
    """What the group's state leaves open is as it was asked for."""
    group = SimpleNamespace(**{"assigned": ANYWHERE, "resource": ANYWHERE, field: held})
    assert _narrowed(ASKED, group) == narrowed
