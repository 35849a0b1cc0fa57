"""``tf.summary.FileWriter``: summaries, graphs and metadata of runs, for TensorBoard."""

from __future__ import annotations

import threading
import time
import warnings
from types import TracebackType
from typing import Any, ClassVar

from berth.errors import BerthWarning
from berth.graph.default_graph import get_default_graph
from berth.proto.framework import GraphDef
from berth.public import public_v1
from berth.summary.events import EventFileWriter
from berth.summary.messages import Event, SessionLog, Summary, TaggedRunMetadata


@public_v1("summary.FileWriter", "train.SummaryWriter")
class FileWriter:
    """Writes summaries and events to a file in a folder.

    >>> import tempfile
    >>> with FileWriter(tempfile.mkdtemp()) as writer:
    ...     loss = Summary.Value(tag="loss", simple_value=0.5)
    ...     writer.add_summary(Summary(value=[loss]), global_step=1)
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._session_run_tags: set[str] = set()
        self._known_tags: set[str] = set()
        self._is_closed = False
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Add a Summary, or its bytes, which is what running a summary returns."""
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        kept = Summary()
        for value in summary.value:
            added = kept.value.add()
            added.CopyFrom(value)
            if value.HasField("metadata"):  # once for each tag, as in TensorFlow
                if value.tag in self._known_tags:
                    added.ClearField("metadata")
                self._known_tags.add(value.tag)
        self._add(Event(summary=kept), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Add a note of a session's start, stop or checkpoint."""
        self._add(Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Add a graph, for TensorBoard to draw."""
        if graph_def is not None and graph is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        definition = graph if graph_def is None else graph_def
        if hasattr(definition, "as_graph_def"):
            definition = definition.as_graph_def()
        if not isinstance(definition, GraphDef):
            message = "The passed graph must be an instance of `Graph` or `GraphDef`"
            raise TypeError(f"{message}, not {type(definition).__name__}.")
        self._add(Event(graph_def=definition.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Add a MetaGraphDef."""
        if not hasattr(meta_graph_def, "graph_def"):
            given = type(meta_graph_def)
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {given}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Add what was recorded of one run, under a tag that is not used yet."""
        if tag in self._session_run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._session_run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(Event(tagged_run_metadata=tagged), global_step)

    def add_event(self, event: Event) -> None:
        """Add an event as it is."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Write all events to the file."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Write all events, and close the file."""
        self.event_writer.close()
        self._is_closed = True

    def reopen(self) -> None:
        """Start a new file after `close`."""
        self.event_writer.reopen()
        self._is_closed = False

    def _add(self, event: Event, global_step: Any) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def _warn_if_closed(self) -> None:
        if self._is_closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless "
                "the FileWriter is explicitly reopened.",
                BerthWarning,
                stacklevel=3,
            )

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@public_v1("summary.FileWriterCache")
class FileWriterCache:
    """One FileWriter for each folder."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock = threading.Lock()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Return the writer for a folder; a new one writes the default graph first."""
        with FileWriterCache._lock:
            found = FileWriterCache._writers.get(logdir)
            if found is None:
                found = FileWriterCache._writers[logdir] = FileWriter(
                    logdir, get_default_graph()
                )
            return found

    @staticmethod
    def clear() -> None:
        """Close all writers, and forget them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()
