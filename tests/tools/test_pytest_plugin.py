"""The plugin for pytest: machines for tests, memory left behind, and the report."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from berth.eager.mode import set_eager

pytest_plugins = "pytester"

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join(
    (DOCS / page).read_text() for page in ("how-to/test-in-ci.md", "reference/pytest-plugin.md")
)
EAGER = "import pytest\nimport berth as tf\nKEPT = []\n"
GRAPH = "import pytest\nimport berth.compat.v1 as tf\nKEPT = []\n"
LET_GO = """\
  Something that outlives the test holds it: a global, a fixture of a wider scope, a session that is not closed, a function of the module that was called with it.
  Let go of it, or say that it may stay: berth_sim('2xT4', keeps_memory=True)."""


@pytest.fixture(autouse=True)
def plain_settings(pytester, monkeypatch):
    """Nothing of this run's settings: a bad variable shows whether it is set aside."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    monkeypatch.setenv("BERTH_SIM", "9xnonsense")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


def run(pytester, program, *options, **outcomes):
    """Run a module of tests in this process; return what pytest printed."""
    pytester.makepyfile(program)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)
    result.assert_outcomes(**outcomes)
    return result.stdout.str()


@pytest.mark.parametrize(
    "program",
    [
        f"""{EAGER}
def test_one(berth_sim):
    machine = berth_sim("2 x t4")
    assert (machine.name, machine.gpus) == ("2xT4", ["GPU:0", "GPU:1"])
    tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[1:], "GPU")
    assert machine.gpus == ["GPU:0"]
""",
        f"""{EAGER}
@pytest.mark.berth_sim("2xT4")
def test_one(berth_sim):
    machine = berth_sim()
    assert machine.in_use_bytes == machine.peak_bytes == {{"GPU:0": 0, "GPU:1": 0}}
    with tf.device("GPU:1"):
        x = tf.constant(1.0, shape=[1024])
        del x
    assert machine.in_use_bytes == {{"GPU:0": 0, "GPU:1": 0}}
    assert machine.peak_bytes == {{"GPU:0": 0, "GPU:1": 4096}}
""",
        f"""{EAGER}
@pytest.mark.parametrize("name, n", [("1xT4", 1)])
def test_one(berth_sim, name, n):
    assert len(berth_sim(name).gpus) == n
""",
        f"""{EAGER}
import unittest
@pytest.mark.berth_sim("2xT4")
class TestTowers(unittest.TestCase):
    def setUp(self):
        with tf.device("GPU:1"):
            self.x = tf.ones([4])
    def test_one(self):
        self.assertIn("GPU:1", self.x.device)
""",
        f"""{EAGER}
@pytest.mark.berth_sim("1xT4")
class TestTowers:
    @pytest.mark.berth_sim("3xT4")
    def test_nearest_marker_counts(self, berth_sim):
        self.x = tf.ones([4])
        assert len(berth_sim().gpus) == 3
""",
        f"""{EAGER}
def test_environment_of_the_test_counts(berth_sim, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert berth_sim("2xT4").gpus == ["GPU:0"]
""",
        f"""{EAGER}
def test_asked_for_later(request):
    assert request.getfixturevalue("berth_sim")("1xT4").gpus == ["GPU:0"]
""",
        """
import subprocess, sys
def test_child_processes_have_the_machine(berth_sim):
    berth_sim("2xT4")
    code = "import berth; print(len(berth.config.list_physical_devices('GPU')))"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"2\\n"
""",
    ],
)
def test_machine_is_the_test_s_own(pytester, program):
    run(pytester, program, passed=1)


def test_both_modes_live_together(pytester):
    """A module is what it would be as a program, whatever else is collected."""
    run(
        pytester,
        """
import pytest
import berth.compat.v1 as tf
import berth
@pytest.mark.berth_sim("2xT4")
@pytest.mark.parametrize("again", [1, 2])
def test_graph(again):
    with tf.device("/gpu:1"):
        w = tf.get_variable("w", [4], initializer=tf.ones_initializer())
    sess = tf.Session()
    sess.run(w.initializer)
    assert sess.run(w).tolist() == [1, 1, 1, 1]
    assert sess.placements()["w"].endswith("GPU:1")
""",
        passed=2,
    )
    pytester.makepyfile(
        test_eager=f"{EAGER}def test_one(berth_sim):\n    berth_sim('1xT4')\n    assert tf.ones([]) == 1",
        test_both="import berth\nimport berth.compat.v1 as tf\ndef test_one(berth_sim):\n    berth_sim('1xT4')\n    assert tf.executing_eagerly()",
        test_chosen=f"{GRAPH}def test_one(berth_sim):\n    berth_sim('1xT4', eager=True)\n    assert tf.executing_eagerly()",
        test_untold="def test_one(berth_sim):\n    berth_sim('1xT4')\n    from berth import executing_eagerly\n    assert not executing_eagerly()",
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=6)


