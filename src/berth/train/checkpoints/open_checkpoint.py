"""Opening a checkpoint of either version by its path."""

from __future__ import annotations

import glob
import os

from berth.errors import NotFoundError
from berth.train.checkpoints.bundle_index import index_name
from berth.train.checkpoints.bundle_reader import BundleReader
from berth.train.checkpoints.slice_files import SliceFiles

StoredTensors = BundleReader | SliceFiles


def open_checkpoint(path: str) -> StoredTensors:
    """Open a checkpoint, whose path may be a pattern if it is of the first version."""
    if os.path.exists(index_name(path)):
        return BundleReader(path)
    if glob.glob(path):
        return SliceFiles(path)
    raise NotFoundError(
        None,
        None,
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
        f"{path}",
    )
