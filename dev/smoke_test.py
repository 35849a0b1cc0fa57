"""Tests a wheel and an sdist as a user would: `make dist`.

Each is installed into an environment of its own, outside of the repository, and has to import,
list simulated devices and run a TensorFlow program.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import tensorflow as tf

with tf.device("/gpu:1"):
    product = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
assert product.numpy().item() == 11.0
assert product.device.endswith("GPU:1")
print("computed on", product.device)
"""


def smoke_test(package: Path) -> None:
    """Install a package in a new environment, and use it there."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        python = str(home / "env" / "bin" / "python")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(python, *install, str(package), cwd=home)
        _run(python, "-c", "import berth; print(berth.__version__, berth.__file__)", cwd=home)
        _run(python, "-m", "berth", "devices", "--sim", "2xT4", cwd=home)
        (home / "program.py").write_text(PROGRAM)
        _run(python, "-m", "berth", "run", "--sim", "2xT4", "program.py", cwd=home)


def _run(*command: str, cwd: Path) -> None:
    print("$", *command, flush=True)
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    packages = [Path(each).resolve() for each in sys.argv[1:]]
    assert packages, "name the files to test"
    for each in packages:
        smoke_test(each)
