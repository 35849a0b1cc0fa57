"""What a program uses of TensorFlow, for people: ``berth run --check``, and ``-v``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from berth.tools.run.names import API, find, nearest
from berth.tools.run.uses import Use

_MOST_PLACES = 3


def explain_api(api: API, uses: Sequence[Use], because: Use | None, file: str) -> str:
    """Say which TensorFlow a program gets, and why."""
    name = os.path.basename(file)
    if because is not None:
        return (
            f"{name} is written for TensorFlow 1: it uses tf.{because.name} ({because.place})."
        )
    if not uses:
        return f"{name} uses no TensorFlow that can be seen in it."
    if api == "v1":
        return f"{name} runs with TensorFlow 1, as asked."
    return f"{name} runs with TensorFlow 2: it uses no name that only TensorFlow 1 has."


def show(api: API, uses: Sequence[Use], because: Use | None, file: str) -> int:
    """Print the names that a program uses, each with its lines; 1 if berth has not all."""
    places: dict[str, list[str]] = {}
    for use in uses:
        places.setdefault(find(api, use.name).name, []).append(use.place)
    missing = [name for name in places if not find(api, name).is_there]
    width = max((len(name) for name in places), default=0) + len("tf.")
    print(explain_api(api, uses, because, file))
    for name, where in places.items():
        state = "missing" if name in missing else "there"
        hint = f"  {nearest(api, name)}" if name in missing else ""
        print(f"  {state:7}  {f'tf.{name}':{width}}  {_some(where)}{hint}".rstrip())
    if missing:
        print(f"berth does not have {len(missing)} of these {len(places)} names.")
    elif places:
        print(f"berth has all of these {len(places)} names.")
    return 1 if missing else 0


def _some(places: Sequence[str]) -> str:
    """Name the first few places of many."""
    seen = list(dict.fromkeys(places))
    more = f" and {len(seen) - _MOST_PLACES} more" if len(seen) > _MOST_PLACES else ""
    return ", ".join(seen[:_MOST_PLACES]) + more
