"""Device names: sections 1.2 (canonical form), 1.3 (Python's parser), 1.4 (C++'s)."""

from __future__ import annotations

import pytest

import berth as tf
from berth.devices.full_name import (
    FullName,
    OnConflict,
    canonicalize,
    merge,
    parse_full_name,
    parse_local_name,
)
from berth.devices.spec import canonical_name, check_valid
from tests.parity.programs import first_line

FULL = "/job:worker/replica:0/task:1/device:GPU:2"

# Section 1.3, the rows that are names.
PRINTED = {
    "/cpu:0": "/device:CPU:0",
    "cpu:0": "/device:CPU:0",
    "CPU:0": "/device:CPU:0",
    "/gpu:1": "/device:GPU:1",
    "gpu:1": "/device:GPU:1",
    "Gpu:1": "/device:GPU:1",
    "GPU:1": "/device:GPU:1",
    "/device:gpu:0": "/device:GPU:0",
    "/device:cpu:0": "/device:CPU:0",
    "/device:Gpu:0": "/device:Gpu:0",
    "GPU": "/device:GPU:*",
    "/GPU": "/device:GPU:*",
    "gPu": "/device:GPU:*",
    "/gpu:*": "/device:GPU:*",
    "/device:GPU:*": "/device:GPU:*",
    "cpu:*": "/device:CPU:*",
    "": "",
    "/": "",
    "//": "",
    None: "",
    FULL: FULL,
    "/job:worker/device:GPU:2/task:1": "/job:worker/task:1/device:GPU:2",
    "/job:worker//task:1": "/job:worker/task:1",
    "/job:worker/job:ps": "/job:ps",
    "/replica:1/replica:2": "/replica:2",
    "/task:1/task:2": "/task:2",
    "job:worker/gpu:0": "/job:worker/device:GPU:0",
    "/job:*": "/job:*",
    "/job:": "/job:",
    "/job:worker-1": "/job:worker-1",
    "/job:1worker": "/job:1worker",
    "/gpu:-1": "/device:GPU:-1",
    "/replica:-1": "/replica:-1",
    "/GPU:01": "/device:GPU:1",
    "/gpu: 1": "/device:GPU:1",
    "/gpu:1 ": "/device:GPU:1",
    "/gpu:1_0": "/device:GPU:10",
    "/device:XPU:3": "/device:XPU:3",
    "/device:XLA_GPU:0": "/device:XLA_GPU:0",
    "/device:TPU_SYSTEM:0": "/device:TPU_SYSTEM:0",
    "/device:*:0": "/device:*:0",
    "/device::0": "/device::0",
    "/tpu:0": "/device:TPU:0",
    "/custom:0": "/device:CUSTOM:0",
    "/EPU:1": "/device:EPU:1",
}

# Section 1.3, the rows with an unknown attribute: the first part of the piece is quoted.
UNKNOWN = {
    "/device:GPU": "device",
    "/device:*": "device",
    "/device:GPU:0:1": "device",
    "/job": "job",
    "/job:a:b": "job",
    "/Job:a": "Job",
    "/REPLICA:0": "REPLICA",
    "/foo:0": "foo",
    "junk": "junk",
    "*": "*",
    " /gpu:1": " ",
    "/xpu:0": "xpu",
    "/TPU_SYSTEM:0": "TPU_SYSTEM",
    "/XLA_GPU:0": "XLA_GPU",
    "/physical_device:GPU:0": "physical_device",
    "/Device:GPU:0": "Device",
}

TWO_DEVICES = ["/gpu:0/cpu:0", "/gpu:0/gpu:1", "/device:GPU:0/gpu:1"]

# Section 1.3, the rows where int() refuses, with what it refuses.
NO_INTEGER = {
    "/replica:*": "*",
    "/task:*": "*",
    "/gpu:x": "x",
    "/gpu:": "",
    "/device:GPU:": "",
    "/task:a": "a",
    "/gpu:0x1": "0x1",
    "/task:1.5": "1.5",
}


@pytest.mark.parametrize(("text", "printed"), PRINTED.items(), ids=map(repr, PRINTED))
def test_spec_prints_canonical_form(text, printed):
    """Section 1.3, the table."""
    assert tf.DeviceSpec.from_string(text).to_string() == printed


@pytest.mark.parametrize(("text", "printed"), PRINTED.items(), ids=map(repr, PRINTED))
def test_canonical_name_agrees_with_spec(text, printed):
    """Sections 1.3 and 1.8: canonical_name reads as the spec does; None is ''."""
    assert canonical_name(text) == printed


