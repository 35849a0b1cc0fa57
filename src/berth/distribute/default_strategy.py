"""The default strategy, with one replica, and strategies that berth has by name only."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from berth.distribute.replica_context import ReplicaContext, has_strategy, set_default
from berth.distribute.strategy import Strategy, StrategyExtended
from berth.errors import explain
from berth.public import public_v2


class DefaultExtended(StrategyExtended):
    """The default strategy, for libraries."""

    def scope(self) -> AbstractContextManager[Strategy]:
        """Change nothing: it is in effect already, and the program is in its replica."""
        if has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        return nullcontext(self._strategy)


class DefaultStrategy(Strategy):
    """The strategy that is in effect where there is no other: one replica."""

    def __init__(self) -> None:
        super().__init__(DefaultExtended(self))


class _NotHere(Strategy):
    """A strategy that berth has by name only."""

    reason = ""

    def __init__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise NotImplementedError(explain(f"{type(self).__name__} is not there.", self.reason))


@public_v2("distribute.TPUStrategy", "distribute.experimental.TPUStrategy")
class TPUStrategy(_NotHere):
    """Training on TPUs, which berth does not have."""

    reason = "berth has CPUs and GPUs, and no TPUs."


@public_v2(
    "distribute.ParameterServerStrategy", "distribute.experimental.ParameterServerStrategy"
)
class ParameterServerStrategy(_NotHere):
    """Training with parameter servers, which berth has for TensorFlow 1 only."""

    reason = "Instead: tf.compat.v1.train.Server and replica_device_setter, with a session."


@public_v2("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(_NotHere):
    """Training with all variables on one device."""

    reason = "Instead: tf.distribute.MirroredStrategy."


class DefaultReplicaContext(ReplicaContext):
    """The replica of the default strategy, which is on no device in particular."""

    @property
    def devices(self) -> tuple[str, ...]:
        return ("",)


_default = DefaultStrategy()
set_default(_default, DefaultReplicaContext(_default, 0))
