"""``tf.contrib.rnn``: the cells of `tf.nn.rnn_cell`."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.layers.rnn.cells import BasicRNNCell, GRUCell, RNNCell
from berth.layers.rnn.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple
from berth.layers.rnn.stacked import (
    DeviceWrapper,
    DropoutWrapper,
    MultiRNNCell,
    ResidualWrapper,
)
from berth.layers.rnn.static import (
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
)

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]
# --- end
