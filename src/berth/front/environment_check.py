"""Mistyped environment variables: what a program would not notice that they do nothing.

Pure: an environment in, sentences out.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

_PREFIXES = ("BERTH_", "CUDA_", "TF_")
_LEAST_LIKENESS = 0.93
"""From this likeness on, a name is a misspelling of another and not one of its own."""
_SPACED = re.compile(r"\d+(?:\s+\d+)+")


def suspicious_settings(environ: Mapping[str, str], known: Sequence[str]) -> Iterator[str]:
    """Say which variables look like known ones, and which list of GPUs has spaces."""
    for name in environ:
        if name in known or not name.upper().startswith(_PREFIXES):
            continue
        near = difflib.get_close_matches(name.upper(), known, 1, _LEAST_LIKENESS)
        if near and near[0] not in environ:
            yield f"{name} is set, and means nothing. Did you mean {near[0]}?"
    visible = environ.get("CUDA_VISIBLE_DEVICES", "")
    spaced = _SPACED.search(visible)
    if spaced is not None:
        numbers = spaced[0].split()
        yield (
            f"CUDA_VISIBLE_DEVICES={visible!r}: of {spaced[0]!r} only {numbers[0]} counts. "
            f"Write commas between: {','.join(numbers)}."
        )