@pytest.mark.parametrize(("text", "attribute"), UNKNOWN.items(), ids=map(repr, UNKNOWN))
@pytest.mark.parametrize("read", [tf.DeviceSpec.from_string, canonical_name, check_valid])
def test_unknown_attribute_is_quoted(read, text, attribute):
    """Section 1.3, the table."""
    with pytest.raises(ValueError, match="Unknown attribute") as caught:
        read(text)
    assert first_line(caught.value) == (
        f"Unknown attribute '{attribute}' is encountered while parsing "
        f"the device spec: '{text}'."
    )


@pytest.mark.parametrize("text", TWO_DEVICES)
def test_second_device_is_error(text):
    """Section 1.3, the table: the name is not quoted."""
    with pytest.raises(ValueError, match="Multiple device types") as caught:
        tf.DeviceSpec.from_string(text)
    assert first_line(caught.value) == (
        f"Multiple device types are not allowed while parsing the device spec: {text}."
    )


@pytest.mark.parametrize(("text", "literal"), NO_INTEGER.items(), ids=map(repr, NO_INTEGER))
def test_index_must_be_an_integer(text, literal):
    """Section 1.3, the table: the message is that of int()."""
    with pytest.raises(ValueError, match="invalid literal") as caught:
        tf.DeviceSpec.from_string(text)
    assert first_line(caught.value) == (f"invalid literal for int() with base 10: {literal!r}")


def test_name_must_be_a_string():
    """Section 1.3, the last row."""
    with pytest.raises(AttributeError) as caught:
        tf.DeviceSpec.from_string(3)
    assert first_line(caught.value) == "'int' object has no attribute 'split'"


@pytest.mark.parametrize("text", [text for text in PRINTED if text is not None], ids=repr)
def test_readable_name_is_valid(text):
    """Section 1.8: check_valid raises or returns nothing."""
    assert check_valid(text) is None


@pytest.mark.parametrize(
    ("fields", "printed"),
    [
        ({}, ""),
        ({"job": "ps"}, "/job:ps"),
        ({"replica": 0}, "/replica:0"),
        ({"task": 0}, "/task:0"),
        ({"type": "GPU", "index": 0}, "/device:GPU:0"),
        ({"type": "GPU"}, "/device:GPU:*"),
        ({"index": 3}, ""),
        ({"job": "ps", "index": 3}, "/job:ps"),
        ({"type": "GPU", "index": 2, "task": 1, "replica": 0, "job": "worker"}, FULL),
    ],
    ids=str,
)
def test_full_name_prints_set_fields(fields, printed):
    """Section 1.2: absent parts are omitted, an index without a type prints nothing."""
    assert str(FullName(**fields)) == printed


@pytest.mark.parametrize(
    ("fields", "printed"),
    [
        ({"device_type": "GPU"}, "/device:GPU:*"),
        ({"device_index": 3}, ""),
        ({"job": "ps", "device_index": 3}, "/job:ps"),
        ({"task": 1, "job": "ps"}, "/job:ps/task:1"),
    ],
    ids=str,
)
def test_spec_prints_set_fields(fields, printed):
    """Section 1.2, for the Python class."""
    assert tf.DeviceSpec(**fields).to_string() == printed


# Section 1.4: any order, later wins, `*` leaves a field open.
READ = {
    "": {},
    "/": {},
    "/job:*": {},
    "/job:worker": {"job": "worker"},
    "/job:w_1": {"job": "w_1"},
    "/replica:2": {"replica": 2},
    "/replica:*": {},
    "/task:10": {"task": 10},
    "/task:*": {},
    "/device:GPU": {"type": "GPU"},
    "/device:GPU:*": {"type": "GPU"},
    "/device:GPU:3": {"type": "GPU", "index": 3},
    "/device:*:3": {"index": 3},
    "/device:*": {},
    "/device:*:*": {},
    "/device:gpu:0": {"type": "gpu", "index": 0},
    "/device:XLA_GPU:0": {"type": "XLA_GPU", "index": 0},
    "/cpu:0": {"type": "CPU", "index": 0},
    "/CPU:0": {"type": "CPU", "index": 0},
    "/gpu:1": {"type": "GPU", "index": 1},
    "/GPU:01": {"type": "GPU", "index": 1},
    "/gpu:*": {"type": "GPU"},
    "/cpu:*": {"type": "CPU"},
    "/gpu:0/task:1/job:ps": {"job": "ps", "task": 1, "type": "GPU", "index": 0},
    "/job:a/job:b": {"job": "b"},
    "/job:a/job:*": {},
    "/task:1/task:2": {"task": 2},
    "/device:GPU:0/cpu:1": {"type": "CPU", "index": 1},
    "/gpu:0/gpu:*": {"type": "GPU"},
    FULL: {"job": "worker", "replica": 0, "task": 1, "type": "GPU", "index": 2},
}


