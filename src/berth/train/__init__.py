"""``tf.train`` of TensorFlow 2; that of TensorFlow 1 is `berth.compat.v1.train`."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.train.cluster import ClusterDef, ClusterSpec, JobDef

__all__ = [
    "ClusterDef",
    "ClusterSpec",
    "JobDef",
]
# --- end

_explain_missing_names(__name__, __all__)
