"""``tf.contrib.opt``: optimizers that wrap others."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.train.optimizers.moving_average import MovingAverageOptimizer

__all__ = [
    "MovingAverageOptimizer",
]
# --- end
