"""`tf.compat.v1.Session`: runs the operations of a graph on devices.

A session gets its devices by its own options, or by the choices of ``tf.config`` if it has
none. It owns the variables of its graph, and the plans that were made for it; both go when
it is closed. Any number of threads may run it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from berth.blocks import Block, FunctionBlock, Stack, Use
from berth.errors import InvalidArgumentError, NotFoundError
from berth.finalizers import Finalizer
from berth.front.context import context
from berth.front.options import device_options
from berth.graph.default_graph import get_default_graph
from berth.graph.default_session import enter_session
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.lru import LRUCache
from berth.ops import builder
from berth.ops.types import Tensor
from berth.plan.plan import Feed, Request
from berth.proto.config import ConfigProto, RunOptions
from berth.public import public_v1
from berth.run.engine import Engine
from berth.run.planner import Options
from berth.run.resources import Resources
from berth.run.runner import RequestRunner
from berth.run.trace import Deadline, Recorder
from berth.session.device_attributes import DeviceAttributes
from berth.session.ended import CLOSED, error_of_run
from berth.session.feeds import feed_array, find_fed, read_feeds
from berth.session.fetches import Fetches
from berth.session.partial_run import PartialRun
from berth.session.placement_log import PlacementLog
from berth.session.run_metadata import RunMetadata
from berth.session.step_stats import fill_metadata
from berth.session.targets import config_of_target, is_server

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_UNFED = 64


class BaseSession:
    """What Session and InteractiveSession have in common."""

    _grows_by_itself = False
    """Whether `allow_growth` in the config is the session's own choice, not the program's."""

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        _check_arguments(target, graph, config)
        self.graph: Graph = graph or get_default_graph()
        self.sess_str = target
        config = config or config_of_target(target)
        self._config = config or ConfigProto()
        self._gone = ""
        """Why the session cannot be used any more."""
        program = context()
        wanted = program.devices.options() if config is None else device_options(config)
        wanted = wanted._replace(is_growth_asked=not self._grows_by_itself)
        devices = program.devices.maker.make(wanted, take_memory=True)
        threads = self._config.intra_op_parallelism_threads or program.switches.intra_op_threads
        resources = Resources(devices, program, n_threads=threads or 0)
        self._engine = Engine(self.graph, resources, _engine_options(self._config))
        self._placements = PlacementLog(
            devices,
            program.option(self._config, "log_device_placement", "BERTH_LOG_PLACEMENT"),
            as_tf2=program.default_of("BERTH_LOG_AS_TF2"),
        )
        self._unfed: LRUCache[Any, tuple[Fetches, RequestRunner]] = LRUCache(
            "fetches without feeds", MAX_UNFED
        )
        self._partial_runs: dict[str, PartialRun] = {}
        self._finalizer = Finalizer(self, Engine.close, self._engine)
        program.sessions.add(self)

    # --- running --------------------------------------------------------------------------

    @overload
    def run(
        self,
        fetches: Tensor,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> NDArray[Any]: ...
    @overload
    def run(
        self,
        fetches: list[Tensor],
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> list[NDArray[Any]]: ...
    @overload
    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any: ...
    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run what the fetches need; return their values in the same structure."""
        if not feed_dict and options is None and run_metadata is None:
            return self._run_unfed(fetches)
        self._check_usable()
        fetched = Fetches(fetches, self.graph)
        feeds, arrays = read_feeds(feed_dict, self.graph) if feed_dict else ((), [])
        return fetched.build(self._run(fetched, feeds, arrays, options, run_metadata))

    def _run_unfed(self, fetches: Any) -> Any:
        """Run without feeds: what runs a tensor or operation is found by the object itself."""
        # Tensors and operations only: a structure may equal another of a different kind.
        is_single = type(fetches) is SymbolicTensor or type(fetches) is Operation
        cached = self._unfed.get(fetches) if is_single else None
        if cached is not None and self._engine.is_placed and not self._placements.is_watched():
            fetched, runner = cached
            if not runner.is_released:
                try:
                    return fetched.build(runner.run(()))
                except Exception as error:
                    if self._gone:
                        raise error_of_run(self._gone, error) from None
                    raise
        self._check_usable()
        fetched = Fetches(fetches, self.graph)
        result = fetched.build(self._run(fetched, (), [], None, None))
        if is_single and not self._timeout(None):
            runner = self._engine.runner(Request(fetched.tensors, fetched.targets, ()))
            self._unfed[fetches] = fetched, runner
        return result

    def _run(
        self,
        fetched: Fetches,
        feeds: tuple[Feed, ...],
        arrays: Sequence[Any],
        options: RunOptions | None,
        metadata: RunMetadata | None,
    ) -> list[Any]:
        try:
            return self._run_request(fetched, feeds, arrays, options, metadata)
        except Exception as error:
            if self._gone:
                raise error_of_run(self._gone, error) from None
            raise

    def _run_request(
        self,
        fetched: Fetches,
        feeds: tuple[Feed, ...],
        arrays: Sequence[Any],
        options: RunOptions | None,
        metadata: RunMetadata | None,
    ) -> list[Any]:
        self._check_thread_pool(options)
        is_traced = options is not None and options.trace_level > RunOptions.NO_TRACE
        request = Request(fetched.tensors, fetched.targets, feeds, is_traced)
        if not request.fetches and not request.targets:
            return []
        runner = self._engine.runner(request)
        self._placements.log(self._engine, request)
        recorder = Recorder() if is_traced else None
        if recorder is not None:
            results = runner.run(arrays, recorder)
        elif timeout := self._timeout(options):
            results = runner.run(arrays, Deadline(timeout))
        else:
            results = runner.run(arrays)
        if metadata is not None:
            fill_metadata(metadata, options, recorder, runner, self._engine, request)
        return results

    def _check_thread_pool(self, options: RunOptions | None) -> None:
        """Refuse the number of a thread pool that the session was not given."""
        if options is None:
            return
        pool = options.inter_op_thread_pool
        n_pools = max(1, len(self._config.session_inter_op_thread_pool))
        if not -1 <= pool < n_pools:
            raise InvalidArgumentError(None, None, f"Invalid inter_op_thread_pool: {pool}")

    def _timeout(self, options: RunOptions | None) -> float:
        milliseconds: int = options.timeout_in_ms if options is not None else 0
        return (milliseconds or self._config.operation_timeout_in_ms) / 1000

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs the same fetches, with values for the feeds in order."""
        self._check_usable()
        if feed_list is not None and not isinstance(feed_list, list | tuple):
            raise TypeError("Argument `feed_list` must be a list or tuple.")
        fetched = Fetches(fetches, self.graph)
        fed = [find_fed(key, self.graph) for key in feed_list or ()]

        def call(
            *values: Any,
            options: RunOptions | None = None,
            run_metadata: RunMetadata | None = None,
        ) -> Any:
            self._check_usable()
            if len(values) != len(fed):
                raise TypeError(
                    f"This callable takes {len(fed)} values, one for each of feed_list, and "
                    f"not {len(values)}."
                )
            arrays = [feed_array(t, value) for t, value in zip(fed, values, strict=True)]
            feeds = tuple(Feed(t, array.shape) for t, array in zip(fed, arrays, strict=True))
            return fetched.build(self._run(fetched, feeds, arrays, options, run_metadata))

        def call_without_options(*values: Any) -> Any:
            return call(*values)

        return call if accept_options else call_without_options

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Declare the fetches and feeds of a run that is made in parts; return its handle."""
        self._check_usable()
        fed = [find_fed(key, self.graph) for key in feeds or ()]
        started = PartialRun(self._engine, Fetches(fetches, self.graph), fed)
        self._partial_runs[started.handle] = started
        return started.handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Continue a partial run with more feeds; return the values of its fetches."""
        self._check_usable()
        fetched = Fetches(fetches, self.graph)
        feeds, arrays = read_feeds(feed_dict, self.graph) if feed_dict else ((), [])
        started = self._partial_runs.get(handle)
        if started is None:
            raise InvalidArgumentError(
                None, None, "Must run 'setup' before performing partial runs!"
            )
        result = fetched.build(started.run(fetched, feeds, arrays))
        if started.is_over:
            self._partial_runs.pop(handle, None)
        return result

    # --- telling --------------------------------------------------------------------------

    def list_devices(self) -> list[DeviceAttributes]:
        """List the devices of this session."""
        return [
            DeviceAttributes(d.name, d.device_type, d.limit.nbytes, d.incarnation)
            for d in self._engine.devices
        ]

    def placements(self) -> dict[str, str]:
        """Return the device of each placed operation, by the operation's name."""
        placement = self._engine.placement
        devices = placement.devices if placement else {}
        return {op.name: device.name for op, device in devices.items()}

    def plan(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Return the plan by which these fetches are run: ``plan.explain()`` tells of it."""
        self._check_usable()
        fetched = Fetches(fetches, self.graph)
        feeds, _ = read_feeds(feed_dict, self.graph) if feed_dict else ((), [])
        return self._engine.plan(Request(fetched.tensors, fetched.targets, feeds))

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef."""
        return self.graph.as_graph_def()

    # --- its life -------------------------------------------------------------------------

    def _check_usable(self) -> None:
        if self._gone:
            raise RuntimeError(self._gone)
        if not self.graph.ops:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )

    def close(self) -> None:
        """Free the memory of variables and plans. A second call does nothing."""
        if not self._gone:
            self._gone = CLOSED
            self._retire()
        self._unfed.clear()
        self._partial_runs.clear()
        self._finalizer()

    def _retire(self) -> None:
        """Stop being a default, before the end."""

    def invalidate(self, reason: str, *, to_parent: bool = False) -> None:
        """Become unusable: the devices are gone, or in a forked child the parent's."""
        was_gone = bool(self._gone)
        self._gone = f"This session cannot be used any more: its devices went by {reason}."
        self._unfed.clear()
        self._partial_runs.clear()
        if not was_gone:
            self._retire()
        if to_parent:
            self._finalizer.detach()  # its locks may be held by threads that are not here
        else:
            self._finalizer()

    def drop_idle(self) -> None:
        """Free the memory of plans that no run is using."""
        self._engine.drop_idle()

    def as_default(self) -> FunctionBlock[BaseSession]:
        """Make this the default session inside the block, and do not close it afterwards."""
        return FunctionBlock(enter_session, self)


