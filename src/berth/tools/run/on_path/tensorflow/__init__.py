"""What ``import tensorflow`` finds in a program that `berth run` starts: berth.

The folder around this package is on such a program's path, before all others but its own.
"""

import sys

from berth.tools.run.shim import become_tensorflow

become_tensorflow(sys.modules[__name__])
del sys, become_tensorflow  # which TensorFlow does not have
