"""The ``checkpoint`` file of a folder: which checkpoints there are, and which is the latest."""

from __future__ import annotations

import glob
import logging
import os
import re
from collections.abc import Sequence
from contextlib import suppress

from berth.errors import NotFoundError
from berth.file_errors import naming
from berth.proto.fields import double_field, repeated_field, string_field
from berth.proto.kinds import DOUBLE, STRING
from berth.proto.message import Message
from berth.proto.saver import SaverDef
from berth.proto.text import ParseError, merge_text
from berth.public import public, public_v1
from berth.train.checkpoints.bundle_index import index_name
from berth.train.checkpoints.bundle_writer import data_files
from berth.train.checkpoints.unfinished import replace_file

_log = logging.getLogger("berth")
_SHARD_PATTERN = re.compile(r"-[\d?]+-of-\d+\Z")
"""How the name of a sharded checkpoint of the first version ends."""


class CheckpointState(Message):
    """What the ``checkpoint`` file says, in protobuf's text format."""

    model_checkpoint_path = string_field(1)
    all_model_checkpoint_paths = repeated_field(2, STRING)
    all_model_checkpoint_timestamps = repeated_field(3, DOUBLE)
    last_preserved_timestamp = double_field(4)


# --- reading ----------------------------------------------------------------------------------


@public("train.get_checkpoint_state")
def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Read the ``checkpoint`` file of a folder; None if there is none that can be read."""
    folder = os.fspath(checkpoint_dir)
    path = state_path(folder, latest_filename)
    if not os.path.isfile(path):
        return None
    with naming(path), open(path, "rb") as file:
        text = file.read()
    state = CheckpointState()
    try:
        merge_text(text.decode(), state)
    except (ParseError, UnicodeDecodeError) as error:
        _log.warning("%s: %s", type(error).__name__, error)
        _log.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    paths = [os.path.join(folder, each) for each in state.all_model_checkpoint_paths]
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    state.ClearField("all_model_checkpoint_paths")
    state.all_model_checkpoint_paths.extend(paths)
    return state


@public("train.latest_checkpoint")
def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Return the path of the latest checkpoint in a folder; None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not state.model_checkpoint_path:
        return None
    path: str = state.model_checkpoint_path
    if glob.glob(index_name(path)) or glob.glob(path):
        return path
    _log.error("Couldn't match files for checkpoint %s", path)
    return None


@public_v1("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Tell whether there is a checkpoint of that path, which may have wildcards."""
    prefix = os.fspath(checkpoint_prefix)
    return bool(glob.glob(index_name(prefix)) or glob.glob(prefix))


@public_v1("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return when checkpoints were written, in seconds; those that are gone are left out."""
    times = []
    for prefix in checkpoint_prefixes:
        found = glob.glob(index_name(prefix)) or glob.glob(prefix)
        with suppress(FileNotFoundError):
            times += [float(int(os.path.getmtime(file))) for file in found[:1]]
    return times


# --- writing ----------------------------------------------------------------------------------


@public_v1("train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str | os.PathLike[str],
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Return what a ``checkpoint`` file should say; paths in its folder become relative."""
    folder, latest = os.fspath(save_dir), os.fspath(model_checkpoint_path)
    paths = [os.fspath(path) for path in all_model_checkpoint_paths or ()]
    if not paths or paths[-1] != latest:
        paths.append(latest)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {all_model_checkpoint_timestamps})"
        )
    if not os.path.isabs(folder):
        paths = [_relative(path, folder) for path in paths]
        latest = _relative(latest, folder)
    return CheckpointState(
        model_checkpoint_path=latest,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def _relative(path: str, folder: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


@public_v1("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str | os.PathLike[str],
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the ``checkpoint`` file of a folder."""
    write_checkpoint_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str | os.PathLike[str],
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    *,
    relative_paths: bool = False,
) -> None:
    """Write the ``checkpoint`` file; with `relative_paths`, the folder can be moved."""
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    folder = os.fspath(save_dir)
    path = state_path(folder, latest_filename)
    if path == os.fspath(model_checkpoint_path):
        raise RuntimeError(
            f"Save path '{path}' conflicts with path used for checkpoint state.  Please use a "
            "different save path."
        )
    if relative_paths:
        listed = list(state.all_model_checkpoint_paths)
        state.model_checkpoint_path = _inside(state.model_checkpoint_path, folder)
        state.ClearField("all_model_checkpoint_paths")
        state.all_model_checkpoint_paths.extend(_inside(each, folder) for each in listed)
    replace_file(path, str(state).encode())


def _inside(path: str, folder: str) -> str:
    if not os.path.isabs(path):
        return path
    return os.path.relpath(path, os.path.abspath(folder))


def state_path(folder: str, latest_filename: str | None) -> str:
    """Return the path of a folder's ``checkpoint`` file."""
    return os.path.join(folder, latest_filename or "checkpoint")


@public_v1("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str | os.PathLike[str],
    checkpoint_format_version: int = 2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Remove the files of a checkpoint; nothing happens if there are none."""
    prefix = os.fspath(checkpoint_prefix)
    if checkpoint_format_version == SaverDef.V2:
        # The index first: what has no index is no checkpoint, and what has one is whole.
        files = [index_name(prefix), *data_files(prefix)]
    else:
        files = glob.glob(prefix)
    meta = _SHARD_PATTERN.sub("", prefix)
    for file in (*files, f"{meta}.{meta_graph_suffix}"):
        with suppress(NotFoundError), naming(file):
            os.unlink(file)
