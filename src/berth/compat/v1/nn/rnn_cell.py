"""``tf.nn.rnn_cell``: cells of recurrent neural networks."""

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
]
# --- end
