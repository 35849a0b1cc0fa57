"""``tf.train``: what counts the steps of training."""

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
from berth.summary.events import summary_iterator
from berth.summary.file_writer import FileWriter as SummaryWriter
from berth.train.checkpoints.checkpoint_reader import (
    NewCheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from berth.train.checkpoints.checkpoint_state import (
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from berth.train.cluster import ClusterSpec
from berth.train.device_setter import replica_device_setter
from berth.train.saving.meta_graph import export_meta_graph
from berth.train.saving.saver import Saver
from berth.train.saving.saver_def import SaverDef
from berth.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)

__all__ = [
    "BytesList",
    "ClusterDef",
    "ClusterSpec",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "JobDef",
    "NewCheckpointReader",
    "Saver",
    "SaverDef",
    "SequenceExample",
    "SummaryWriter",
    "assert_global_step",
    "checkpoint_exists",
    "create_global_step",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "remove_checkpoint",
    "replica_device_setter",
    "summary_iterator",
    "update_checkpoint_state",
]
# --- end

_explain_missing_names(__name__, __all__)
