"""``tf.train`` of TensorFlow 2; that of TensorFlow 1 is `berth.compat.v1.train`."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from berth.proto.cluster import ClusterDef, JobDef
from berth.proto.server import ServerDef
from berth.train.checkpoints.checkpoint_reader import (
    list_variables,
    load_checkpoint,
    load_variable,
)
from berth.train.checkpoints.checkpoint_state import get_checkpoint_state, latest_checkpoint
from berth.train.cluster import ClusterSpec
from berth.train.coordinator import Coordinator
from berth.train.moving_averages import ExponentialMovingAverage

__all__ = [
    "BytesList",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "JobDef",
    "SequenceExample",
    "ServerDef",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
# --- end

_explain_missing_names(__name__, __all__)