@public_v1("Session")
class Session(BaseSession, Block["Session"]):
    """Runs a graph on devices. As a context manager: the default session, closed at the end."""

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._blocks: Stack[None] = Stack()

    def _begin(self, use: Use) -> Session:
        if self._blocks:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if "
                "you want to enter a session multiple times."
            )
        use.set(self._blocks, None)
        builder.enter(use, self.graph)
        enter_session(use, self)
        return self

    def _finish(self, use: Use) -> None:
        use.end()
        self.close()


def _check_arguments(target: Any, graph: Any, config: Any) -> None:
    if not isinstance(target, str):
        hint = (
            '. Did you do "Session(config)" instead of "Session(config=config)"?'
            if isinstance(target, ConfigProto)
            else ""
        )
        kind = type(target).__name__
        raise TypeError(f'Argument `target` must be a string, but got "{kind}"{hint}')
    if graph is not None and not isinstance(graph, Graph):
        kind = type(graph).__name__
        raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{kind}"')
    if config is not None and not isinstance(config, ConfigProto):
        kind = type(config).__name__
        raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{kind}"')
    if target not in ("", "local") and not is_server(target):
        raise NotFoundError(
            None,
            None,
            "No session factory registered for the given session options: "
            f'{{target: "{target}" config: {config or ""}}} Registered factories are '
            "{DIRECT_SESSION}.",
        )


def _engine_options(config: ConfigProto) -> Options:
    program = context()
    soft = program.switches.soft_placement
    if soft is None or config.is_set("allow_soft_placement"):
        soft = program.option(config, "allow_soft_placement", "BERTH_SOFT_PLACEMENT")
    return Options(
        soft_placement=soft,
        place_pruned_graph=config.graph_options.place_pruned_graph,
    )
