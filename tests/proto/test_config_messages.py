"""ConfigProto and RunOptions have every field of TensorFlow's, by its bytes and its text.

`config_messages.json` was written by TensorFlow 2.21: the first two messages have all fields
set, nested ones too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import berth.compat.v1 as tf
from berth.proto.message import Message
from berth.proto.text import merge_text

RECORDED = json.loads(Path(__file__).with_name("config_messages.json").read_text())
PAGE = Path(__file__).parents[2] / "docs/reference/options.md"


def unknown_bytes(message: Message) -> bytes:
    """Return what a message was given and does not know, with that of its parts."""
    found = message._unknown
    for _, value in message.ListFields():
        parts = value.values() if hasattr(value, "values") else value
        for part in parts if hasattr(parts, "__iter__") else [parts]:
            if isinstance(part, Message):
                found += unknown_bytes(part)
    return found


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_messages_are_tensorflow_s(number):
    name, hexadecimal, text = RECORDED[number]
    cls, data = getattr(tf, name), bytes.fromhex(hexadecimal)
    message = cls.FromString(data)
    assert unknown_bytes(message) == b""
    assert message.SerializeToString() == data
    assert str(message) == text
    read = cls()
    merge_text(text, read)
    assert read == message


@pytest.mark.parametrize("number", [0, 1])
def test_first_messages_have_all_fields(number):
    name, hexadecimal, _ = RECORDED[number]

    def check(message: Message) -> None:
        assert {field.name for field, _ in message.ListFields()} == set(message._fields)
        for _, value in message.ListFields():
            if isinstance(value, Message):
                check(value)

    check(getattr(tf, name).FromString(bytes.fromhex(hexadecimal)))


def test_enumerations_have_tensorflow_s_numbers():
    level = tf.OptimizerOptions
    assert (
        level.Level.items() == [("L1", level.L1), ("L0", level.L0)] == [("L1", 0), ("L0", -1)]
    )
    assert [level.DEFAULT, level.OFF, level.ON_1, level.ON_2] == [0, -1, 1, 2]
    rewrite = tf.ConfigProto().graph_options.rewrite_options
    assert (rewrite.OFF, rewrite.AGGRESSIVE, rewrite.HEURISTICS, rewrite.TWO) == (2, 3, 3, 2)
    rewrite.arithmetic_optimization = "OFF"
    assert rewrite.arithmetic_optimization == rewrite.Toggle.Value("OFF")


def test_unknown_field_offers_the_nearest():
    with pytest.raises(ValueError, match='has no "alow_growth" field') as caught:
        tf.GPUOptions(alow_growth=True)
    assert "Did you mean 'allow_growth'" in str(caught.value)
    with pytest.raises(AttributeError, match='has no "use_xla" field'):
        tf.ConfigProto().experimental.use_xla = True


def test_options_are_copied_by_their_bytes():
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    assert config.HasField("gpu_options")
    assert not config.HasField("graph_options")
    copy = tf.ConfigProto()
    copy.ParseFromString(config.SerializeToString())
    copy.MergeFrom(tf.ConfigProto(allow_soft_placement=True))
    assert (copy.gpu_options.allow_growth, copy.allow_soft_placement) == (True, True)
    copy.ClearField("gpu_options")
    assert copy == tf.ConfigProto(allow_soft_placement=True)


def test_session_takes_options_without_effect(sim):
    sim("1xT4")
    config = tf.ConfigProto(isolate_session_state=True, placement_period=3)
    config.gpu_options.force_gpu_compatible = True
    config.gpu_options.allocator_type = "BFC"
    config.gpu_options.deferred_deletion_bytes = 1 << 20
    config.gpu_options.polling_active_delay_usecs = 10
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.constant_folding = 2
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    config.session_inter_op_thread_pool.add(num_threads=1)
    config.session_inter_op_thread_pool.add(num_threads=2)
    with tf.Session(config=config) as session:
        one = tf.constant(1.0)
        pool = tf.RunOptions(inter_op_thread_pool=1)
        assert session.run(one, options=pool) == 1.0
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Invalid inter_op_thread_pool: 2"
        ):
            session.run(one, options=tf.RunOptions(inter_op_thread_pool=2))


def test_unknown_allocator_is_an_error(sim):
    sim("2xT4:1GiB")
    config = tf.ConfigProto()
    config.gpu_options.allocator_type = "best"
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    with pytest.raises(tf.errors.InternalError) as caught:
        tf.Session(config=config)
    first_line, explained = caught.value.message.splitlines()
    assert re.fullmatch(
        r"Failed to get memory allocator for TF GPU 0 with \d+ bytes of memory\.", first_line
    )
    assert "Invalid allocator type: 'best'" in explained
    config.gpu_options.allocator_type = "BFC"
    with tf.Session(config=config) as session:  # the error has changed nothing
        assert session.run(tf.constant(1.0)) == 1.0


def test_page_lists_every_field():
    page = PAGE.read_text()
    listed = set(re.findall(r"`(\w+)`", page))
    missing = {}
    for cls in (
        tf.ConfigProto,
        tf.GPUOptions,
        tf.GraphOptions,
        tf.OptimizerOptions,
        tf.RunOptions,
    ):
        missing[cls.__name__] = set(cls._fields) - listed
    experimental = {*tf.GPUOptions.Experimental._fields, *tf.ConfigProto.Experimental._fields}
    missing["experimental"] = experimental - listed
    assert {name: fields for name, fields in missing.items() if fields} == {}
