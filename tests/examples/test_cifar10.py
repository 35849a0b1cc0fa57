"""examples/cifar10: it learns, the same on any number of GPUs, and goes on after a kill."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.fork_server import Ended, Program
from tests.tools.run_programs import BERTH, berth, environ_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10"
SMALL = ("--batch_size=32", "--filters=12", "--units=48")
N_STEPS = 60
ACCURACY = 0.95
"""What the small model reaches on the test images that make_data.py makes."""

# As printed by the same program on TensorFlow 2.21, and how many of 200 images it knows then.
TENSORFLOW_LOSSES = {0: 3.368, 10: 2.203, 20: 1.452, 30: 1.525, 40: 0.414, 50: 0.498, 59: 0.346}
TENSORFLOW_RIGHT = 199


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with made-up data."""
    folder = tmp_path_factory.mktemp("cifar10")
    ended = run(folder, "make_data.py", "--data_dir=data")
    assert ended.out == "6 files of 200 made-up images are in data.\n"
    return folder


def words(script: str, *options: str) -> list[str]:
    return ["run", "--sim", "4xT4", str(EXAMPLE / script), *options]


def run(folder: Path, script: str, *options: str) -> Ended:
    ended = berth(folder, *words(script, *options))
    assert ended.code == 0, ended.err
    return ended


def train(folder: Path, train_dir: str, *options: str) -> str:
    return run(
        folder, "train.py", *SMALL, "--data_dir=data", f"--train_dir={train_dir}", *options
    ).out


def losses(folder: Path) -> dict[int, float]:
    """Read the losses of each step from the summaries."""
    found = {}
    for path in sorted(folder.glob("events.*")):
        for event in tf.train.summary_iterator(str(path)):
            for value in event.summary.value:
                if value.tag == "loss":
                    found[event.step] = value.simple_value
    return found


def variables(prefix: Path) -> dict[str, np.ndarray]:
    reader = tf.train.NewCheckpointReader(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def test_program_learns_what_it_does_on_tensorflow(folder):
    printed = train(folder, "learned", "--num_gpus=2", f"--steps={N_STEPS}")
    found = {
        int(step): float(loss) for step, loss in re.findall(r"step (\d+): loss (\S+)", printed)
    }
    assert found == pytest.approx(TENSORFLOW_LOSSES, abs=0.002)

    evaluated = run(folder, "evaluate.py", "--data_dir=data", "--train_dir=learned").out
    right = re.fullmatch(
        rf"step {N_STEPS}: (\d+) of 200 images, accuracy ([\d.]+)\n", evaluated
    )
    assert int(right[1]) == pytest.approx(TENSORFLOW_RIGHT, abs=1)
    assert float(right[2]) >= ACCURACY


def test_losses_are_the_same_on_any_number_of_gpus(folder):
    curves = {}
    for n_gpus in (1, 2, 4):
        train(folder, f"on{n_gpus}", f"--num_gpus={n_gpus}", "--steps=20", "--summary_every=1")
        curves[n_gpus] = losses(folder / f"on{n_gpus}")
    assert list(curves[1]) == list(range(20))
    assert curves[2] == pytest.approx(curves[1], rel=1e-5)
    assert curves[4] == pytest.approx(curves[1], rel=1e-5)


def test_killed_run_goes_on_where_it_was(folder):
    options = ("--num_gpus=2", "--checkpoint_every=5", "--summary_every=1", "--data_dir=data")
    command = words("train.py", *SMALL, *options, "--train_dir=killed", "--steps=100000")
    program = Program([BERTH[1], *command], environ_of(folder, {}), folder)
    for line in program.stdout:
        if line.startswith("step 12:"):
            break
    program.kill()
    with program:
        assert program.wait() == -9

    checkpoint = tf.train.latest_checkpoint(str(folder / "killed"))
    step = int(checkpoint.rpartition("-")[2])
    assert step >= 10
    assert step % 5 == 0
    n_steps = f"--steps={step + 5}"
    printed = train(folder, "killed", *options[:3], n_steps)
    assert printed.startswith(f"Going on from the checkpoint of step {step}.\nstep {step}: ")
    train(folder, "whole", *options[:3], n_steps)

    whole = variables(folder / "whole" / f"model.ckpt-{step + 5}")
    after_kill = variables(folder / "killed" / f"model.ckpt-{step + 5}")
    assert len(whole) == 31  # 10 variables with momentum and average each, and the step
    for name, value in whole.items():
        np.testing.assert_allclose(after_kill[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    curve = losses(folder / "whole")
    assert losses(folder / "killed") == pytest.approx(
        {**losses(folder / "killed"), **curve}, rel=1e-5
    )


def test_towers_are_on_their_gpus_and_variables_on_the_cpu(folder):
    ended = run(
        folder,
        "train.py",
        *SMALL,
        *("--data_dir=data", "--train_dir=placed", "--num_gpus=2", "--steps=1"),
        "--log_device_placement",
    )
    placed = dict(re.findall(r"^(\S+): /job:\S*/(?:device:)?(\w+:\d)$", ended.out, re.M))
    assert placed["conv1/weights"] == placed["conv1/weights/Momentum"] == "cpu:0"
    for k in (0, 1):
        of_tower = {n: d for n, d in placed.items() if n.startswith(f"tower_{k}/")}
        assert f"tower_{k}/conv1/Conv2D" in of_tower
        assert set(of_tower.values()) == {f"GPU:{k}"}


# --- what it says of bad input ------------------------------------------------------------


@pytest.fixture
def example_modules(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield
    sys.modules.pop("cifar10_input", None)


def test_files_of_another_kind_are_refused(example_modules, tmp_path):
    import cifar10_input

    path = tmp_path / "data_batch_1.bin"
    for content, message in {
        b"": "has 0 bytes",
        bytes(3072): "has 3072 bytes",
        bytes(3073) + b"\x0a" + bytes(3072): "record 1 has the label 10; 9 is the last",
    }.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            cifar10_input.read_file(path)
    with pytest.raises(FileNotFoundError, match=r"There is no test_batch\.bin in .*kriz/cifar"):
        cifar10_input.read_folder(str(tmp_path), cifar10_input.TEST_FILES)


def test_records_are_read_as_the_format_says(example_modules, tmp_path):
    import cifar10_input

    planes = np.arange(3 * 32 * 32).astype(np.uint8)
    (tmp_path / "test_batch.bin").write_bytes(b"\x07" + planes.tobytes())
    images = cifar10_input.read_folder(str(tmp_path), cifar10_input.TEST_FILES)
    assert images.labels.tolist() == [7]
    assert images.pixels[0, 1, 2].tolist() == [int(planes[k * 1024 + 34]) for k in range(3)]


def test_every_image_comes_once_in_an_epoch(example_modules):
    import cifar10_input

    labels = np.arange(10)
    images = cifar10_input.Images(np.zeros((10, 32, 32, 3), np.uint8), labels)
    batches = cifar10_input.TrainingBatches(images, 4, 24, seed=3)
    seen = np.concatenate([batches.of_step(step)[1] for step in range(5)])
    assert sorted(seen[:10]) == sorted(seen[10:]) == list(labels)
    assert list(seen[:10]) != list(seen[10:])
    again = cifar10_input.TrainingBatches(images, 4, 24, seed=3)
    assert again.of_step(3)[1].tolist() == seen[12:16].tolist()
    with pytest.raises(ValueError, match="A batch of 11, and only 10 images"):
        cifar10_input.TrainingBatches(images, 11, 24, seed=3)
