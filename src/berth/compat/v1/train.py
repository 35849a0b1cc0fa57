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
from berth.proto.saver import SaverDef
from berth.proto.server import ServerDef
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
from berth.train.coordinator import Coordinator, LooperThread
from berth.train.device_setter import replica_device_setter
from berth.train.hooks.checkpoint_saver import CheckpointSaverHook, CheckpointSaverListener
from berth.train.hooks.feeding import FeedFnHook, FinalOpsHook
from berth.train.hooks.logging_tensors import LoggingTensorHook
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from berth.train.hooks.step_counter import StepCounterHook
from berth.train.hooks.stopping import (
    GlobalStepWaiterHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    StopAtStepHook,
)
from berth.train.hooks.summary_saver import ProfilerHook, SummarySaverHook
from berth.train.hooks.timer import SecondOrStepTimer
from berth.train.input_batches import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from berth.train.input_producers import (
    input_producer,
    limit_epochs,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from berth.train.monitored_session import MonitoredSession, SingularMonitoredSession
from berth.train.monitored_training_session import MonitoredTrainingSession
from berth.train.moving_averages import ExponentialMovingAverage
from berth.train.optimizers.adadelta import AdadeltaOptimizer
from berth.train.optimizers.adagrad import (
    AdagradDAOptimizer,
    AdagradOptimizer,
    ProximalAdagradOptimizer,
)
from berth.train.optimizers.adam import AdamOptimizer
from berth.train.optimizers.ftrl import FtrlOptimizer
from berth.train.optimizers.gradient_descent import (
    GradientDescentOptimizer,
    ProximalGradientDescentOptimizer,
)
from berth.train.optimizers.momentum import MomentumOptimizer
from berth.train.optimizers.optimizer import Optimizer
from berth.train.optimizers.rmsprop import RMSPropOptimizer
from berth.train.optimizers.sync_replicas import SyncReplicasOptimizer
from berth.train.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
from berth.train.saving.import_meta_graph import import_meta_graph, write_graph
from berth.train.saving.meta_graph import export_meta_graph
from berth.train.saving.saver import Saver
from berth.train.scaffold import Scaffold
from berth.train.schedules import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    polynomial_decay,
)
from berth.train.schedules import piecewise_constant as piecewise_constant_decay
from berth.train.server import Server
from berth.train.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from berth.train.session_manager import SessionManager
from berth.train.supervisor import Supervisor, basic_train_loop
from berth.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "SummaryWriter",
    "Supervisor",
    "SyncReplicasOptimizer",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "write_graph",
]
# --- end

_explain_missing_names(__name__, __all__)
