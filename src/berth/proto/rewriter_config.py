"""RewriterConfig: TensorFlow's options for the optimization of graphs.

berth has plans of its own: what is set here is kept, and has no effect.
"""

from __future__ import annotations

from berth.proto.fields import (
    bool_field,
    enum_field,
    int32_field,
    int64_field,
    map_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.framework import AttrValue
from berth.proto.kinds import STRING, EnumType
from berth.proto.message import Message


class AutoParallelOptions(Message):
    enable = bool_field(1)
    num_replicas = int32_field(2)


class ScopedAllocatorOptions(Message):
    enable_op = repeated_field(1, STRING)


class VerifierConfig(Message):
    Toggle = EnumType("Toggle", DEFAULT=0, ON=1, OFF=2)
    DEFAULT, ON, OFF = Toggle.values()

    verification_timeout_in_ms = int64_field(1)
    structure_verifier = enum_field(2, Toggle)


class RewriterConfig(Message):
    """Which optimizations of a graph are made."""

    class CustomGraphOptimizer(Message):
        name = string_field(1)
        parameter_map = map_field(2, STRING, AttrValue)

    Toggle = EnumType(
        "Toggle",
        DEFAULT=0,
        ON=1,
        OFF=2,
        AGGRESSIVE=3,
        EXPERIMENTAL_MLIR=4,
        EXPERIMENTAL_BOTH=5,
    )
    DEFAULT, ON, OFF, AGGRESSIVE, EXPERIMENTAL_MLIR, EXPERIMENTAL_BOTH = Toggle.values()
    CpuLayout = EnumType("CpuLayout", NO_CONVERSION_ON_CPU=0, NCHW_TO_NHWC=1, NHWC_TO_NCHW=2)
    NO_CONVERSION_ON_CPU, NCHW_TO_NHWC, NHWC_TO_NCHW = CpuLayout.values()
    NumIterationsType = EnumType("NumIterationsType", DEFAULT_NUM_ITERS=0, ONE=1, TWO=2)
    DEFAULT_NUM_ITERS, ONE, TWO = NumIterationsType.values()
    MemOptType = EnumType(
        "MemOptType",
        DEFAULT_MEM_OPT=0,
        NO_MEM_OPT=1,
        MANUAL=2,
        SWAPPING_HEURISTICS=4,
        RECOMPUTATION_HEURISTICS=5,
        SCHEDULING_HEURISTICS=6,
        HEURISTICS=3,
    )
    (
        DEFAULT_MEM_OPT,
        NO_MEM_OPT,
        MANUAL,
        SWAPPING_HEURISTICS,
        RECOMPUTATION_HEURISTICS,
        SCHEDULING_HEURISTICS,
        HEURISTICS,
    ) = MemOptType.values()

    layout_optimizer = enum_field(1, Toggle)
    disable_model_pruning = bool_field(2)
    constant_folding = enum_field(3, Toggle)
    memory_optimization = enum_field(4, MemOptType)
    auto_parallel = message_field(5, AutoParallelOptions)
    memory_optimizer_target_node_name_scope = string_field(6)
    arithmetic_optimization = enum_field(7, Toggle)
    dependency_optimization = enum_field(8, Toggle)
    loop_optimization = enum_field(9, Toggle)
    function_optimization = enum_field(10, Toggle)
    debug_stripper = enum_field(11, Toggle)
    meta_optimizer_iterations = enum_field(12, NumIterationsType)
    shape_optimization = enum_field(13, Toggle)
    remapping = enum_field(14, Toggle)
    scoped_allocator_optimization = enum_field(15, Toggle)
    scoped_allocator_opts = message_field(16, ScopedAllocatorOptions)
    min_graph_nodes = int32_field(17)
    pin_to_host_optimization = enum_field(18, Toggle)
    disable_meta_optimizer = bool_field(19)
    meta_optimizer_timeout_ms = int64_field(20)
    fail_on_optimizer_errors = bool_field(21)
    implementation_selector = enum_field(22, Toggle)
    auto_mixed_precision = enum_field(23, Toggle)
    common_subgraph_elimination = enum_field(24, Toggle)
    auto_mixed_precision_mkl = enum_field(25, Toggle)
    experimental_disable_compressed_tensor_optimization = bool_field(26)
    experimental_disable_folding_quantization_emulation = bool_field(27)
    use_plugin_optimizers = enum_field(28, Toggle)
    auto_mixed_precision_cpu = enum_field(29, Toggle)
    experimental_conditional_code_motion = enum_field(30, Toggle)
    auto_mixed_precision_onednn_bfloat16 = enum_field(31, Toggle)
    disable_tfg_optimizer = bool_field(32)
    cpu_layout_conversion = enum_field(50, CpuLayout)
    optimizers = repeated_field(100, STRING)
    custom_optimizers = repeated_field(200, CustomGraphOptimizer)
    inter_optimizer_verifier_config = message_field(300, VerifierConfig)
    post_optimization_verifier_config = message_field(301, VerifierConfig)