def test_each_test_has_new_devices(pytester):
    run(
        pytester,
        f"""{EAGER}
@pytest.mark.parametrize("again", [1, 2])
def test_one(berth_sim, again):
    machine = berth_sim("1xT4", keeps_memory=True)
    KEPT.append(tf.constant(1.0, shape=[1024]))
    assert machine.in_use_bytes == {{"GPU:0": 4096}}
    assert machine.peak_bytes == {{"GPU:0": 4096}}
""",
        passed=2,
    )


def test_environment_comes_back(pytester, monkeypatch):
    import os

    import berth

    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # the other run's too
    before = dict(os.environ)
    run(
        pytester,
        f"""{EAGER}
import os
def test_one(berth_sim):
    berth_sim("1xT4")
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    tf.ones([4])
""",
        passed=1,
    )

    assert dict(os.environ) == before
    assert berth.config.list_physical_devices("GPU") == []


def test_gpus_of_the_run_are_not_missed(pytester, monkeypatch):
    """`berth run --gpus 1 -m pytest` says nothing about the machines of tests."""
    monkeypatch.setenv("BERTH_GPUS", "0")
    run(
        pytester,
        f"""{EAGER}
@pytest.mark.berth_sim("2xT4")
def test_one(caplog):
    tf.ones([3])
    assert caplog.messages == []
""",
        passed=1,
    )


@pytest.mark.parametrize(
    ("program", "held"),
    [
        (
            f"""{EAGER}
def test_one(berth_sim):
    berth_sim("2xT4")
    KEPT.append(tf.Variable(tf.constant(1.0, shape=[1024]), name="w"))
    with tf.device("GPU:1"):
        KEPT.append(KEPT[0] + 1.0)
""",
            """\
  GPU:0: 4 KiB in use
    4 KiB by 'w' (VarHandleOp) at test_left.py:7
  GPU:1: 4 KiB in use
    4 KiB by 'AddV2' (AddV2) at test_left.py:9""",
        ),
        (
            f"""{GRAPH}
def test_one(berth_sim):
    berth_sim("2xT4")
    with tf.device("/gpu:1"):
        w = tf.get_variable("w", [1024], initializer=tf.ones_initializer())
        y = w * 2.0
    KEPT.append(tf.Session())
    KEPT[0].run(w.initializer)
    KEPT[0].run(y)
""",
            """\
  GPU:1: 4.5 KiB in use
    4 KiB by 'w' (VariableV2) at test_left.py:8
    256 B by 'w/Initializer/ones/Const' (Const) at test_left.py:8
    256 B by 'mul/y' (Const) at test_left.py:9""",
        ),
        (
            f"""{EAGER}
@pytest.mark.berth_sim("2xT4")
def test_one():
    KEPT.extend(tf.constant(1.0, shape=[64 * k]) for k in range(1, 8))
""",
            "\n".join(
                [
                    "  GPU:0: 7 KiB in use",
                    *(
                        f"    {size} by 'Const' (Const) at test_left.py:7"
                        for size in ("1.75 KiB", "1.5 KiB", "1.25 KiB", "1 KiB", "768 B")
                    ),
                    "    and 2 more",
                ]
            ),
        ),
    ],
    ids=["eager", "session", "many"],
)
def test_memory_left_behind_is_an_error(pytester, program, held):
    pytester.makepyfile(test_left=program)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, errors=1)
    said = re.search(r"at teardown of test_one _+\n(.*?)\n=", result.stdout.str(), re.S)[1]

    assert said == f"Memory is left behind on 2xT4.\n{held}\n{LET_GO}"


