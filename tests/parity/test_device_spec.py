"""Section 1.8: DeviceSpec, the immutable one and that of version 1, and the helpers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import berth as tf
from berth.compat import v1
from berth.devices.spec import canonical_name, check_valid
from berth.graph.device_scopes import merge_device
from tests.parity.programs import first_line

FIELDS = ["job", "replica", "task", "device_type", "device_index"]
CLASSES = pytest.mark.parametrize("spec_class", [tf.DeviceSpec, v1.DeviceSpec])


def fields_of(spec):
    return tuple(getattr(spec, field) for field in FIELDS)


@CLASSES
def test_spec_starts_all_open(spec_class):
    assert fields_of(spec_class()) == (None,) * 5


@CLASSES
@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"job": 3}, ("3", None, None, None, None)),
        ({"replica": "2"}, (None, 2, None, None, None)),
        ({"task": "1"}, (None, None, 1, None, None)),
        ({"task": 0}, (None, None, 0, None, None)),
        ({"device_index": "7"}, (None, None, None, None, 7)),
        ({"device_type": "gpu"}, (None, None, None, "GPU", None)),
        ({"device_type": "cpu"}, (None, None, None, "CPU", None)),
        ({"device_type": "Gpu"}, (None, None, None, "Gpu", None)),
        ({"device_type": "tpu"}, (None, None, None, "tpu", None)),
    ],
    ids=str,
)
def test_constructor_converts_its_fields(spec_class, given, stored):
    assert fields_of(spec_class(**given)) == stored


@CLASSES
def test_fields_may_be_positional(spec_class):
    spec = spec_class("worker", 0, 1, "GPU", 2)
    assert spec.to_string() == "/job:worker/replica:0/task:1/device:GPU:2"


@pytest.mark.parametrize("field", FIELDS)
def test_current_spec_is_immutable(field):
    with pytest.raises(AttributeError):
        setattr(tf.DeviceSpec(), field, 1)


@CLASSES
def test_from_string_makes_its_class(spec_class):
    spec = spec_class.from_string("/job:worker/gpu:1")
    assert type(spec) is spec_class
    assert fields_of(spec) == ("worker", None, None, "GPU", 1)


def test_parse_from_string_is_new():
    spec = tf.DeviceSpec(job="worker")
    assert spec.parse_from_string("/gpu:1").to_string() == "/device:GPU:1"
    assert spec.to_string() == "/job:worker"


@CLASSES
@pytest.mark.parametrize(
    ("spec", "other", "merged"),
    [
        ("/job:a/gpu:0", "/job:b", "/job:b/device:GPU:0"),
        ("/job:a/gpu:0", "/cpu:1", "/job:a/device:CPU:1"),
        ("/gpu:0", "/cpu:*", "/device:CPU:0"),
        ("/job:a", "", "/job:a"),
        ("/replica:1/task:2", "/task:0", "/replica:1/task:0"),
    ],
)
def test_other_wins_each_field(spec_class, spec, other, merged):
    spec, other = spec_class.from_string(spec), spec_class.from_string(other)
    before = spec.to_string()
    assert spec.make_merged_spec(other).to_string() == merged
    assert spec.to_string() == before


@CLASSES
@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        ({"job": "b"}, "/job:b/device:GPU:0"),
        ({"task": 3}, "/job:a/task:3/device:GPU:0"),
        ({"device_type": "cpu"}, "/job:a/device:CPU:0"),
        ({"device_index": None}, "/job:a/device:GPU:*"),
    ],
    ids=str,
)
def test_replace_changes_named_fields(spec_class, changes, printed):
    spec = spec_class.from_string("/job:a/gpu:0")
    assert spec.replace(**changes).to_string() == printed
    assert spec.to_string() == "/job:a/device:GPU:0"


@CLASSES
def test_replace_refuses_unknown_field(spec_class):
    with pytest.raises(TypeError):
        spec_class().replace(foo=1)


@CLASSES
def test_equal_specs_print_alike(spec_class):
    assert spec_class(job="a") == spec_class.from_string("/job:a")
    assert spec_class(device_index=1) == spec_class()
    assert spec_class(job="a") != spec_class(job="b")
    assert spec_class(job="a") != "/job:a"


def test_two_classes_never_equal():
    assert tf.DeviceSpec(job="a") != v1.DeviceSpec(job="a")
    assert v1.DeviceSpec(job="a") != tf.DeviceSpec(job="a")


@CLASSES
def test_hash_is_of_the_string(spec_class):
    assert hash(spec_class(job="a", device_type="gpu")) == hash("/job:a/device:GPU:*")


@CLASSES
def test_repr_shows_five_fields(spec_class):
    assert repr(spec_class(job="a", device_type="CPU", device_index=0)) == (
        "<DeviceSpec(job=a, replica=None, task=None, device_type=CPU, device_index=0)>"
    )


def test_old_spec_extends_new():
    assert issubclass(v1.DeviceSpec, tf.DeviceSpec)


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("job", "b", "b"),
        ("replica", "2", 2),
        ("task", 3, 3),
        ("device_type", "gpu", "GPU"),
        ("device_type", "cpu", "CPU"),
        ("device_type", "Gpu", "Gpu"),
        ("device_index", "4", 4),
        ("job", None, None),
        ("device_index", None, None),
    ],
)
def test_old_spec_has_setters(field, value, stored):
    spec = v1.DeviceSpec("a", 0, 0, "TPU", 0)
    setattr(spec, field, value)
    assert getattr(spec, field) == stored


def test_changed_old_spec_prints_the_change():
    spec = v1.DeviceSpec(job="a")
    assert spec.to_string() == "/job:a"
    spec.device_type = "gpu"
    assert spec.to_string() == "/job:a/device:GPU:*"


def test_old_spec_parses_itself():
    spec = v1.DeviceSpec(job="a")
    assert spec.parse_from_string("/gpu:1") is spec
    assert spec.to_string() == "/device:GPU:1"


def test_old_spec_merges_in_place():
    spec = v1.DeviceSpec.from_string("/job:a/gpu:0")
    assert spec.merge_from(v1.DeviceSpec.from_string("/job:b/cpu:*")) is None
    assert spec.to_string() == "/job:b/device:CPU:0"


def test_type_none_keeps_index():
    spec = v1.DeviceSpec.from_string("/job:a/gpu:3")
    spec.device_type = None
    assert spec.to_string() == "/job:a"
    assert spec.device_index == 3


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (None, ""),
        ("gpu:0", "/device:GPU:0"),
        (tf.DeviceSpec(job="a"), "/job:a"),
        (v1.DeviceSpec(device_type="cpu"), "/device:CPU:*"),
    ],
    ids=["none", "text", "spec", "old-spec"],
)
def test_canonical_name_takes_anything(device, name):
    assert canonical_name(device) == name


def test_check_valid_raises_parser_error():
    with pytest.raises(ValueError, match="junk") as caught:
        check_valid("junk")
    assert first_line(caught.value) == (
        "Unknown attribute 'junk' is encountered while parsing the device spec: 'junk'."
    )


@pytest.mark.parametrize(
    ("spec", "current", "result"),
    [
        ("/job:ps/gpu:0", "", "/job:ps/device:GPU:0"),
        ("/job:ps/gpu:0", "/cpu:1", "/job:ps/device:CPU:1"),
        (tf.DeviceSpec(job="ps"), "/job:worker", "/job:worker"),
        (v1.DeviceSpec(task=1), "/job:worker", "/job:worker/task:1"),
        (None, "/cpu:1", "/device:CPU:1"),
    ],
    ids=["empty", "inner-wins", "spec", "old-spec", "none"],
)
def test_merge_device_is_a_function(spec, current, result):
    merged = merge_device(spec)(SimpleNamespace(device=current))
    assert canonical_name(merged) == result
