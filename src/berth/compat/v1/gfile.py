"""``tf.gfile``: files and folders, under the names of TensorFlow 1."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.gfile import GFile
from berth.data.gfile import GFile as FastGFile
from berth.data.gfile import GFile as Open
from berth.data.gfile import copy as Copy
from berth.data.gfile import exists as Exists
from berth.data.gfile import glob as Glob
from berth.data.gfile import isdir as IsDirectory
from berth.data.gfile import listdir as ListDirectory
from berth.data.gfile import makedirs as MakeDirs
from berth.data.gfile import mkdir as MkDir
from berth.data.gfile import remove as Remove
from berth.data.gfile import rename as Rename
from berth.data.gfile import rmtree as DeleteRecursively
from berth.data.gfile import stat as Stat
from berth.data.gfile import walk_v1 as Walk

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
# --- end
