"""ConfigProto and its parts: TensorFlow's options of a Session.

All fields of TensorFlow 2.21 are here, by its names and numbers. docs/reference/options.md
says which have an effect.
"""

from __future__ import annotations

from berth.proto.cluster import ClusterDef
from berth.proto.fields import (
    bool_field,
    double_field,
    enum_field,
    float_field,
    int32_field,
    int64_field,
    map_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.kinds import FLOAT, INT32, STRING, EnumType
from berth.proto.message import Message
from berth.proto.rewriter_config import RewriterConfig
from berth.public import public_v1


@public_v1("GPUOptions")
class GPUOptions(Message):
    """Which GPUs, and how much of their memory.

    >>> GPUOptions(allow_growth=True, visible_device_list="1,0")
    allow_growth: true
    visible_device_list: "1,0"
    <BLANKLINE>
    """

    class Experimental(Message):
        class VirtualDevices(Message):
            memory_limit_mb = repeated_field(1, FLOAT)
            priority = repeated_field(2, INT32)
            device_ordinal = repeated_field(3, INT32)

        class StreamMergeOptions(Message):
            merge_host_to_device_stream = bool_field(1)
            merge_device_to_host_stream = bool_field(2)
            merge_device_to_device_stream = bool_field(3)

        virtual_devices = repeated_field(1, VirtualDevices)
        use_unified_memory = bool_field(2)
        num_dev_to_dev_copy_streams = int32_field(3)
        collective_ring_order = string_field(4)
        timestamped_allocator = bool_field(5)
        kernel_tracker_max_interval = int32_field(7)
        kernel_tracker_max_bytes = int32_field(8)
        kernel_tracker_max_pending = int32_field(9)
        internal_fragmentation_fraction = double_field(10)
        use_cuda_malloc_async = bool_field(11)
        disallow_retry_on_allocation_failure = bool_field(12)
        gpu_host_mem_limit_in_mb = float_field(13)
        gpu_host_mem_disallow_growth = bool_field(14)
        num_virtual_devices_per_gpu = int32_field(15)
        gpu_system_memory_size_in_mb = int32_field(16)
        populate_pjrt_gpu_client_creation_info = bool_field(17)
        node_id = int32_field(18)
        stream_merge_options = message_field(19, StreamMergeOptions)

    per_process_gpu_memory_fraction = double_field(1)
    allocator_type = string_field(2)
    deferred_deletion_bytes = int64_field(3)
    allow_growth = bool_field(4)
    visible_device_list = string_field(5)
    polling_active_delay_usecs = int32_field(6)
    polling_inactive_delay_msecs = int32_field(7)
    force_gpu_compatible = bool_field(8)
    experimental = message_field(9, Experimental)


@public_v1("OptimizerOptions")
class OptimizerOptions(Message):
    """How TensorFlow optimizes a graph before it runs.

    >>> OptimizerOptions(opt_level=OptimizerOptions.L0)
    opt_level: L0
    <BLANKLINE>
    """

    Level = EnumType("Level", L1=0, L0=-1)
    L1, L0 = Level.values()
    GlobalJitLevel = EnumType("GlobalJitLevel", DEFAULT=0, OFF=-1, ON_1=1, ON_2=2)
    DEFAULT, OFF, ON_1, ON_2 = GlobalJitLevel.values()

    do_common_subexpression_elimination = bool_field(1)
    do_constant_folding = bool_field(2)
    opt_level = enum_field(3, Level)
    do_function_inlining = bool_field(4)
    global_jit_level = enum_field(5, GlobalJitLevel)
    max_folded_constant_in_bytes = int64_field(6)
    cpu_global_jit = bool_field(7)


@public_v1("GraphOptions")
class GraphOptions(Message):
    """How graphs are optimized, placed and run."""

    enable_recv_scheduling = bool_field(2)
    optimizer_options = message_field(3, OptimizerOptions)
    build_cost_model = int64_field(4)
    infer_shapes = bool_field(5)
    place_pruned_graph = bool_field(6)
    enable_bfloat16_sendrecv = bool_field(7)
    timeline_step = int32_field(8)
    build_cost_model_after = int64_field(9)
    rewrite_options = message_field(10, RewriterConfig)


class ThreadPoolOptionProto(Message):
    """A pool of threads of a session."""

    num_threads = int32_field(1)
    global_name = string_field(2)


class RPCOptions(Message):
    """How tasks of a cluster call each other."""

    use_rpc_for_inprocess_master = bool_field(1)
    compression_algorithm = string_field(2)
    compression_level = int32_field(3)
    cache_rpc_response = bool_field(4)
    disable_session_connection_sharing = bool_field(5)
    num_channels_per_target = int32_field(6)


class SessionMetadata(Message):
    """A name and version for logs."""

    name = string_field(1)
    version = int64_field(2)


class CoordinatedJob(Message):
    """A job that takes part in coordination."""

    name = string_field(1)
    num_tasks = int32_field(2)


class CoordinationServiceConfig(Message):
    """How the tasks of a cluster find and watch each other."""

    service_type = string_field(1)
    service_leader = string_field(2)
    enable_health_check = bool_field(3)
    cluster_register_timeout_in_ms = int64_field(4)
    heartbeat_timeout_in_ms = int64_field(5)
    shutdown_barrier_timeout_in_ms = int64_field(7)
    agent_destruction_without_shutdown = bool_field(8)
    recoverable_jobs = repeated_field(9, STRING)
    coordinated_job_list = repeated_field(10, CoordinatedJob)
    allow_new_incarnation_to_reconnect = bool_field(11)
    force_disable = bool_field(12)
    poll_for_error_from_service_at_startup = bool_field(13)
    cluster_register_with_barrier = bool_field(14)


@public_v1("ConfigProto")
class ConfigProto(Message):
    """The options of a Session.

    >>> config = ConfigProto(device_count={"GPU": 1})
    >>> config.gpu_options.per_process_gpu_memory_fraction = 0.4
    >>> config
    device_count {
      key: "GPU"
      value: 1
    }
    gpu_options {
      per_process_gpu_memory_fraction: 0.4
    }
    <BLANKLINE>
    """

    class Experimental(Message):
        MlirBridgeRollout = EnumType(
            "MlirBridgeRollout",
            MLIR_BRIDGE_ROLLOUT_UNSPECIFIED=0,
            MLIR_BRIDGE_ROLLOUT_ENABLED=1,
            MLIR_BRIDGE_ROLLOUT_DISABLED=2,
        )
        (
            MLIR_BRIDGE_ROLLOUT_UNSPECIFIED,
            MLIR_BRIDGE_ROLLOUT_ENABLED,
            MLIR_BRIDGE_ROLLOUT_DISABLED,
        ) = MlirBridgeRollout.values()

        collective_group_leader = string_field(1)
        executor_type = string_field(3)
        recv_buf_max_chunk = int32_field(4)
        use_numa_affinity = bool_field(5)
        collective_deterministic_sequential_execution = bool_field(6)
        collective_nccl = bool_field(7)
        share_session_state_in_clusterspec_propagation = bool_field(8)
        disable_thread_spinning = bool_field(9)
        share_cluster_devices_in_session = bool_field(10)
        session_metadata = message_field(11, SessionMetadata)
        optimize_for_static_graph = bool_field(12)
        enable_mlir_bridge = bool_field(13)
        disable_output_partition_graphs = bool_field(14)
        xla_fusion_autotuner_thresh = int64_field(15)
        enable_mlir_graph_optimization = bool_field(16)
        mlir_bridge_rollout = enum_field(17, MlirBridgeRollout)
        use_tfrt = bool_field(18)
        disable_functional_ops_lowering = bool_field(21)
        xla_prefer_single_graph_cluster = bool_field(22)
        coordination_config = message_field(23, CoordinationServiceConfig)
        disable_optimize_for_static_graph = bool_field(24)
        disable_eager_executor_streaming_enqueue = bool_field(26)
        enable_multi_host = bool_field(27)
        backend_server_port = int32_field(28)
        target_tpu = bool_field(29)
        target_gpu = bool_field(30)
        stream_merge_threshold = int32_field(31)
        tfrt_use_ifrt = bool_field(32)
        finalize_function_library_runtime = bool_field(33)
        finalize_resource_manager = bool_field(34)
        tf2xla_dump_dir = string_field(35)
        online_cost_analysis = bool_field(36)

    device_count = map_field(1, STRING, INT32)
    intra_op_parallelism_threads = int32_field(2)
    placement_period = int32_field(3)
    device_filters = repeated_field(4, STRING)
    inter_op_parallelism_threads = int32_field(5)
    gpu_options = message_field(6, GPUOptions)
    allow_soft_placement = bool_field(7)
    log_device_placement = bool_field(8)
    use_per_session_threads = bool_field(9)
    graph_options = message_field(10, GraphOptions)
    operation_timeout_in_ms = int64_field(11)
    session_inter_op_thread_pool = repeated_field(12, ThreadPoolOptionProto)
    rpc_options = message_field(13, RPCOptions)
    cluster_def = message_field(14, ClusterDef)
    isolate_session_state = bool_field(15)
    experimental = message_field(16, Experimental)
    share_cluster_devices_in_session = bool_field(17)
    pluggable_device_options = message_field(18, GPUOptions)


class DebugTensorWatch(Message):
    """A tensor that TensorFlow's debugger watches."""

    node_name = string_field(1)
    output_slot = int32_field(2)
    debug_ops = repeated_field(3, STRING)
    debug_urls = repeated_field(4, STRING)
    tolerate_debug_op_creation_failures = bool_field(5)


class DebugOptions(Message):
    """What TensorFlow's debugger watches."""

    debug_tensor_watch_opts = repeated_field(4, DebugTensorWatch)
    global_step = int64_field(10)
    reset_disk_byte_usage = bool_field(11)


@public_v1("RunOptions")
class RunOptions(Message):
    """Options of one `Session.run`.

    >>> RunOptions(trace_level=RunOptions.FULL_TRACE, timeout_in_ms=500)
    trace_level: FULL_TRACE
    timeout_in_ms: 500
    <BLANKLINE>
    """

    class Experimental(Message):
        class RunHandlerPoolOptions(Message):
            priority = int64_field(1)

        collective_graph_key = int64_field(1)
        use_run_handler_pool = bool_field(2)
        run_handler_pool_options = message_field(3, RunHandlerPoolOptions)

    TraceLevel = EnumType(
        "TraceLevel", NO_TRACE=0, SOFTWARE_TRACE=1, HARDWARE_TRACE=2, FULL_TRACE=3
    )
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = TraceLevel.values()

    trace_level = enum_field(1, TraceLevel)
    timeout_in_ms = int64_field(2)
    inter_op_thread_pool = int32_field(3)
    output_partition_graphs = bool_field(5)
    debug_options = message_field(6, DebugOptions)
    report_tensor_allocations_upon_oom = bool_field(7)
    experimental = message_field(8, Experimental)
