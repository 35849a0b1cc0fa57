"""What a program uses of TensorFlow, for people: ``berth run --check``, and ``-v``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from berth.tools.run.names import API, find, nearest
from berth.tools.run.uses import Reading, Use

_MAX_PLACES = 3
_PROJECTS = {
    "PIL": "pillow",
    "absl": "absl-py",
    "cv2": "opencv-python",
    "google": "protobuf",
    "pynvml": "nvidia-ml-py",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Under which name a package is installed, where that differs from its own."""


class Verdict(NamedTuple):
    """Which TensorFlow a program gets, and what was read of it."""

    api: API
    because: Use | None
    """The name that tells, if one does."""
    is_asked: bool
    reading: Reading

    def explain(self, file: str) -> str:
        """Say which TensorFlow it is, and why."""
        name, number = os.path.basename(file), self.api[1:]
        if self.is_asked:
            return f"{name} runs with TensorFlow {number}, as --api {self.api} says."
        if self.because is not None:
            name_and_place = f"tf.{self.because.name} ({self.because.place})"
            return f"{name} is written for TensorFlow {number}: it uses {name_and_place}."
        if not self.reading.uses:
            return f"{name} uses nothing of TensorFlow that can be seen in it."
        return f"{name} runs with TensorFlow 2: it uses no name that only TensorFlow 1 has."


def show(verdict: Verdict, file: str) -> int:
    """Print the names that a program uses, each with its lines; 1 if berth has not all."""
    api, places = verdict.api, dict[str, list[str]]()
    for use in verdict.reading.uses:
        places.setdefault(find(api, use.name).name, []).append(use.place)
    missing = [name for name in places if not find(api, name).is_there]
    reading = verdict.reading
    packages = _by_package(reading.not_installed)
    shown = [f"tf.{name}" for name in places] + [each.what for each in reading.problems]
    width = max(map(len, [*shown, *(f"import {name}" for name in packages)]), default=0)
    print(verdict.explain(file))
    for name, where in places.items():
        state = "missing" if name in missing else "there"
        hint = f"  {nearest(api, name)}" if name in missing else ""
        print(f"  {state:7}  {f'tf.{name}':{width}}  {_some(where)}{hint}".rstrip())
    for problem in reading.problems:
        place = Use(problem.what, problem.file, problem.line).place
        print(f"  missing  {problem.what:{width}}  {place}  {problem.hint}".rstrip())
    for name, where in packages.items():
        hint = f"not installed: pip install {_PROJECTS.get(name, name)}"
        print(f"  missing  {f'import {name}':{width}}  {_some(where)}  {hint}")
    for unread in reading.unread:
        print(f"  unread   {unread}")
    if places:
        n_names = f"{len(places)} name" + "s" * (len(places) > 1)
        print(
            f"berth has {len(places) - len(missing)} of {n_names}."
            if missing
            else f"berth has all of it: {n_names}."
        )
    return 1 if missing or reading.problems or reading.not_installed else 0


def _by_package(imports: Sequence[Use]) -> dict[str, list[str]]:
    """Return the places of imports by the package that they are of."""
    found: dict[str, list[str]] = {}
    for use in imports:
        found.setdefault(use.name.partition(".")[0], []).append(use.place)
    return found


def _some(places: Sequence[str]) -> str:
    """Name the first few places of many."""
    seen = list(dict.fromkeys(places))
    more = f" and {len(seen) - _MAX_PLACES} more" if len(seen) > _MAX_PLACES else ""
    return ", ".join(seen[:_MAX_PLACES]) + more
