"""`tf.compat.v1.InteractiveSession`: a session for a shell or a notebook."""

from __future__ import annotations

import logging
from typing import Any

from berth.blocks import Use
from berth.graph.default_session import enter_session
from berth.ops import builder
from berth.proto.config import ConfigProto
from berth.public import public_v1
from berth.session.session import BaseSession

_log = logging.getLogger("berth")


@public_v1("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session for a shell: the default session from its creation until it is closed."""

    _n_active = 0

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if config is None:
            config = ConfigProto()
            config.gpu_options.allow_growth = self._grows_by_itself = True
        elif isinstance(config, ConfigProto):
            given, config = config, ConfigProto()
            config.CopyFrom(given)
        if isinstance(config, ConfigProto):
            config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, config)
        if InteractiveSession._n_active:
            _log.error(
                "An interactive session is already active. This can cause out-of-memory errors "
                "or some other unexpected errors (due to the unpredictable timing of garbage "
                "collection) in some cases. You must explicitly call "
                "`InteractiveSession.close()` to release resources held by the other "
                "session(s). Please use `tf.Session()` if you intend to productionize."
            )
        InteractiveSession._n_active += 1
        self._use = Use()
        if graph is not None:
            builder.enter(self._use, graph)
        enter_session(self._use, self)

    def _retire(self) -> None:
        # Sessions of a shell are closed in any order.
        InteractiveSession._n_active -= 1
        self._use.drop()
