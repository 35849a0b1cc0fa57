"""TensorFlow's internal modules that programs import: ``tensorflow.python.framework.ops``.

They are no part of TensorFlow's API, and programs import them all the same. Each stands for the
public names of the places where TensorFlow offers the same things: `PLACES` says which. A name
that TensorFlow has internally only is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from berth import compat
from berth.keras.internals import INTERNALS
from berth.proto.framework import DataType
from berth.tools.run.module_names import public_names

_FRAMEWORK = (
    "c_api_util composite_tensor constant_op device device_spec function indexed_slices"
)
_FRAMEWORK += " op_def_registry ops random_seed sparse_tensor tensor tensor_shape tensor_spec"
_FRAMEWORK += " tensor_util type_spec"
_OPS = "array_ops array_ops_stack bitwise_ops check_ops clip_ops cond control_flow_assert"
_OPS += " control_flow_case control_flow_ops confusion_matrix data_flow_ops embedding_ops"
_OPS += " functional_ops gradients gradients_impl gradient_checker histogram_ops image_ops"
_OPS += " linalg_ops logging_ops lookup_ops manip_ops map_fn numerics parsing_ops"
_OPS += " partitioned_variables ref_variable resource_variable_ops script_ops session_ops"
_OPS += " sparse_ops special_math_ops standard_ops state_ops template tensor_array_ops"
_OPS += " variable_scope variable_v1 variables while_loop"
_TRAINING = "adadelta adagrad adam basic_session_run_hooks checkpoint_management"
_TRAINING += " checkpoint_utils coordinator device_setter ftrl gradient_descent input"
_TRAINING += " learning_rate_decay momentum monitored_session moving_averages optimizer"
_TRAINING += " queue_runner queue_runner_impl rmsprop saver server_lib session_manager"
_TRAINING += " session_run_hook slot_creator summary_io supervisor sync_replicas_optimizer"
_TRAINING += " training training_util"

PLACES: dict[str, tuple[str, ...]] = {
    **{f"python.framework.{name}": ("",) for name in _FRAMEWORK.split()},
    **{f"python.ops.{name}": ("",) for name in _OPS.split()},
    **{f"python.training.{name}": ("train",) for name in _TRAINING.split()},
    "python.framework.config": ("config", "config.experimental"),
    "python.framework.dtypes": ("dtypes", ""),
    "python.framework.errors": ("errors",),
    "python.framework.errors_impl": ("errors",),
    "python.client.session": ("",),
    "python.eager.backprop": ("",),
    "python.eager.context": ("", "config"),
    "python.eager.def_function": ("",),
    "python.eager.polymorphic_function.polymorphic_function": ("",),
    "python.ops.init_ops": ("", "initializers"),
    "python.ops.init_ops_v2": ("initializers",),
    "python.ops.linalg.linalg_impl": ("linalg",),
    "python.ops.losses.losses_impl": ("losses",),
    "python.ops.math_ops": ("", "math"),
    "python.ops.nn": ("nn",),
    "python.ops.nn_impl": ("nn",),
    "python.ops.nn_ops": ("nn",),
    "python.ops.random_ops": ("", "random"),
    "python.ops.rnn": ("nn",),
    "python.ops.rnn_cell_impl": ("nn.rnn_cell",),
    "python.ops.stateless_random_ops": ("random",),
    "python.ops.string_ops": ("", "strings"),
    "python.data.ops.dataset_ops": ("data",),
    "python.data.ops.iterator_ops": ("data",),
    "python.lib.io.file_io": ("gfile", "io.gfile"),
    "python.lib.io.tf_record": ("python_io", "io"),
    "python.platform.app": ("app",),
    "python.platform.benchmark": ("test",),
    "python.platform.flags": ("flags",),
    "python.platform.gfile": ("gfile",),
    "python.platform.sysconfig": ("sysconfig",),
    "python.platform.test": ("test",),
    "python.platform.tf_logging": ("logging",),
    "python.saved_model.builder": ("saved_model",),
    "python.saved_model.loader": ("saved_model",),
    "python.summary.summary": ("summary",),
    "python.summary.writer.writer": ("summary",),
    "python.util.nest": ("nest",),
    "core.protobuf.config_pb2": ("",),
    "core.framework.attr_value_pb2": ("",),
    "core.framework.graph_pb2": ("",),
    "core.framework.node_def_pb2": ("",),
    "core.framework.summary_pb2": ("",),
    "core.protobuf.meta_graph_pb2": ("",),
    "core.util.event_pb2": ("",),
    "core.example.example_pb2": ("train",),
    "core.example.feature_pb2": ("train",),
}
"""The places in the API whose names an internal module has, those of TensorFlow 1 first."""
_MODULES = {
    "python.client.device_lib": "berth.device_lib",
    "python.distribute.device_util": "berth.tools.run.internal_devices",
    "python.framework.device": "berth.tools.run.internal_devices",
    "python.client.timeline": "berth.timeline",
    "python.util.deprecation": "berth.front.deprecation",
    "examples.tutorials.mnist.input_data": "berth.data.datasets.mnist_input",
    "core.framework.step_stats_pb2": "berth.session.run_metadata",
    "core.framework.tensor_pb2": "berth.proto.framework",
    "core.framework.tensor_shape_pb2": "berth.proto.framework",
    "core.framework.versions_pb2": "berth.proto.framework",
    "core.protobuf.cluster_pb2": "berth.proto.cluster",
    "core.protobuf.rewriter_config_pb2": "berth.proto.rewriter_config",
}
"""Internal modules that are a module of berth."""
_RENAMED = {
    "python.framework.tensor_util": {
        "MakeNdarray": "make_ndarray",
        "constant_value": "get_static_value",
    },
}
"""Names that differ from the public ones."""
_VALUES: dict[str, dict[str, Any]] = {
    "core.framework.types_pb2": {"DataType": DataType, **dict(DataType.items())},
}
"""Internal modules with values of berth's that are not public."""
PATHS = {*PLACES, *_MODULES, *_VALUES, *INTERNALS}


