"""Where the files of a data set are, and the error if they are not there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from berth.errors import explain

HINT = "To try the program with made-up data: berth run --synthetic-data."


def require(folder: Any, names: Sequence[str], source: str, note: str = "") -> list[str]:
    """Return the paths of files; an error that names those that are not there.

    `source` says where they come from: the address of a folder if it ends with a slash.
    """
    folder = os.path.expanduser(os.fspath(folder))
    paths = [os.path.join(folder, name) for name in names]
    missing = [
        name for name, path in zip(names, paths, strict=True) if not os.path.exists(path)
    ]
    if missing:
        urls = [source + name for name in missing] if source.endswith("/") else [source]
        where = f"not in {os.path.abspath(folder)}, and berth downloads nothing"
        message = explain(f"{', '.join(missing)}: {where}.", note, "Put there:", *urls, HINT)
        raise FileNotFoundError(message)
    return paths