@pytest.mark.parametrize(("text", "fields"), READ.items(), ids=map(repr, READ))
def test_runtime_parser_reads_fields(text, fields):
    """Section 1.4."""
    assert parse_full_name(text) == FullName(**fields)


@pytest.mark.parametrize(
    "text",
    [
        "/Gpu:0",
        "/Cpu:0",
        "/gpu",
        "/GPU",
        "GPU:0",
        "gpu:0",
        "//",
        "//gpu:0",
        "/job:worker/",
        "/job:worker-1",
        "/job:1worker",
        "/job:_worker",
        "/job:wörker",
        "/job:",
        "/job",
        "/JOB:worker",
        "/gpu:-1",
        "/gpu:+1",
        "/gpu:",
        "/gpu:x",
        "/gpu:0x1",
        "/gpu: 1",
        "/gpu:1 ",
        " /gpu:1",
        "/gpu:1_0",
        "/gpu:٣",
        "/replica:-1",
        "/replica:",
        "/task:1.5",
        "/task:a",
        "/device:GPU:",
        "/device:GPU:0x",
        "/device:GPU:0:1",
        "/device::0",
        "/device:1GPU:0",
        "/device:GPU-X:0",
        "/device:_GPU:0",
        "/xpu:0",
        "/tpu:0",
        "/foo:0",
        "/physical_device:GPU:0",
        "junk",
        "*",
    ],
)
def test_runtime_parser_refuses_text(text):
    """Section 1.4; among them are names that Python's parser accepts (section 1.3)."""
    assert parse_full_name(text) is None


LOCAL = {
    "GPU:0": {"type": "GPU", "index": 0},
    "CPU:10": {"type": "CPU", "index": 10},
    "gpu:0": {"type": "gpu", "index": 0},
    "XLA_GPU:0": {"type": "XLA_GPU", "index": 0},
}


@pytest.mark.parametrize(("text", "fields"), LOCAL.items(), ids=LOCAL)
def test_local_name_is_type_and_number(text, fields):
    """Section 1.4, the local-name grammar: the case of the type is kept."""
    assert parse_local_name(text) == FullName(**fields)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GPU",
        "GPU:",
        "GPU:*",
        "GPU:CPU",
        "GPU:0x",
        "GPU:-1",
        "/GPU:0",
        "*:0",
        ":0",
        "device:GPU:0",
        "/device:GPU:0",
    ],
    ids=repr,
)
def test_local_name_has_no_wildcard(text):
    """Section 1.4, the local-name grammar."""
    assert parse_local_name(text) is None


@pytest.mark.parametrize(
    ("less", "more", "matches", "compatible"),
    [
        ("", FULL, True, True),
        ("/job:worker", FULL, True, True),
        ("/device:GPU:*", FULL, True, True),
        ("/device:*:2", FULL, True, True),
        (FULL, FULL, True, True),
        ("/job:ps", FULL, False, False),
        ("/replica:1", FULL, False, False),
        ("/task:0", FULL, False, False),
        ("/device:CPU:2", FULL, False, False),
        ("/device:gpu:2", FULL, False, False),
        ("/device:GPU:0", FULL, False, False),
        ("/device:GPU:2", "/job:worker", False, True),
        (FULL, "", False, True),
        ("/job:ps/gpu:0", "/job:ps/task:1", False, True),
    ],
)
def test_name_matches_every_set_field(less, more, matches, compatible):
    """Section 1.4: compatibility (both set, so equal) and specification (set in both)."""
    less, more = parse_full_name(less), parse_full_name(more)
    assert less.matches(more) is matches
    assert less.is_compatible(more) is compatible
    assert more.is_compatible(less) is compatible


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (FULL, True),
        ("/replica:0/task:1/device:GPU:2", False),
        ("/job:worker/task:1/device:GPU:2", False),
        ("/job:worker/replica:0/device:GPU:2", False),
        ("/job:worker/replica:0/task:1", False),
        ("/job:worker/replica:0/task:1/device:GPU:*", False),
        ("/job:worker/replica:0/task:1/device:*:2", False),
    ],
)
def test_complete_name_has_five_fields(text, complete):
    """Section 1.4: what "fully specified" means for a base name."""
    assert parse_full_name(text).is_complete is complete


