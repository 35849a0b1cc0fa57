"""``tf.contrib`` of TensorFlow 1, as far as it is there: layers, slim, rnn and others."""

from berth.missing import explain_missing_names as _explain_missing_names

_MODULES = ("eager", "framework", "layers", "lookup", "losses", "opt", "rnn", "slim")
"""Submodules, which are imported when they are first used."""

__all__ = ["eager", "framework", "layers", "lookup", "losses", "opt", "rnn", "slim"]

_explain_missing_names(__name__, __all__, _MODULES)
