"""`tf.train.Saver`: saves variables as checkpoints, and restores them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from berth.errors import FailedPreconditionError, NotFoundError
from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.ops.compose import is_eager
from berth.proto.saver import SaverDef
from berth.public import public_v1
from berth.session.session import BaseSession
from berth.train.checkpoints.checkpoint_state import checkpoint_exists, write_checkpoint_state
from berth.train.saving.kept_checkpoints import KeptCheckpoints
from berth.train.saving.meta_graph import export_meta_graph
from berth.train.saving.mismatches import check_restorable
from berth.train.saving.saved_variables import variables_by_name
from berth.train.saving.saver_graph import build_saver


@public_v1("train.Saver")
class Saver:
    """Saves variables in checkpoints, and restores them.

    A checkpoint is made of files in TensorFlow's format, which it reads too. They replace an
    older checkpoint of the same name all at once: what kills the program leaves one of the two.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        if is_eager():
            raise RuntimeError(
                "tf.train.Saver saves the variables of a graph. In an eager program, use it "
                "with tf.Graph().as_default()."
            )
        if builder is not None:
            raise ValueError("Savers of berth are built without a `builder`.")
        if write_version not in SaverDef.CheckpointFormatVersion.values():
            raise RuntimeError(f"Unexpected write_version: {write_version}")
        self._write_version = write_version or SaverDef.V1
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._name = name
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._filename = filename
        self._is_empty = False
        self.saver_def: SaverDef | None = None
        if saver_def is not None:
            self._use(saver_def)
        elif not defer_build:
            self.build()

    # --- building ---------------------------------------------------------------------------

    def build(self) -> None:
        """Add the operations to the graph; it was deferred by ``defer_build=True``."""
        if self.saver_def is not None or self._is_empty:
            return
        graph = get_default_graph().outermost
        given = self._var_list
        if given is None:
            given = [
                *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
                *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
            ]
        if not given:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        definition = build_saver(
            graph,
            variables_by_name(given),
            filename=self._filename,
            name=self._name,
            is_sharded=self._sharded,
            is_reshaped=self._reshape,
            version=self._write_version,
        )
        definition.max_to_keep = 0 if self._max_to_keep is None else self._max_to_keep
        definition.keep_checkpoint_every_n_hours = self._hours
        self._use(definition)

    def _use(self, definition: SaverDef) -> None:
        if not isinstance(definition, SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {definition}")
        if not definition.save_tensor_name or not definition.restore_op_name:
            raise ValueError(f"saver_def must specify the save_tensor_name: {definition}")
        self.saver_def = definition
        self._kept = KeptCheckpoints(
            definition.max_to_keep,
            definition.keep_checkpoint_every_n_hours,
            definition.version,
        )

    def _definition(self, what: str) -> SaverDef:
        if self.saver_def is None:
            raise RuntimeError(f"`build()` should be called before {what} if defer_build==True")
        return self.saver_def

    # --- saving -----------------------------------------------------------------------------

    def save(
        self,
        sess: BaseSession,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the variables of a session; return the path, which `restore` takes."""
        path = os.fspath(save_path)
        state_name = latest_filename or "checkpoint"
        if os.path.split(state_name)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if not self._is_empty:
            self._definition("save")
        sess = _session(sess)
        file = path if global_step is None else self._with_step(sess, path, global_step)
        if os.path.basename(path) == state_name and (global_step is None or not self._sharded):
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{state_name}' and '{path}'"
            )
        saved = None
        if self.saver_def is not None:
            saved = self._run_save(sess, file)
            if write_state:
                self._kept.add(saved)
                write_checkpoint_state(
                    os.path.dirname(path),
                    saved,
                    self.last_checkpoints,
                    state_name,
                    relative_paths=self._save_relative_paths,
                )
                self._kept.remove_surplus(meta_graph_suffix)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(f"{file}.{meta_graph_suffix}")
        return saved

    def _with_step(self, sess: BaseSession, path: str, global_step: Any) -> str:
        if not hasattr(global_step, "__index__"):
            global_step = sess.run(global_step)
        digits = 8 if self._pad_step_number else 0
        return f"{path}-{int(global_step):0{digits}d}"

    def _run_save(self, sess: BaseSession, file: str) -> str:
        definition = self._definition("save")
        feeds = {definition.filename_tensor_name: file}
        try:
            saved = sess.run(definition.save_tensor_name, feeds)
        except (FailedPreconditionError, NotFoundError) as error:
            if os.path.isdir(os.path.dirname(file) or "."):
                raise
            message = f"Parent directory of {file} doesn't exist, can't save."
            raise ValueError(message) from error
        return os.fsdecode(saved)

    # --- restoring --------------------------------------------------------------------------

    def restore(self, sess: BaseSession, save_path: str | os.PathLike[str]) -> None:
        """Restore the variables of a session; they need no initialization before.

        An error lists every variable that is missing in the checkpoint or has another shape,
        and changes none.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        definition = self._definition("restore")
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        sess = _session(sess)
        logger.info("Restoring parameters from %s", path)
        check_restorable(sess.graph, definition.restore_op_name, path)
        sess.run(definition.restore_op_name, {definition.filename_tensor_name: path})

    # --- checkpoints that are kept ------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that this saver keeps, and later removes, oldest first."""
        return self._kept.paths if self.saver_def is not None else []

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Set them: paths whose times are not known."""
        assert isinstance(last_checkpoints, list)
        self._kept.set([(path, float("inf")) for path in last_checkpoints])

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Set them: paths, and the times when they were written."""
        assert isinstance(last_checkpoints_with_time, list)
        self._kept.set(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Go on after a crash: those of the paths that exist were written by this saver."""
        self._kept.recover(checkpoint_paths)

    # --- as messages ------------------------------------------------------------------------

    def as_saver_def(self) -> SaverDef | None:
        """Return the message that describes this saver."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """Return the message; with a scope, without that in front of the names, or None."""
        if export_scope is None or self.saver_def is None:
            return self.saver_def
        scope = f"{export_scope}/"
        if not self.saver_def.restore_op_name.startswith(scope):
            return None
        return _renamed(self.saver_def, lambda name: name.removeprefix(scope))

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """Return the saver of a message, whose operations are in the graph."""
        if import_scope:
            saver_def = _renamed(saver_def, lambda name: f"{import_scope}/{name}")
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Return the graph with this saver as a MetaGraphDef; write it if there is a name."""
        return export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
        )


def _renamed(saver_def: SaverDef, rename: Any) -> SaverDef:
    copy = SaverDef()
    copy.CopyFrom(saver_def)
    for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
        setattr(copy, field, rename(getattr(saver_def, field)))
    return copy


def _session(sess: Any) -> BaseSession:
    """Return the session itself, also if it is wrapped (a monitored one)."""
    inner = getattr(sess, "raw_session", None)
    found = inner() if callable(inner) else sess
    if not isinstance(found, BaseSession):
        raise TypeError(f"'sess' must be a Session; {sess}")
    return found
