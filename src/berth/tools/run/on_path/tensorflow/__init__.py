"""What ``import tensorflow`` finds in a program that `berth run` starts: berth.

The folder around this package is on such a program's path, before all others but its own.
"""

from berth.tools.run.stand_in import take_the_place_of

take_the_place_of(__name__)
