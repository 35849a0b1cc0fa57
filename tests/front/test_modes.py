"""The switches of TensorFlow 1 between eager programs and graphs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import berth.compat.v1 as tf
from berth.eager.mode import set_eager


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("switch", "is_eager"),
    [
        (tf.enable_eager_execution, True),
        (tf.enable_v2_behavior, True),
        (tf.disable_eager_execution, False),
        (tf.disable_v2_behavior, False),
    ],
)
def test_switch_sets_the_mode(switch, is_eager, before):
    set_eager(before)
    assert switch() is None
    assert tf.executing_eagerly() is is_eager


PROGRAMS = {
    "import berth.compat.v1 as tf1": False,
    "import berth.compat.v1 as tf1; import berth as tf": False,
    "import berth as tf; import berth.compat.v1 as tf1": True,
    "import sys; sys.modules[3] = sys; import berth.compat.v1 as tf1": False,
    "exec('import berth.compat.v1', {'__name__': None}); from berth import executing_eagerly; tf1 = __import__('berth').compat.v1": False,
    "import berth; import berth.compat.v1": True,
    "import berth as tf; tf1 = tf.compat.v1": True,
    "import berth.front.context; del berth; import berth.compat.v1 as tf1": False,
    "def main():\n import berth as tf\n import berth.compat.v1\nmain()": True,
    "import helper; import berth.compat.v1": True,
    "from berth.tools import cli; import berth.compat.v1 as tf1": False,
}
PROBE = """
import os, sys
__import__("berth.tools.cli")  # what a tool imports does not count, and is imported once
programs = {programs!r}
for number, program in enumerate(programs):
    if os.fork() == 0:  # a process of its own: a first import happens once
        exec(compile(program, "program.py", "exec"), globals())
        from berth.eager.mode import executing_eagerly
        os._exit(10 + executing_eagerly())
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_first_import_decides(tmp_path):
    (tmp_path / "helper.py").write_text("import berth as tf")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", PROBE.format(programs=list(PROGRAMS))]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert dict(zip(PROGRAMS, run.stdout.split(), strict=True)) == {
        program: str(10 + is_eager) for program, is_eager in PROGRAMS.items()
    }
