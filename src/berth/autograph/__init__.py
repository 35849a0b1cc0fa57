"""``tf.autograph``: Python's control flow on tensors, converted for graphs.

A function that is traced is rewritten over `ast`, and compiled under its own file name and
line numbers. The passes, in order:

  1. `source`       finds the syntax of a function object; `mangling` writes private names as in
                    its class.
  2. `jumps`        break, continue and return become flags: every block ends at its end.
  3. `liveness`     for every if and loop: which variables it binds, and which are read later.
  4. `rewriting`    the blocks of ifs and loops become nested functions, passed to operators;
                    `expressions` rewrites calls, and, or, not, conditional expressions.
  5. `conversion`   compiles, caches, and makes a function with the closure of the first.

`operators` is what rewritten code calls, as ``ag__``: `conditionals`, `loops`, and `callee`,
which converts the user's own functions when they are called. They decide by the value of a
condition: one of Python is followed as Python does; a tensor in a graph is traced, by `tf.cond`
and `tf.while_loop`. `state` reads and writes the variables of blocks.

Invariants:
  1. The variables of a block are found (3) before any block inside is rewritten (4): after that
     they are in nested functions.
  2. A block binds the very variables of the function (`nonlocal`): closures, nested functions
     and debuggers see them, and an unbound variable is unbound.
  3. Every tree that is added has the line of what it stands for.
  4. An operator leaves the variables as they were if it fails.
"""

from berth.autograph import experimental as experimental
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.autograph.api import to_code, to_graph
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
