"""`tf.train.SyncReplicasOptimizer`: workers whose gradients are averaged in every step.

A worker adds its gradients to accumulators, one for each variable, and waits for a token. A
thread of the chief (a queue runner) takes the means when enough gradients are there, applies
them, and puts tokens into a queue, which carry the number of the step that comes next. A
worker keeps that number; gradients of earlier steps are stale, and dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from berth.data.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from berth.data.queues import FIFOQueue
from berth.front.device_scope import device_v1
from berth.front.graph_scope import control_dependencies, name_scope
from berth.graph.keys import GraphKeys
from berth.ops.arrays.filling import fill
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.flow.control import group, no_op
from berth.public import public_v1
from berth.train.hooks.session_run_hook import SessionRunHook
from berth.train.optimizers.optimizer import Optimizer
from berth.train.queue_runner import QueueRunner
from berth.variables.collections import global_variables, report_uninitialized_variables
from berth.variables.variable import Variable


@public_v1("train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Optimizer that applies the mean of the gradients of several workers."""

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        super().__init__(use_locking, name)
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._queue: Any = None
        self._queue_runner: Any = None
        self.chief_init_op: Any = None
        self.local_step_init_op: Any = None
        self.ready_for_local_init_op: Any = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Compute the gradients of a loss as the wrapped optimizer does."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Return the operation of a worker: add gradients, and wait for the step to end."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        local_step = _local_step(global_step)
        self.local_step_init_op = local_step.assign(global_step).op
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name) as scope:
            accumulators, applied, means = self._accumulate(pairs, local_step)
        update = self._opt.apply_gradients(means, global_step)
        train_op = self._wait_for_token(applied, local_step)
        self._queue_runner = QueueRunner(self._queue, [self._end_step(update)])
        with name_scope(scope):
            inits = [self.local_step_init_op]
            for accumulator, device in accumulators:
                with device_v1(device):
                    inits.append(accumulator.set_global_step(global_step, "SetGlobalStep"))
            self.chief_init_op = group(*inits)
        self._gradients_applied = True
        return train_op

    def _accumulate(self, pairs: list[tuple[Any, Any]], local_step: Any) -> Any:
        """Add gradients to accumulators; return these, the operations, and the means."""
        accumulators, applied, means = [], [], []
        n = self._replicas_to_aggregate
        for grad, variable in pairs:
            if grad is None:
                means.append((None, variable))
                continue
            shared = f"{variable.name}/grad_accum"
            accumulator: Any
            with device_v1(variable.device):
                if isinstance(grad, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(grad.dtype, (), shared)
                    applied.append(accumulator.apply_indexed_slices_grad(grad, local_step))
                    means.append((accumulator.take_indexed_slices_grad(n), variable))
                else:
                    shape = variable.get_shape()
                    accumulator = ConditionalAccumulator(grad.dtype, shape, shared)
                    applied.append(accumulator.apply_grad(grad, local_step))
                    means.append((accumulator.take_grad(n), variable))
            accumulators.append((accumulator, variable.device))
        return accumulators, applied, means

    def _wait_for_token(self, applied: list[Any], local_step: Any) -> Any:
        with device_v1(self._global_step.device):
            dtype = self._global_step.dtype.base_dtype
            label = "sync_token_q"
            self._queue = FIFOQueue(-1, dtype, shapes=(), name=label, shared_name=label)
            with control_dependencies(applied):
                token = self._queue.dequeue()
        return local_step.assign(token)

    def _end_step(self, update: Any) -> Any:
        """Return the operation of the chief, which applies gradients and lets workers go on."""
        with control_dependencies([update]):
            done = self._put_tokens(self._tokens_per_step)
        if self._variable_averages is None:
            return done
        with control_dependencies([done]):
            return self._variable_averages.apply(self._variables_to_average)

    def _put_tokens(self, n: int) -> Any:
        with device_v1(self._global_step.device):
            # Read here, and not before: a token of the step before would be stale.
            return self._queue.enqueue_many((fill([n], self._global_step.read_value()),))

    # --- for the chief and the workers ------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the queue runner that the chief starts."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        runner: QueueRunner = self._queue_runner
        return runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """Return the operation that puts the first tokens into the queue."""
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens > 0:
            return self._put_tokens(num_tokens)
        return no_op(name="no_init_tokens")

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Return the hook that initializes what this optimizer needs in a session."""
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)

    # --- the slots of the wrapped optimizer -------------------------------------------------

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the wrapped optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of the slots of the wrapped optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """Return the variables of the wrapped optimizer."""
        return self._opt.variables()


def _local_step(global_step: Any) -> Any:
    return Variable(
        initial_value=0,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        dtype=global_step.dtype.base_dtype,
        name="sync_rep_local_step",
    )


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Initializes the local step, and for the chief tokens and the queue runner."""

    def __init__(self, opt: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._opt = opt
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        """Make the operations, while the graph can still be changed."""
        opt = self._opt
        if opt.chief_init_op is None:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._init_op = opt.chief_init_op if self._is_chief else opt.local_step_init_op
        self._tokens_op = opt.get_init_tokens_op(self._num_tokens) if self._is_chief else None

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Initialize, and start the thread of the chief."""
        missing = session.run(self._opt.ready_for_local_init_op)
        if missing.size:
            names = ", ".join(name.decode() for name in missing.tolist())
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer "
                f"local_init. Init op: {self._init_op.name}, error: Variables not "
                f"initialized: {names}"
            )
        session.run(self._init_op)
        if self._is_chief:
            session.run(self._tokens_op)
            runner = self._opt.get_chief_queue_runner()
            runner.create_threads(session, coord=coord, daemon=True, start=True)