def _folders() -> Iterator[str]:
    for path in PATHS:
        parts = path.split(".")
        yield from (".".join(parts[:n]) for n in range(1, len(parts)))


FOLDERS = frozenset(_folders()) - PATHS
"""Modules that only hold others: ``python.ops``."""


@cache
def internal_module(path: str) -> ModuleType | None:
    """Return what stands for an internal module; None if berth has nothing of it.

    >>> internal_module("python.ops.math_ops").add.__name__, internal_module("python.tpu")
    ('add', None)
    """
    if path in _MODULES:
        return import_module(_MODULES[path])
    # As an attribute: to import it would make this a program of TensorFlow 1.
    apis = (compat.v1, import_module("berth"))
    places = PLACES.get(path, ())
    found = [m for place in places for api in apis if (m := _at(api, place)) is not None]
    names = {
        name: vars(module)[name]
        for module in reversed(found)  # the first place counts
        for name in public_names(module)
        if name in vars(module)
    }
    names.update(_VALUES.get(path, {}))
    for name, public in _RENAMED.get(path, {}).items():
        if public in names:
            names[name] = names[public]
    for name, place in INTERNALS.get(path, {}).items():
        home, _, attribute = place.partition(":")
        names[name] = getattr(import_module(home), attribute)
    if not names and path not in INTERNALS:
        return None
    module = ModuleType(
        f"tensorflow.{path}", f"``tensorflow.{path}``: public names of TensorFlow."
    )
    module.__dict__.update(names, __all__=sorted(names))
    return module


def _at(module: ModuleType, place: str) -> ModuleType | None:
    """Find a module below an API's root."""
    for part in filter(None, place.split(".")):
        if part not in public_names(module):
            return None
        module = getattr(module, part)
    return module
