"""A third kind of device needs one more row in the table of kinds, and a backend."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = '''
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

# The table with one more row, in place of the one that berth would import.
root = Path(find_spec("berth").origin).parent
source = (root / "backends" / "kinds.py").read_text()
row = 'DeviceKind("NPU", False, 220, "NPU_{index}_bfc", True)'
kinds = ModuleType("berth.backends.kinds")
sys.modules[kinds.__name__] = kinds
exec(source.replace("_KINDS = (", f"_KINDS = ({row},"), vars(kinds))

import berth as tf
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.front.context import Context


class NpuBackend(SimBackend):
    """Simulated accelerators that are no CUDA devices."""

    def devices(self):
        return [
            info._replace(device_type="NPU", model="Made-up NPU", compute_capability=None)
            for info in super().devices()
        ]


class Program(Context):
    def _accelerators(self, env):
        directory = env["BERTH_LEDGER_DIR"]
        npus = NpuBackend(Machine.parse("npus=2xT4:1GiB"), ledger_directory=directory)
        return [*super()._accelerators(env), npus]


with Program().as_default() as program:
'''


def run(body: str, tmp_path, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.indent(textwrap.dedent(body), "    ")],
        capture_output=True,
        text=True,
        env={"BERTH_LEDGER_DIR": str(tmp_path), **env},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_devices_are_listed_and_configured(tmp_path):
    printed = run(
        """
        npus = tf.config.list_physical_devices("NPU")
        print([npu.name for npu in npus])
        tf.config.set_visible_devices(npus[1:], "NPU")
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=64)
        tf.config.set_logical_device_configuration(npus[1], [limit, limit])
        print([device.name for device in tf.config.list_logical_devices()])
        print([(d.short_name, d.arena.limit_bytes >> 20) for d in program.opened()][2:])
        """,
        tmp_path,
        BERTH_SIM="1xT4:1GiB",
    )
    assert printed.splitlines() == [
        "['/physical_device:NPU:0', '/physical_device:NPU:1']",
        "['/device:CPU:0', '/device:GPU:0', '/device:NPU:0', '/device:NPU:1']",
        "[('NPU:0', 64), ('NPU:1', 64)]",
    ]


def test_operations_run_on_it(tmp_path):
    printed = run(
        """
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        print(x.device, tf.matmul(x, x).device)  # its priority is the highest
        with tf.device("/device:NPU:1"):
            y = tf.constant([[1.0, 2.0], [3.0, 4.0]]) + 1.0
        with tf.device("/gpu:0"):
            z = y * 2.0
        print(y.device, z.device, z.numpy().tolist())
        print(tf.config.experimental.get_memory_info("NPU:1")["current"] > 0)
        """,
        tmp_path,
        BERTH_SIM="1xT4:1GiB",
    )
    npu = "/job:localhost/replica:0/task:0/device:NPU:"
    assert printed.splitlines() == [
        f"{npu}0 {npu}0",
        f"{npu}1 /job:localhost/replica:0/task:0/device:GPU:0 [[4.0, 6.0], [8.0, 10.0]]",
        "True",
    ]


def test_sessions_place_on_it(tmp_path):
    printed = run(
        """
        v1 = tf.compat.v1
        with v1.Graph().as_default() as graph:
            with v1.device("/device:NPU:1"):
                a = v1.constant([1.0, 2.0], name="a")
            b = v1.add(a, a, name="b")
            config = v1.ConfigProto(device_count={"NPU": 2, "GPU": 0})
            with v1.Session(config=config) as session:
                print(session.run(b).tolist())
                for name, device in sorted(session.placements().items()):
                    print(name, device.partition("/device:")[2])
        """,
        tmp_path,
    )
    assert printed.splitlines() == ["[2.0, 4.0]", "a NPU:1", "b NPU:0"]
