"""``tensorflow.python.client.timeline``: a traced step, drawn (§8.6)."""

from __future__ import annotations

from berth.session.timeline import Timeline

__all__ = ["Timeline"]
