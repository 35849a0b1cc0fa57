"""The names of TensorFlow's internals that Keras uses, and what stands for each in berth.

TensorFlow keeps these for Keras and libraries like it: ``tf.__internal__`` and
``tensorflow.python``. Each is something of berth's own, or a few lines of this folder.
"""

from __future__ import annotations

_TRACKING = "berth.trackable.base"
_STRUCTURES = "berth.trackable.data_structures"
_SHIMS = "berth.keras.shims"

INTERNALS: dict[str, dict[str, str]] = {
    "__internal__": {
        "CompositeTensor": "berth.ops.type_spec:CompositeTensor",
        "EagerTensor": "berth.eager.tensor:EagerTensor",
        "FuncGraph": "berth.graph.func_graph:FuncGraph",
    },
    "__internal__.distribute": {
        "strategy_supports_no_merge_call": f"{_SHIMS}:strategy_supports_no_merge_call",
    },
    "__internal__.distribute.interim": {
        "maybe_merge_call": f"{_SHIMS}:maybe_merge_call",
    },
    "__internal__.eager_context": {
        "eager_mode": "berth.eager.mode:init_scope",
    },
    "__internal__.smart_cond": {
        "smart_cond": f"{_SHIMS}:smart_cond",
    },
    "__internal__.tf2": {
        "enabled": "berth.eager.mode:executing_eagerly",
    },
    "__internal__.tracking": {
        "AutoTrackable": f"{_STRUCTURES}:AutoTrackable",
        "Trackable": f"{_TRACKING}:Trackable",
        "no_automatic_dependency_tracking": f"{_TRACKING}:no_automatic_dependency_tracking",
    },
    "__internal__.types": {
        "Tensor": "berth.tensorflow_types:Tensor",
    },
    "compiler.tf2xla.python.xla": {
        "dynamic_update_slice": f"{_SHIMS}:dynamic_update_slice",
    },
    "experimental.dtensor": {
        "Layout": f"{_SHIMS}:Layout",
        "UNSHARDED": f"{_SHIMS}:UNSHARDED",
    },
    "python.eager.context": {
        "_reset_context": f"{_SHIMS}:reset_context",
        "async_wait": f"{_SHIMS}:async_wait",
        "context": f"{_SHIMS}:eager_context",
    },
    "python.framework.config": {
        "disable_op_determinism": f"{_SHIMS}:disable_op_determinism",
        "enable_op_determinism": f"{_SHIMS}:enable_op_determinism",
        "is_op_determinism_enabled": f"{_SHIMS}:is_op_determinism_enabled",
    },
    "python.framework.tensor_util": {
        "is_tf_type": "berth.eager.scope:is_tensor",
    },
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": {},
    "python.trackable.data_structures": {
        "ListWrapper": f"{_STRUCTURES}:ListWrapper",
        "_DictWrapper": f"{_STRUCTURES}:_DictWrapper",
    },
}
"""By module of TensorFlow's: each name, and the module and name of berth's behind it."""
