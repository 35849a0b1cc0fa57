"""Random device names, specs and GPU lists."""

from __future__ import annotations

from hypothesis import strategies as st

from berth.devices.full_name import FullName
from berth.devices.spec import DeviceSpecV2

indices = st.integers(min_value=0, max_value=99)
words = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)
device_types = st.sampled_from(["CPU", "GPU", "TPU", "XLA_GPU"]) | words


def optional(strategy):
    return st.none() | strategy


specs = st.builds(
    DeviceSpecV2,
    job=optional(words),
    replica=optional(indices),
    task=optional(indices),
    device_type=optional(device_types),
    device_index=optional(indices),
)


@st.composite
def full_names(draw) -> FullName:
    kind = draw(optional(device_types))
    return FullName(
        job=draw(optional(words)),
        replica=draw(optional(indices)),
        task=draw(optional(indices)),
        type=kind,
        # An index without a type is never written, so no text could stand for it.
        index=draw(optional(indices)) if kind else None,
    )


uuids = st.lists(st.uuids().map(lambda uuid: f"GPU-{uuid}"), max_size=6, unique=True)
