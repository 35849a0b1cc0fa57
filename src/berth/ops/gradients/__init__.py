"""The gradients of all operations, family by family. Loading this enters them all."""

from berth.ops.gradients import arithmetic

__all__ = ["arithmetic"]
