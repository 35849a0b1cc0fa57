"""The public functions that are no expressions to compare, and the tests that hold them.

They are about devices, graphs, collections and modes: what they do shows in programs only.
"""

from __future__ import annotations

OWN = ("tf.expect_device", "tf.reset", "tf.simulate", "tf.trim", "tf.why")
"""What TensorFlow does not have."""

GROUPS = {
    "tests/ops/test_expressions.py::test_values_are_tensorflow_s": (
        "tf.compat.v1.fake_quant_with_min_max_args",
        "tf.compat.v1.fake_quant_with_min_max_args_gradient",
        "tf.compat.v1.fake_quant_with_min_max_vars",
        "tf.compat.v1.fake_quant_with_min_max_vars_gradient",
        "tf.compat.v1.fake_quant_with_min_max_vars_per_channel",
        "tf.compat.v1.fake_quant_with_min_max_vars_per_channel_gradient",
        "tf.random.create_rng_state",
        "tf.random.fold_in",
        "tf.random.gamma",
        "tf.random.get_global_generator",
        "tf.random.poisson",
        "tf.random.set_global_generator",
        "tf.random.split",
        "tf.random.stateless_binomial",
        "tf.random.stateless_gamma",
        "tf.random.stateless_poisson",
        "tf.strings.length",
        "tf.strings.lower",
        "tf.strings.regex_full_match",
        "tf.strings.regex_replace",
        "tf.strings.strip",
        "tf.strings.substr",
        "tf.strings.to_hash_bucket_fast",
        "tf.strings.to_hash_bucket_strong",
        "tf.strings.to_number",
        "tf.strings.upper",
        "tf.compat.v1.strings.length",
        "tf.compat.v1.string_to_number",
        "tf.compat.v1.substr",
        "tf.compat.v1.random_poisson",
    ),
    "tests/ops/test_signal.py::test_any_axes_are_numpy_s": (
        "tf.fftnd",
        "tf.ifftnd",
        "tf.irfftnd",
        "tf.rfftnd",
    ),
    "tests/data/test_parsing.py::test_features_are_tensorflow_s": (
        "tf.compat.v1.parse_example",
        "tf.compat.v1.parse_single_example",
    ),
    "tests/ops/test_image.py::test_results_are_tensorflow_s": ("tf.compat.v1.random_crop",),
    "tests/layers/test_rnn.py::test_network_is_tensorflow_s": (
        "tf.compat.v1.nn.bidirectional_dynamic_rnn",
        "tf.compat.v1.nn.dynamic_rnn",
        "tf.compat.v1.nn.static_bidirectional_rnn",
        "tf.compat.v1.nn.static_rnn",
        "tf.compat.v1.nn.static_state_saving_rnn",
    ),
    "tests/proto/test_messages.py::test_tensors_are_read_back": (
        "tf.make_ndarray",
        "tf.make_tensor_proto",
    ),
    "tests/functions/test_vectorized_map.py::test_function_is_applied_to_each_element": (
        "tf.vectorized_map",
    ),
    "tests/functions/test_vectorized_map.py::test_gradient_computes_the_function_again": (
        "tf.recompute_grad",
    ),
    "tests/graph/test_variable_creators.py::test_innermost_creator_is_called_first": (
        "tf.variable_creator_scope",
    ),
    "tests/eager/test_devices.py::test_blocks_place_operations": ("tf.device",),
    "tests/parity/session/test_devices.py::test_scopes_give_devices": ("tf.compat.v1.device",),
    "tests/functions/test_tracing.py::test_arguments_are_symbols_while_tracing": (
        "tf.function",
    ),
    "tests/functions/test_captures.py::test_init_scope_leaves_the_function": ("tf.init_scope",),
    "tests/eager/test_regressions.py::test_functions_wait_for_variables": (
        "tf.control_dependencies",
    ),
    "tests/parity/session/test_graphs.py::test_dependencies_nest": (
        "tf.compat.v1.control_dependencies",
    ),
    "tests/parity/session/test_devices.py::test_colocated_operations_run_together": (
        "tf.compat.v1.colocate_with",
    ),
    "tests/parity/test_config_options.py::test_switch_may_always_change": (
        "tf.debugging.set_log_device_placement",
    ),
    "tests/front/test_modes.py::test_switch_sets_the_mode": (
        "tf.compat.v1.disable_eager_execution",
        "tf.compat.v1.disable_v2_behavior",
        "tf.compat.v1.enable_eager_execution",
        "tf.compat.v1.enable_v2_behavior",
    ),
    "tests/front/test_logging.py::test_messages_have_tensorflow_s_format": ("tf.get_logger",),
    "tests/parity/session/test_graphs.py::test_collections_keep_values": (
        "tf.compat.v1.add_to_collection",
        "tf.compat.v1.get_collection",
        "tf.compat.v1.get_collection_ref",
    ),
    "tests/graph/test_variable.py::test_collections_take_several_names": (
        "tf.compat.v1.add_to_collections",
    ),
    "tests/parity/session/test_life.py::test_sessions_nest": (
        "tf.compat.v1.get_default_graph",
        "tf.compat.v1.get_default_session",
    ),
    "tests/parity/session/test_life.py::test_nested_graph_is_not_reset": (
        "tf.compat.v1.reset_default_graph",
    ),
    "tests/graph/test_import_graph_def.py::test_nodes_are_the_same_under_a_scope": (
        "tf.compat.v1.import_graph_def",
    ),
    "tests/graph/test_variable.py::test_variables_are_listed": (
        "tf.compat.v1.all_variables",
        "tf.compat.v1.global_variables",
        "tf.compat.v1.local_variables",
        "tf.compat.v1.model_variables",
        "tf.compat.v1.moving_average_variables",
        "tf.compat.v1.trainable_variables",
    ),
    "tests/train/test_monitored_session.py::test_tables_are_initialized_together": (
        "tf.compat.v1.initialize_all_tables",
        "tf.compat.v1.tables_initializer",
    ),
    "tests/graph/test_variable.py::test_variables_are_initialized_together": (
        "tf.compat.v1.global_variables_initializer",
        "tf.compat.v1.initialize_all_variables",
        "tf.compat.v1.initialize_local_variables",
        "tf.compat.v1.initialize_variables",
        "tf.compat.v1.local_variables_initializer",
        "tf.compat.v1.variables_initializer",
    ),
    "tests/graph/test_variable.py::test_missing_values_are_refused": (
        "tf.compat.v1.assert_variables_initialized",
    ),
    "tests/graph/test_variable.py::test_resources_may_be_the_default": (
        "tf.compat.v1.disable_resource_variables",
        "tf.compat.v1.enable_resource_variables",
        "tf.compat.v1.resource_variables_enabled",
    ),
    "tests/ops/test_candidate_sampling.py::test_samples_are_tensorflows_in_every_run": (
        "tf.nn.all_candidate_sampler",
        "tf.nn.fixed_unigram_candidate_sampler",
        "tf.nn.learned_unigram_candidate_sampler",
        "tf.random.log_uniform_candidate_sampler",
        "tf.random.uniform_candidate_sampler",
    ),
    "tests/ops/test_candidate_sampling.py::test_hits_are_found": (
        "tf.nn.compute_accidental_hits",
    ),
    "tests/ops/test_candidate_sampling.py::test_losses_and_gradients_are_tensorflows": (
        "tf.compat.v1.nn.nce_loss",
        "tf.compat.v1.nn.sampled_softmax_loss",
    ),
    "tests/ops/test_candidate_sampling.py::test_losses_of_eager_programs": (
        "tf.nn.nce_loss",
        "tf.nn.sampled_softmax_loss",
    ),
    "tests/graph/test_partitioned_variables.py::test_partitioners_divide_as_tensorflows": (
        "tf.compat.v1.fixed_size_partitioner",
        "tf.compat.v1.min_max_variable_partitioner",
        "tf.compat.v1.variable_axis_size_partitioner",
    ),
    "tests/graph/test_partitioned_variables.py::test_scopes_have_partitioners": (
        "tf.compat.v1.create_partitioned_variables",
    ),
    "tests/graph/test_variable_scope.py::test_local_variables_are_apart": (
        "tf.compat.v1.get_local_variable",
    ),
    "tests/graph/test_variable_scope.py::test_reuse_goes_inwards": (
        "tf.compat.v1.get_variable_scope",
    ),
    "tests/graph/test_variable_scope.py::test_templates_share_variables": (
        "tf.compat.v1.make_template",
    ),
    "tests/graph/test_variable_scope.py::test_regularizers_make_losses": (
        "tf.compat.v1.no_regularizer",
    ),
    "tests/ops/test_sparse.py::test_sparse_tensors_are_tensorflow_s": (
        "tf.compat.v1.sparse_add",
        "tf.compat.v1.sparse_concat",
        "tf.compat.v1.sparse_fill_empty_rows",
        "tf.compat.v1.sparse_maximum",
        "tf.compat.v1.sparse_minimum",
        "tf.compat.v1.sparse_reduce_max",
        "tf.compat.v1.sparse_reduce_max_sparse",
        "tf.compat.v1.sparse_reduce_sum",
        "tf.compat.v1.sparse_reduce_sum_sparse",
        "tf.compat.v1.sparse_reorder",
        "tf.compat.v1.sparse_reset_shape",
        "tf.compat.v1.sparse_reshape",
        "tf.compat.v1.sparse_retain",
        "tf.compat.v1.sparse_segment_mean",
        "tf.compat.v1.sparse_segment_sqrt_n",
        "tf.compat.v1.sparse_segment_sum",
        "tf.compat.v1.sparse_slice",
        "tf.compat.v1.sparse_softmax",
        "tf.compat.v1.sparse_split",
        "tf.compat.v1.sparse_tensor_dense_matmul",
        "tf.compat.v1.sparse_tensor_to_dense",
        "tf.compat.v1.sparse_to_dense",
        "tf.compat.v1.sparse_to_indicator",
        "tf.compat.v1.sparse_transpose",
    ),
    "tests/ops/test_sparse.py::test_sessions_feed_sparse_tensors": (
        "tf.compat.v1.convert_to_tensor_or_sparse_tensor",
        "tf.compat.v1.sparse_placeholder",
    ),
    "tests/functions/test_composites.py::test_values_have_specs": ("tf.type_spec_from_value",),
    "tests/graph/test_registered_gradients.py::test_blocks_nest": ("tf.no_gradient",),
    "tests/data/test_readers.py::test_files_are_read_written_and_found": (
        "tf.compat.v1.matching_files",
        "tf.compat.v1.read_file",
        "tf.compat.v1.write_file",
    ),
    "tests/data/test_readers.py::test_bytes_become_numbers": (
        "tf.compat.v1.decode_csv",
        "tf.compat.v1.decode_raw",
        "tf.compat.v1.parse_tensor",
        "tf.compat.v1.serialize_tensor",
    ),
}
"""What each test holds to TensorFlow's ways."""

TESTS = {name: test for test, names in GROUPS.items() for name in names}
