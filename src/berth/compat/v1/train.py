"""``tf.train``: what counts the steps of training."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.train.cluster import ClusterDef, ClusterSpec, JobDef
from berth.train.device_setter import replica_device_setter
from berth.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)

__all__ = [
    "ClusterDef",
    "ClusterSpec",
    "JobDef",
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "replica_device_setter",
]
# --- end

_explain_missing_names(__name__, __all__)
