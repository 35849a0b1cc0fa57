"""``tf.train.SessionCreator``: what a monitored session gets its sessions from."""

from __future__ import annotations

import abc
from typing import Any

from berth.graph.default_graph import get_default_graph
from berth.public import public_v1
from berth.train.scaffold import Scaffold
from berth.train.session_manager import SessionManager


@public_v1("train.SessionCreator")
class SessionCreator(metaclass=abc.ABCMeta):
    """The base of what creates sessions."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Create a session."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _ScaffoldCreator(SessionCreator):
    """Creates sessions by a scaffold, which is finalized with the first."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._session_manager: SessionManager | None = None

    def _manager(self) -> SessionManager:
        scaffold = self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=scaffold.local_init_op,
                local_init_feed_dict=scaffold.local_init_feed_dict,
                ready_op=scaffold.ready_op,
                ready_for_local_init_op=scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._session_manager


@public_v1("train.ChiefSessionCreator")
class ChiefSessionCreator(_ScaffoldCreator):
    """Creates a session and initializes it, or restores it from the latest checkpoint."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        """Create a session that is ready to train."""
        manager = self._manager()
        return manager.prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@public_v1("train.WorkerSessionCreator")
class WorkerSessionCreator(_ScaffoldCreator):
    """Creates a session, and waits until something else has initialized its variables."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        """Create a session that is ready to train."""
        return self._manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
