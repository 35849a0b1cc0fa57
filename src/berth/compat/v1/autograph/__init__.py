"""``tf.autograph`` of TensorFlow 1: Python's control flow on tensors, converted for graphs."""

from berth.compat.v1.autograph import experimental as experimental
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.autograph.api import to_code_v1 as to_code
from berth.autograph.api import to_graph_v1 as to_graph
from berth.autograph.messages import set_verbosity, trace

__all__ = [
    "set_verbosity",
    "to_code",
    "to_graph",
    "trace",
]
# --- end

__all__ += ["experimental"]
_explain_missing_names(__name__, __all__)
