"""``tf.keras``: the package Keras, on berth.

The folder has what Keras needs of TensorFlow's internals; Keras itself is a package of its own,
and is not changed. A name of ``tf.keras`` is Keras's: it is imported when it is first used,
with berth's `tensorflow` as its backend.
"""

from typing import Any as _Any

from berth.keras.package import api_folder as _api_folder
from berth.keras.package import load as _load

__path__ += _api_folder()  # for `from berth.keras.layers import Dense`
_OWN = ("internals", "package", "shims")


def __getattr__(name: str) -> _Any:
    if name.startswith("__") or name in _OWN:  # Python itself looks for these
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_load(), name)


def __dir__() -> list[str]:
    return dir(_load())
