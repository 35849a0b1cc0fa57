"""``tf.distribute.experimental``."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.distribute.default_strategy import (
    CentralStorageStrategy,
    ParameterServerStrategy,
    TPUStrategy,
)
from berth.distribute.inputs import CommunicationImplementation, CommunicationOptions
from berth.distribute.inputs import CommunicationImplementation as CollectiveCommunication
from berth.distribute.mirrored_strategy import MultiWorkerMirroredStrategy
from berth.distribute.strategy import ValueContext

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
    "ValueContext",
]
# --- end
