"""``python -m berth`` is the ``berth`` command."""

import sys

from berth.tools.cli import main

sys.exit(main())