@pytest.mark.parametrize("on_conflict", list(OnConflict))
@pytest.mark.parametrize(
    ("target", "other", "merged"),
    [
        ("", FULL, FULL),
        (FULL, "", FULL),
        ("/job:worker", "/gpu:1", "/job:worker/device:GPU:1"),
        ("/device:GPU:*", "/device:*:1", "/device:GPU:1"),
        ("/task:1/gpu:0", "/replica:2/gpu:0", "/replica:2/task:1/device:GPU:0"),
    ],
)
def test_merge_joins_agreeing_names(on_conflict, target, other, merged):
    """Section 1.4: without conflict the three merges are one."""
    result = merge(parse_full_name(target), parse_full_name(other), on_conflict)
    assert str(result) == merged


NEVER_GIVES_WAY = [
    ("/job:a/gpu:0", "/job:b", "jobs: '/job:a/device:GPU:0' and '/job:b'"),
    (
        "/replica:0",
        "/replica:1/gpu:0",
        "replicas: '/replica:0' and '/replica:1/device:GPU:0'",
    ),
    ("/task:0", "/task:1", "tasks: '/task:0' and '/task:1'"),
]
GIVES_WAY = [
    ("/gpu:0", "/cpu:0", "types: '/device:GPU:0' and '/device:CPU:0'"),
    ("/gpu:0", "/device:cpu", "types: '/device:GPU:0' and '/device:cpu:*'"),
    ("/gpu:0", "/gpu:1", "ids: '/device:GPU:0' and '/device:GPU:1'"),
]


@pytest.mark.parametrize(
    ("on_conflict", "target", "other", "conflict"),
    [(OnConflict.FAIL, *row) for row in NEVER_GIVES_WAY + GIVES_WAY]
    + [(OnConflict.SOFTEN, *row) for row in NEVER_GIVES_WAY]
    + [(OnConflict.OVERRIDE, *row) for row in NEVER_GIVES_WAY],
)
def test_merge_refuses_conflicting_names(on_conflict, target, other, conflict):
    """Section 1.4: softening and overriding help with types and ids only."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        merge(parse_full_name(target), parse_full_name(other), on_conflict)
    assert first_line(caught.value) == f"Cannot merge devices with incompatible {conflict}"


@pytest.mark.parametrize(
    ("target", "other", "softened", "overridden"),
    [
        ("/job:a/gpu:0", "/cpu:1", "/job:a", "/job:a/device:CPU:1"),
        ("/gpu:0", "/job:a/cpu:0", "/job:a", "/job:a/device:CPU:0"),
        ("/gpu:0", "/gpu:1", "/device:GPU:*", "/device:GPU:1"),
        ("/gpu:0", "/device:*:1", "/device:GPU:*", "/device:GPU:1"),
    ],
)
def test_merge_gives_way_on_devices(target, other, softened, overridden):
    """Section 1.4: soft placement clears, override takes the other's value."""
    target, other = parse_full_name(target), parse_full_name(other)
    assert str(merge(target, other, OnConflict.SOFTEN)) == softened
    assert str(merge(target, other, OnConflict.OVERRIDE)) == overridden


def test_softened_type_clears_index():
    """Section 1.4: a type conflict clears type *and* id, which printing cannot show."""
    softened = merge(FullName(type="GPU", index=0), FullName(type="CPU"), OnConflict.SOFTEN)
    assert softened == FullName()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", FULL),
        ("/job:ps", "/job:ps/replica:0/task:1/device:GPU:2"),
        ("/cpu:0", "/job:worker/replica:0/task:1/device:CPU:0"),
        ("CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"),
        ("/device:CPU", "/job:worker/replica:0/task:1/device:CPU:2"),
        ("/replica:3/task:*", "/job:worker/replica:3/task:1/device:GPU:2"),
    ],
)
def test_base_fills_missing_fields(text, canonical):
    """Section 1.4, canonicalising against a base."""
    assert canonicalize(text, FULL) == canonical


@pytest.mark.parametrize(
    ("text", "base", "message"),
    [
        ("/cpu:0", "junk", "Could not parse basename: junk into a device specification."),
        ("/cpu:0", "/job:a/cpu:0", "Basename: /job:a/cpu:0 should be fully specified."),
        ("junk", FULL, "Could not parse junk into a device specification."),
    ],
    ids=["unreadable-base", "partial-base", "unreadable-name"],
)
def test_canonicalising_needs_readable_names(text, base, message):
    """Section 1.4, canonicalising against a base."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        canonicalize(text, base)
    assert first_line(caught.value) == message