@pytest.mark.parametrize(
    "program",
    [
        "def test_one(berth_sim):\n    berth_sim('1xT4', keeps_memory=True)\n    KEPT.append(tf.ones([4]))",
        "@pytest.mark.berth_sim('1xT4', keeps_memory=True)\ndef test_one():\n    KEPT.append(tf.ones([4]))",
        # Fixtures, wherever they stand.
        "@pytest.fixture\ndef x(berth_sim):\n    berth_sim('1xT4')\n    return tf.ones([4])\n"
        "def test_one(x):\n    assert x.shape == [4]",
        "@pytest.fixture\ndef box():\n    return []\n"
        "def test_one(box, berth_sim):\n    berth_sim('1xT4')\n    box.append(tf.ones([4]))",
        # What berth keeps for the next time.
        "@tf.function\ndef double(x):\n    return x * [2.0, 4.0]\n"
        "@pytest.mark.berth_sim('1xT4')\ndef test_one():\n    double(tf.ones([2]) * 3.0)",
        # Garbage.
        "@pytest.mark.berth_sim('1xT4')\ndef test_one():\n    ring = [tf.ones([4])]\n    ring.append(ring)",
    ],
)
def test_what_may_stay_is_no_error(pytester, program):
    run(pytester, EAGER + program, passed=1)


@pytest.mark.parametrize(
    "program",
    [
        "def test_one(berth_sim):\n    berth_sim('1xT4')\n    x = tf.ones([4])\n    assert x is None",
        "import unittest\n@pytest.mark.berth_sim('1xT4')\nclass TestAll(unittest.TestCase):\n"
        "    def test_one(self):\n        x = tf.ones([4])\n        self.assertIsNone(x)",
    ],
    ids=["pytest", "unittest"],
)
def test_failed_test_fails_once(pytester, program):
    run(pytester, EAGER + program, failed=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "berth_sim()",
            "TypeError: berth_sim() has no machine to return: name one, like berth_sim('2xT4'), or mark the test with @pytest.mark.berth_sim('2xT4').",
        ),
        ("berth_sim(2)", "TypeError: berth_sim() takes a text like '2xT4', and not 2."),
        (
            "berth_sim('1xT4'), berth_sim('2xT4')",
            "RuntimeError: berth_sim('2xT4') asks for a second machine: this test has 1xT4 already, by an earlier call. berth_sim() returns that one.",
        ),
        (
            "berth_sim('0xT4')",
            "berth.errors.MachineSpecError: Cannot simulate '0xT4': '0xT4' asks for no card.\n  Leave it out instead.",
        ),
    ],
)
def test_wrong_calls_say_what_is_wrong(pytester, call, message):
    said = run(pytester, f"def test_one(berth_sim):\n    {call}", "--tb=short", failed=1)
    lines = [line for line in said.splitlines() if re.match(r"E  |test_\w+\.py:\d+", line)]

    assert lines == [
        "test_wrong_calls_say_what_is_wrong.py:2: in test_one",
        *(f"E   {line}" for line in message.splitlines()),
    ]


UNREADABLE = "cannot be read: write a machine, like berth_sim('2xT4'), and after it eager= or keeps_memory= if needed."


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "@pytest.mark.berth_sim()\ndef test_one(): pass",
            f"test_marked.py:4: @pytest.mark.berth_sim() {UNREADABLE}",
        ),
        (
            "@pytest.mark.berth_sim('2xT4', leaks=1)\nclass TestAll:\n    def test_one(self): pass",
            f"test_marked.py:4: @pytest.mark.berth_sim('2xT4', leaks=1) {UNREADABLE}",
        ),
        (
            "pytestmark = pytest.mark.berth_sim(2)\ndef test_one(): pass",
            f"test_marked.py: @pytest.mark.berth_sim(2) {UNREADABLE}",
        ),
        (
            "@pytest.mark.berth_sim('1xT4')\n@pytest.mark.berth_sim('2xT4')\ndef test_one(): pass",
            "test_marked.py:4: @pytest.mark.berth_sim('2xT4') and @pytest.mark.berth_sim('1xT4') are on the same test, which has one machine.",
        ),
        (
            "@pytest.mark.berth_sim('0xT4')\ndef test_one(): pass",
            "test_marked.py:4: Cannot simulate '0xT4': '0xT4' asks for no card.\n  Leave it out instead.",
        ),
    ],
)
def test_wrong_markers_say_where_they_are(pytester, program, message):
    pytester.makepyfile(test_marked=EAGER + program)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    said = re.search(r"at setup of [\w.]+ _+\n(.*?)\n=", result.stdout.str(), re.S)[1]

    assert said == message


