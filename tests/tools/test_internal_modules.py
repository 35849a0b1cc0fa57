"""TensorFlow's internal modules that programs import have the public names."""

from __future__ import annotations

import pytest

import berth
import berth.compat.v1 as tf
from berth.tools.run.internal_modules import FOLDERS, PATHS, PLACES, internal_module
from berth.tools.run.names import find

NAMES = {
    "python.client.device_lib.list_local_devices": berth.device_lib.list_local_devices,
    "python.client.session.Session": tf.Session,
    "python.client.timeline.Timeline": berth.timeline.Timeline,
    "python.eager.backprop.GradientTape": berth.GradientTape,
    "python.eager.context.executing_eagerly": tf.executing_eagerly,
    "python.eager.def_function.function": berth.function,
    "python.framework.config.list_physical_devices": tf.config.list_physical_devices,
    "python.framework.constant_op.constant": tf.constant,
    "python.framework.dtypes.float32": tf.float32,
    "python.framework.errors_impl.OutOfRangeError": tf.errors.OutOfRangeError,
    "python.framework.ops.convert_to_tensor": tf.convert_to_tensor,
    "python.framework.ops.Graph": tf.Graph,
    "python.framework.tensor_shape.TensorShape": tf.TensorShape,
    "python.framework.tensor_util.MakeNdarray": tf.make_ndarray,
    "python.framework.tensor_util.constant_value": berth.get_static_value,
    "python.ops.array_ops.concat": tf.concat,
    "python.ops.control_flow_ops.group": tf.group,
    "python.ops.gradients_impl.gradients": tf.gradients,
    "python.ops.init_ops.zeros_initializer": tf.zeros_initializer,
    "python.ops.math_ops.reduce_sum": tf.reduce_sum,
    "python.ops.nn_ops.relu": tf.nn.relu,
    "python.ops.random_ops.random_uniform": tf.random_uniform,
    "python.ops.variable_scope.get_variable": tf.get_variable,
    "python.platform.app.run": tf.app.run,
    "python.platform.flags.FLAGS": tf.flags.FLAGS,
    "python.platform.test.is_gpu_available": tf.test.is_gpu_available,
    "python.platform.tf_logging.warn": tf.logging.warn,
    "python.training.device_setter.replica_device_setter": tf.train.replica_device_setter,
    "python.training.training_util.get_global_step": tf.train.get_global_step,
    "python.util.nest.flatten": tf.nest.flatten,
    "core.framework.graph_pb2.GraphDef": tf.GraphDef,
    "core.framework.types_pb2.DT_FLOAT": 1,
    "core.protobuf.cluster_pb2.ClusterDef": tf.train.ClusterDef,
    "core.protobuf.config_pb2.ConfigProto": tf.ConfigProto,
    "core.protobuf.rewriter_config_pb2.RewriterConfig": type(
        tf.ConfigProto().graph_options.rewrite_options
    ),
}


@pytest.mark.parametrize(("path", "thing"), NAMES.items(), ids=NAMES)
def test_internal_names_are_the_public_ones(path, thing):
    place, _, name = path.rpartition(".")
    module = internal_module(place)
    assert getattr(module, name) == thing
    assert find("v1", path).is_there
    assert find("v2", path).is_there


def test_internal_modules_are_in_folders():
    assert {"python", "python.ops", "python.framework", "core", "core.protobuf"} <= FOLDERS
    assert FOLDERS.isdisjoint(PATHS)


def test_module_without_names_is_missing():
    """Parts that berth has nothing of are not there, also where TensorFlow has the module."""
    assert internal_module("python.tpu") is None
    for path in PLACES:
        module = internal_module(path)
        assert module is None or module.__all__ != []


def test_internal_import_changes_no_mode(eager):
    internal_module.cache_clear()
    assert internal_module("python.framework.ops") is not None
    assert tf.executing_eagerly()
