"""Checkpoints and meta graphs beside TensorFlow: each side restores what the other saved.

    python -m tests.parity.differential.checkpoints

Both sides build the same program, save it in several ways, and describe it. Then each imports
the other's meta graphs, restores the other's checkpoints and computes; berth on simulated
GPUs as well. Compared are the values, the lists of variables, and, for checkpoints of one file, their bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sharded": {"sharded": True},
    "reshape": {"reshape": True},
    "names": {"var_list": {"first": "weights", "other/second": "counter"}},
}
_TYPES = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "bool", "complex64", "complex128"),
)


def build(tf: Any) -> None:
    """Add the program to the default graph: variables of all types and kinds, and a model."""
    import numpy as np

    for dtype in _TYPES:
        values = (np.arange(6).reshape(2, 3) * 3).astype(dtype)
        tf.Variable(values, name=f"types/{dtype}", use_resource=dtype > "g")
    tf.Variable([b"some", b"", b"x" * 300], name="words")
    tf.Variable(np.zeros((0, 3), np.float32), name="empty")
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:0"):
        weights = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2) / 7, name="weights")
    bias = tf.Variable([0.25, -0.5], name="bias", use_resource=True, trainable=False)
    counter = tf.Variable(np.int64(41), name="counter")
    y = tf.nn.softmax(tf.nn.relu(tf.matmul(x, weights) + bias), name="y")
    tf.add_to_collection("outputs", y)
    tf.add_to_collection("outputs", tf.reduce_mean(tf.concat([y, y * 2], 1), axis=[1]))
    tf.add_to_collection("outputs", tf.assign_add(counter, 1))


def save(tf: Any, folder: str) -> None:
    """Save the program in each way."""
    for way, options in WAYS.items():
        with tf.Graph().as_default(), tf.Session() as sess:
            build(tf)
            variables = {v.op.name: v for v in tf.global_variables()}
            given = dict(options)
            if "var_list" in given:
                names = given["var_list"].items()
                given["var_list"] = {saved: variables[name] for saved, name in names}
            saver = tf.train.Saver(max_to_keep=3, **given)
            sess.run(tf.global_variables_initializer())
            saver.save(sess, f"{folder}/{way}", global_step=7)


def restore(tf: Any, folder: str) -> dict[str, Any]:
    """Import the other side's graphs, restore its checkpoints, and compute."""
    found: dict[str, Any] = {}
    for way in WAYS:
        with tf.Graph().as_default(), tf.Session() as sess:
            path = f"{folder}/{way}-7"
            saver = tf.train.import_meta_graph(f"{path}.meta")
            sess.run(tf.global_variables_initializer())
            saver.restore(sess, path)
            outputs = sess.run(tf.get_collection("outputs"), {"x:0": [[1.0, 2.0, 3.0]]})
            variables = sess.run({v.op.name: v for v in tf.global_variables()})
            found[way] = {
                "variables": {name: text(value) for name, value in variables.items()},
                "outputs": [text(value) for value in outputs],
                "collections": sorted(tf.get_default_graph().get_all_collection_keys()),
                "trainable": sorted(v.name for v in tf.trainable_variables()),
                "listed": tf.train.list_variables(path),
                "keeps": saver.as_saver_def().max_to_keep,
            }
    latest = tf.train.get_checkpoint_state(folder)
    found["latest"] = os.path.basename(latest.model_checkpoint_path)
    return found


def text(value: Any) -> str:
    """Write a value so that rounding in the last digits does not show."""
    import numpy as np

    array = np.asarray(value)
    is_rounded = array.dtype.kind in "fc"
    return f"{array.dtype} {(array.round(5) if is_rounded else array).tolist()}"


def run(side: Any, env: Any, what: str, folder: str) -> Any:
    """Let a side save or restore, in a process of its own."""
    command = [str(side.python), "-m", "tests.parity.differential.checkpoints"]
    result = subprocess.run(
        [*command, "--of", side.module, what, folder],
        env={**env, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        sys.exit(f"{side.module} could not {what} {folder}:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout or "null")


def differing_bytes(ours: str, theirs: str) -> list[str]:
    """Name the files that differ, of the checkpoints that are to be equal."""
    ends = ("index", "data-00000-of-00001")
    files = [f"{way}-7.{end}" for way in ("plain", "reshape", "names") for end in ends]
    return [f for f in files if Path(ours, f).read_bytes() != Path(theirs, f).read_bytes()]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--of", nargs=3, metavar=("MODULE", "save|restore", "FOLDER"))
    asked = parser.parse_args()
    if asked.of:
        module, what, folder = asked.of
        tf = import_module(f"{module}.compat.v1")
        tf.disable_v2_behavior()
        done = {"save": save, "restore": restore}[what](tf, folder)
        json.dump(done, sys.stdout)
        return 0
    sides = import_module("sides")
    peer = sides.TENSORFLOW.side()
    if peer is None:
        sys.exit("TensorFlow could not be installed: there is nothing to compare with.")
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        run(sides.BERTH, sides.NO_GPUS, "save", ours)
        run(peer, sides.NO_GPUS, "save", theirs)
        expected = run(peer, sides.NO_GPUS, "restore", theirs)
        on_gpus = {**sides.PLAIN, "BERTH_SIM": "2xT4"}
        answers = {
            "TensorFlow of berth's": run(peer, sides.NO_GPUS, "restore", ours),
            "berth of TensorFlow's": run(sides.BERTH, sides.NO_GPUS, "restore", theirs),
            "berth of TensorFlow's, on GPUs": run(sides.BERTH, on_gpus, "restore", theirs),
            "berth of its own": run(sides.BERTH, sides.NO_GPUS, "restore", ours),
        }
        complaints = [f"Bytes differ: {file}" for file in differing_bytes(ours, theirs)]
    for title, found in answers.items():
        for way, wanted in expected.items():
            if found[way] != wanted:
                complaints.append(f"{title}, {way}:\n    {found[way]}\n    {wanted}")
    print(*complaints, sep="\n")
    print(f"{len(WAYS)} programs, each saved and restored by both: {len(complaints)} differ.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