def test_marker_and_call_disagree(pytester):
    program = "@pytest.mark.berth_sim('1xT4')\ndef test_one(berth_sim): berth_sim('2xT4')"
    pytester.makepyfile(test_marked=EAGER + program)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    assert (
        "E   RuntimeError: berth_sim('2xT4') asks for a second machine: this test has 1xT4 "
        "already, by the marker at test_marked.py:4. berth_sim() returns that one."
        in result.outlines
    )


PEAKS = f"""{EAGER}
@pytest.mark.parametrize("n", range(1, 8))
def test_one(berth_sim, n):
    berth_sim("2xT4")
    with tf.device("GPU:1"):
        tf.constant(1.0, shape=[1024 * n])
"""


def summary(text):
    found = re.search(r"=+ berth: peak memory of a GPU =+\n(.*?)\n=", text, re.S)
    return found and found[1].splitlines()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [*range(7, 2, -1), "and 2 more: -v shows them"]),
        (["-v"], list(range(7, 0, -1))),
        (["-k", "4"], [4]),
    ],
)
def test_report_shows_largest_peaks(pytester, options, expected):
    pytester.makepyfile(test_peaks=PEAKS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)
    lines = [
        f"{f'{n * 4} KiB':>10}  GPU:1 of 2xT4  test_peaks.py::test_one[{n}]"
        if isinstance(n, int)
        else n
        for n in expected
    ]
    assert summary(result.stdout.str()) == lines


def test_report_file_has_each_gpu(pytester):
    run(pytester, PEAKS, "-k", "3", "--junitxml=report.xml", passed=1)
    properties = ElementTree.parse(pytester.path / "report.xml").iter("property")

    assert [(p.get("name"), p.get("value")) for p in properties] == [
        ("berth_machine", "2xT4"),
        ("berth_peak_bytes_GPU:0", "0"),
        ("berth_peak_bytes_GPU:1", "12288"),
    ]


def test_other_tests_pay_nothing(pytester):
    """No summary, and neither berth nor NumPy is imported."""
    pytester.makepyfile(
        "import sys\ndef test_one():\n    assert not {'berth', 'numpy'} & set(sys.modules)"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:hypothesispytest",
        "-p",
        "no:cacheprovider",
    ]
    result = subprocess.run(
        command, cwd=pytester.path, capture_output=True, text=True, check=False
    )

    assert "1 passed" in result.stdout
    assert "berth: " not in result.stdout


def test_plugin_can_be_left_out(pytester):
    pytester.makepyfile("def test_one(berth_sim): pass")
    result = pytester.runpytest_inprocess("-p", "no:berth", "-p", "no:cacheprovider")

    result.assert_outcomes(errors=1)
    assert "E       fixture 'berth_sim' not found" in result.outlines


# --- the page -------------------------------------------------------------------------------------

FILES = {b.split()[1]: b for b in re.findall(r"```python\n(# \w+\.py\n.*?)```", PAGE, re.S)}
SHOWN = dict(re.findall(r"```\n\$ pytest (\w+\.py)\n(.*?)```", PAGE, re.S))


@pytest.fixture
def run_page(pytester):
    """Run a module of the page, beside the others, as a program would be that is alone."""

    def start(name, **changed):
        for path, text in {**FILES, **changed}.items():
            (pytester.path / path).write_text(text)
        set_eager("compat.v1" not in FILES[name])
        return pytester.runpytest_inprocess("-W", "default", "-p", "no:cacheprovider", name)

    before = set_eager(True)
    yield start
    set_eager(before)


@pytest.mark.parametrize("name", SHOWN)
def test_page_shows_what_happens(run_page, name):
    printed = iter(line.rstrip() for line in run_page(name).outlines)
    for line in SHOWN[name].splitlines():
        if line != "...":
            assert line.rstrip() in printed, line  # each after the one before


@pytest.mark.parametrize(
    ("name", "path", "bug", "fix"),
    [
        ("test_towers.py", "towers.py", "    return tf.square", "        return tf.square"),
        ("test_replicas.py", "test_replicas.py", "(x, replicas[0])", "(x, w)"),
        ("test_cache.py", "test_cache.py", "CACHE[word] = ", "return "),
        ("test_peak.py", "test_peak.py", "", ""),
    ],
)
def test_page_s_fixes_work(run_page, name, path, bug, fix):
    result = run_page(name, **{path: FILES[path].replace(bug, fix)})
    result.assert_outcomes(passed=FILES[name].count("def test_"))
