"""ConfigProto and GPUOptions behave like the protocol buffers they stand for."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError
from berth.front.options import device_options


def test_keyword_and_attribute_style_are_equal():
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    config.gpu_options.per_process_gpu_memory_fraction = 0.4
    config.device_count["GPU"] = 1

    same = tf.ConfigProto(
        device_count={"GPU": 1},
        gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.4, allow_growth=True),
    )
    assert config == same
    assert config != tf.ConfigProto()


def test_text_form_is_protobuf_s():
    config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1.5, 2])

    assert repr(config) == (
        'device_count {\n  key: "CPU"\n  value: 2\n}\n'
        "gpu_options {\n  experimental {\n    virtual_devices {\n"
        "      memory_limit_mb: 1.5\n      memory_limit_mb: 2\n    }\n  }\n}\n"
        "allow_soft_placement: true\n"
    )


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (
            lambda config: tf.ConfigProto(gpu_option=1),
            ValueError,
            "Protocol message ConfigProto has no \"gpu_option\" field.\n  Did you mean 'gpu_options'?",
        ),
        (
            lambda config: setattr(config.gpu_options, "alow_growth", True),
            AttributeError,
            "Protocol message GPUOptions has no \"alow_growth\" field.\n  Did you mean 'allow_growth'?",
        ),
        (
            lambda config: config.zzz,
            AttributeError,
            'Protocol message ConfigProto has no "zzz" field.',
        ),
        (
            lambda config: setattr(config, "gpu_options", tf.GPUOptions()),
            AttributeError,
            'Assignment not allowed to message field "gpu_options" in protocol message object.',
        ),
        (
            lambda config: setattr(config, "device_count", {"GPU": 1}),
            AttributeError,
            'Assignment not allowed to map, or repeated field "device_count" in protocol message object.',
        ),
        (
            lambda config: setattr(config.gpu_options, "allow_growth", "yes"),
            TypeError,
            "'str' object cannot be interpreted as an integer",
        ),
        (
            lambda config: setattr(
                config.gpu_options, "per_process_gpu_memory_fraction", "0.4"
            ),
            TypeError,
            "must be real number, not str",
        ),
        (
            lambda config: setattr(config, "inter_op_parallelism_threads", 2**40),
            ValueError,
            "Value out of range: 1099511627776",
        ),
        (
            lambda config: config.device_count.update({"GPU": "one"}),
            TypeError,
            "'str' object cannot be interpreted as an integer",
        ),
        (
            lambda config: config.gpu_options.experimental.virtual_devices.append(3),
            TypeError,
            "must be a VirtualDevices, not int",
        ),
    ],
)
def test_misuse_is_an_error_and_changes_nothing(misuse, error, message):
    config = tf.ConfigProto()
    with pytest.raises(error) as raised:
        misuse(config)

    assert str(raised.value) == message
    assert config == tf.ConfigProto()


def test_copies_do_not_share():
    options = tf.GPUOptions(allow_growth=True)
    config = tf.ConfigProto(gpu_options=options)
    options.allow_growth = False
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    config.gpu_options.allow_growth = False

    assert copy.gpu_options.allow_growth


def test_options_are_passed_on_whole():
    config = tf.ConfigProto(device_count={"GPU": 2})
    config.gpu_options.visible_device_list = "1,0"
    config.gpu_options.allow_growth = True
    config.gpu_options.experimental.num_virtual_devices_per_gpu = 2
    options = device_options(config)

    assert options.device_count == {"GPU": 2}
    assert options.visible_device_list == "1,0"
    assert options.allow_growth
    assert options.n_virtual_devices_per_gpu == 2
    assert options.memory_fraction == 0.0


def test_eager_execution_adopts_a_config(sim):
    sim("4xK20m")
    config = tf.ConfigProto(device_count={"GPU": 1, "CPU": 2}, log_device_placement=True)
    config.gpu_options.visible_device_list = "2,1"
    tf.enable_eager_execution(config)

    assert [d.name for d in tf.config.get_visible_devices("GPU")] == ["/physical_device:GPU:2"]
    assert len(tf.config.list_logical_devices("CPU")) == 2
    assert tf.debugging.get_log_device_placement()


def test_lists_own_their_messages():
    config = tf.ConfigProto()
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1, 2, 3])
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    limits = copy.gpu_options.experimental.virtual_devices[0].memory_limit_mb
    limits[0:2] = [5]

    assert list(limits) == [5, 3]
    assert config.gpu_options.experimental.virtual_devices[0].memory_limit_mb == [1, 2, 3]


@pytest.mark.parametrize(
    ("filters", "n_gpus"),
    [([], 2), (["/job:localhost"], 2), (["/device:GPU:0"], 2), (["/device:CPU:0"], 0)],
)
def test_filters_restrict_the_types(filters, n_gpus, sim):
    maker = sim("2xT4").devices.maker
    made = maker.plan(device_options(tf.ConfigProto(device_filters=filters)))

    assert [d.device_type for d in made] == ["CPU"] + ["GPU"] * n_gpus


def test_unreadable_filter_is_an_error():
    with pytest.raises(InvalidArgumentError, match=r"^Invalid device filter: junk!!$"):
        device_options(tf.ConfigProto(device_filters=["junk!!"]))


def test_explicit_false_is_known_from_silence():
    config = tf.ConfigProto(allow_soft_placement=False)
    config.gpu_options.allow_growth = False
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    for each in (config, copy, tf.ConfigProto(gpu_options=config.gpu_options)):
        assert each.gpu_options.is_set("allow_growth")
        assert device_options(each).allow_growth is False
    assert copy.is_set("allow_soft_placement")
    assert not copy.is_set("log_device_placement")
    assert device_options(tf.ConfigProto()).allow_growth is None
    assert tf.ConfigProto(allow_soft_placement=None) == tf.ConfigProto()
    assert copy == config
    assert not tf.ConfigProto(allow_soft_placement=None).is_set("allow_soft_placement")
