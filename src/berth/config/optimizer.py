"""``tf.config.optimizer``: settings of TensorFlow's graph optimizers, kept and without effect.

Plans are made in one way only (`berth.plan`), which changes no result.
"""

from __future__ import annotations

from collections.abc import Mapping

from berth.front.context import context
from berth.public import public

# --- written by dev/make_api.py: make api
# isort: split

__all__ = [
    "get_experimental_options",
    "get_jit",
    "set_experimental_options",
    "set_jit",
]
# --- end

_OPTIONS = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "disable_model_pruning",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
    "disable_meta_optimizer",
    "min_graph_nodes",
)
_DEFAULTS = {"disable_model_pruning": False, "disable_meta_optimizer": False}


@public("config.optimizer.get_jit")
def get_jit() -> str:
    """Return ``"autoclustering"`` if compiling by XLA was asked for, else an empty text."""
    return "autoclustering" if context().switches.uses_jit else ""


@public("config.optimizer.set_jit")
def set_jit(enabled: bool | str) -> None:
    """Keep whether to compile by XLA, which berth does not have: it has no effect."""
    context().switches.uses_jit = enabled in (True, "autoclustering")


@public("config.optimizer.get_experimental_options")
def get_experimental_options() -> dict[str, bool | int]:
    """Return the options that were set, and the two that have a default."""
    return {**_DEFAULTS, **context().switches.optimizer_options}


@public("config.optimizer.set_experimental_options")
def set_experimental_options(options: Mapping[str, bool | int]) -> None:
    """Keep options, which have no effect; unknown ones are ignored."""
    switches = context().switches
    chosen = {name: value for name, value in options.items() if name in _OPTIONS}
    switches.optimizer_options = {**switches.optimizer_options, **chosen}
