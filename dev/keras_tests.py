"""Keras's own tests on berth: `make keras-tests`.

Keras's package contains its tests. They are run as they are, from a folder outside of it, in
a virtual environment of their own (BERTH_KERAS_VENV says where), which the first call makes.
`TENSORFLOW` has how many of each folder pass on TensorFlow 2.21 with the same packages; a test
counts as one that berth should pass if it does. Words behind the command are folders.

    make keras-tests
    .venv/bin/python dev/keras_tests.py losses layers/rnn
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENV = Path(os.environ.get("BERTH_KERAS_VENV", ROOT / ".venv-keras"))
PACKAGES = (
    *("keras==3.15.1", "pytest==9.2.0", "h5py", "ml_dtypes", "optree"),
    *("scikit-learn", "jax"),  # which a few files of tests import
)
TENSORFLOW = {
    "layers/activations": 33,
    "layers/attention": 112,
    "layers/convolutional": 254,
    "layers/core": 286,
    "layers/merging": 54,
    "layers/normalization": 65,
    "layers/pooling": 135,
    "layers/regularization": 35,
    "layers/reshaping": 205,
    "layers/rnn": 77,
    "optimizers": 257,
    "losses": 180,
    "metrics": 402,
    "models": 151,
    "trainers": 207,
    "callbacks": 55,
    "initializers": 20,
    "random": 88,
    "backend/common": 1203,
    "ops/core_test.py": 173,
    "ops/linalg_test.py": 235,
    "ops/nn_test.py": 391,
}
"""How many tests pass on TensorFlow."""
LEFT_OUT = (  # they need packages that are no part of this
    *("callbacks/orbax_checkpoint_test.py", "callbacks/tensorboard_test.py"),
    "trainers/data_adapters/torch_data_loader_adapter_test.py",
    "trainers/data_adapters/grain_dataset_adapter_test.py",
)


def python() -> str:
    """Return the interpreter of the environment, made on first use."""
    interpreter = VENV / "bin" / "python"
    if not interpreter.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        pip = [
            str(interpreter),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, *PACKAGES], check=True)
        subprocess.run([*pip, "-e", str(ROOT)], check=True)
    return str(interpreter)


def run(interpreter: str, folder: str, results: Path) -> dict[str, list[str]]:
    """Run the tests of one folder; return the outcome and the error of each."""
    where = "import importlib.util as u; print(u.find_spec('keras').origin)"
    found = subprocess.run(
        [interpreter, "-c", where], capture_output=True, text=True, check=True
    )
    tests = Path(found.stdout.strip()).parent / "src"
    words = ["-q", "-p", "keras_tests_plugin", "-p", "no:cacheprovider", "-c", os.devnull]
    words += [f"--rootdir={tests}", "--continue-on-collection-errors", str(tests / folder)]
    words += [f"--ignore={tests / name}" for name in LEFT_OUT]
    subprocess.run(
        [interpreter, "-m", "pytest", *words],
        check=False,
        cwd=results.parent,  # Keras's folder has a module `random`
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "KERAS_BACKEND": "tensorflow",
            "KERAS_TESTS_RESULTS": str(results),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT / "dev" / "keras_tests_plugin"),
        },
    )
    outcomes: dict[str, list[str]] = json.loads(results.read_text())
    return outcomes


def main(folders: list[str]) -> None:
    """Run the tests of folders; print what passed, and the first line of what did not."""
    interpreter = python()
    n_expected = n_passed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in folders or TENSORFLOW:
            outcomes = run(interpreter, folder, Path(scratch, "results.json"))
            passed = sum(outcome == "passed" for outcome, _ in outcomes.values())
            print(f"{folder:26} {passed:5} of {TENSORFLOW[folder]:5}", flush=True)
            n_expected, n_passed = n_expected + TENSORFLOW[folder], n_passed + passed
            for name, (outcome, error) in outcomes.items():
                if outcome in ("failed", "error"):
                    print(f"    {name.rpartition('keras/src/')[2]}  {error}")
    print(f"{n_passed} of {n_expected}: {n_passed / n_expected:.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
