"""`berth run` and TensorFlow's names: which API a program gets, and what berth has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.tools.cli import main
from berth.tools.run.names import find, nearest
from berth.tools.run.uses import Source, choose_api, read_uses
from tests.tools.run_programs import berth, write

ESCAPE = "\x1b"


# --- which API ------------------------------------------------------------------------------

TF = "import tensorflow as tf\n"
V1 = "import tensorflow.compat.v1 as tf\n"
PROGRAMS = {
    "session": (TF + "with tf.Session() as s: pass", "tf.Session p.py:2"),
    "first name counts": (TF + "tf.constant(1)\ntf.placeholder\ntf.Session", "tf.placeholder p.py:3"),
    "from-import": ("from tensorflow import Session as S, constant\nS()", "tf.Session p.py:1"),
    "module bound by from-import": ("from tensorflow import train\ntrain.AdamOptimizer", "tf.train.AdamOptimizer p.py:2"),
    "star": ("from tensorflow import *\nprint(1)\ns = Session()", "tf.Session p.py:3"),
    "no alias": ("import tensorflow\ntensorflow.Session()", "tf.Session p.py:2"),
    "two aliases": ("import tensorflow as a, tensorflow as b\nb.Session()", "tf.Session p.py:2"),
    "in a function": ("def f():\n    import tensorflow as tf\n    return tf.Session()", "tf.Session p.py:3"),
    "part of TensorFlow 1 alone": (TF + "tf.contrib.slim.conv2d()", "tf.contrib.slim.conv2d p.py:2"),
    "module of both": ("from tensorflow import train\ntrain.Checkpoint()", None),
    "initializers": (TF + "tf.initializers.glorot_uniform()", None),
    "version of TensorFlow 1": (TF + "print(tf.VERSION)", "tf.VERSION p.py:2"),
    "asked by text": (TF + "getattr(tf, 'Session')()", "tf.Session p.py:2"),
    "asked by text with a default": (TF + "getattr(tf, 'Session', None)", "tf.Session p.py:2"),
    "eager": (TF + "print(tf.constant(1) + 1)\n@tf.function\ndef f(): pass", None),
    "nothing": ("print('tf.Session')", None),
    "only imported": (TF, None),
    "only in a text": (TF + "'''tf.Session()'''  # tf.Session", None),
    "attribute of something else": (TF + "x = object()\nx.tf.Session, x.Session", None),
    "text put together": (TF + "getattr(tf, 'Sess' + 'ion')", None),
    "compat.v1 in a program of 2": (TF + "c = tf.compat.v1.ConfigProto()\ntf.compat.v1.Session(config=c)\ntf.constant(1)", None),
    "compat.v1 under a name": (TF + "tf1 = tf.compat.v1\ntf1.Session()\ntf.constant(1)", None),
    "imports of both": (TF + "from tensorflow.compat.v1 import InteractiveSession\ntf.constant(1)", None),
    "all compat.v1": (V1 + "tf.Session().run(tf.constant(1))", "tf.compat.v1.Session p.py:2"),
    "compat.v1, eager": (V1 + "print(tf.constant(1))", None),
    "compat.v1, mode said": (V1 + "tf.disable_v2_behavior()\ntf.Session()", None),
    "compat.v1, eager is off": (V1 + "tf.disable_eager_execution()\ntf.Session()", None),
    "python.client": ("from tensorflow.python.client import device_lib\ndevice_lib.list_local_devices()", None),
}  # fmt: skip


def api_of(folder: Path, text: str) -> str | None:
    """Return the name for which a program gets TensorFlow 1, and its place."""
    reading = read_uses(Source(text, str(folder / "p.py"), folder))
    api, because = choose_api(reading.uses)
    assert (api == "v1") == (because is not None)
    return because and f"tf.{because.name} {because.place}"


@pytest.mark.parametrize(("text", "because"), PROGRAMS.values(), ids=PROGRAMS)
def test_names_tell_the_api(tmp_path, text, because):
    assert api_of(tmp_path, text) == because


HELPERS = {
    "module": ("import model", {"model.py": TF + "tf.Session"}, "model.py:2"),
    "from a module": ("from model import build", {"model.py": TF + "tf.Session"}, "model.py:2"),
    "module in a package": ("import a.b.c", {"a/b/c.py": TF + "tf.Session"}, "c.py:2"),
    "from a package": ("from a import b", {"a/b.py": TF + "tf.Session"}, "b.py:2"),
    "the package itself": ("import a.b", {"a/__init__.py": TF + "tf.Session", "a/b.py": ""}, "__init__.py:2"),
    "relative": ("import a.b", {"a/b.py": "from .c import x", "a/c.py": TF + "tf.Session"}, "c.py:2"),
    "relative, no name": ("import a.b", {"a/b.py": "from . import c", "a/c.py": TF + "tf.Session"}, "c.py:2"),
    "relative, one up": ("import a.b.c", {"a/b/c.py": "from ..d import x", "a/d.py": TF + "tf.Session"}, "d.py:2"),
    "relative, by the package": ("import a", {"a/__init__.py": "from .c import *", "a/c.py": TF + "tf.Session"}, "c.py:2"),
    "helper of a helper": ("import a", {"a.py": "import b", "b.py": "import a\n" + TF + "tf.Session"}, "b.py:3"),
    "own use comes first": (TF + "import a\ntf.Graph\ntf.Session", {"a.py": TF + "tf.Session"}, "p.py:4"),
    "unreadable helper": ("import old\n" + TF + "tf.Session", {"old.py": "print 'x'"}, "p.py:3"),
    "helper of another encoding": ("import old\nimport b", {"old.py": b"x = '\xff'", "b.py": TF + "tf.Session"}, "b.py:2"),
    "not imported": ("import os", {"model.py": TF + "tf.Session"}, None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "files", "place"), HELPERS.values(), ids=HELPERS)
def test_helper_modules_are_read(tmp_path, text, files, place):
    write(tmp_path, files)
    assert api_of(tmp_path, text) == (place and f"tf.Session {place}")


# --- --check --------------------------------------------------------------------------------

CHECKED = {
    "all there": (
        TF + "tf.nn.relu(tf.constant(1))\ntf.constant(2)",
        0,
        "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.\n"
        "  there    tf.nn.relu   p.py:2\n"
        "  there    tf.constant  p.py:2, p.py:3\n"
        "berth has all of it: 2 names.\n",
    ),
    "one name": (
        TF + "tf.Session().run(1)",
        0,
        "p.py is written for TensorFlow 1: it uses tf.Session (p.py:2).\n"
        "  there    tf.Session  p.py:2\n"
        "berth has all of it: 1 name.\n",
    ),
    "some missing": (
        TF + "tf.Session\ntf.estimator.Estimator\ntf.reduce_summ\ntf.keras.layers.Dense\ntf.keras.Model",
        1,
        "p.py is written for TensorFlow 1: it uses tf.Session (p.py:2).\n"
        "  there    tf.Session      p.py:2\n"
        "  missing  tf.estimator    p.py:3\n"
        "  missing  tf.reduce_summ  p.py:4  Did you mean 'reduce_sum'?\n"
        "  missing  tf.keras        p.py:5, p.py:6  Instead: tf.compat.v1.layers.\n"
        "berth has 1 of 4 names.\n",
    ),
    "many places": (
        TF + "tf.add\n" * 5,
        0,
        "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.\n"
        "  there    tf.add  p.py:2, p.py:3, p.py:4 and 2 more\n"
        "berth has all of it: 1 name.\n",
    ),
    "versions": (
        TF + "tf.__version__, tf.version.VERSION, tf.__file__, tf.version.GIT_VERSION",
        1,
        "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.\n"
        "  there    tf.__version__          p.py:2\n"
        "  there    tf.version.VERSION      p.py:2\n"
        "  there    tf.__file__             p.py:2\n"
        "  missing  tf.version.GIT_VERSION  p.py:2  Did you mean 'version.VERSION'?\n"
        "berth has 3 of 4 names.\n",
    ),
    "modules": (
        "from tensorflow.python.client import device_lib, timeline\nimport tensorflow.saved_model.loader as L",
        1,
        "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.\n"
        "  there    tf.python.client.device_lib  p.py:1\n"
        "  there    tf.python.client.timeline    p.py:1\n"
        "  missing  tf.saved_model               p.py:2  Instead: tf.train.Saver.\n"
        "berth has 2 of 3 names.\n",
    ),
    "no TensorFlow": ("print(1)", 0, "p.py uses nothing of TensorFlow that can be seen in it.\n"),
    "helper cannot be read": (
        "import old\n" + TF + "tf.add",
        0,
        "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.\n"
        "  there    tf.add  p.py:3\n"
        "  unread   old.py: invalid syntax (line 2)\n"
        "berth has all of it: 1 name.\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "told"), CHECKED.values(), ids=CHECKED)
def test_check_lists_the_names(tmp_path, monkeypatch, capsys, text, code, told):
    write(tmp_path, {"p.py": text, "old.py": "\n1 +\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--check", "p.py", "--api"]) == code
    assert capsys.readouterr() == (told, "")


def test_check_of_a_forced_api(capsys):
    program = TF + "tf.Session"
    assert main(["run", "--check", "--api", "v2", "-c", program]) == 1
    assert capsys.readouterr().out == (
        "<string> runs with TensorFlow 2, as --api v2 says.\n"
        "  missing  tf.Session  <string>:2  berth has tf.compat.v1.Session.\n"
        "berth has 0 of 1 name.\n"
    )


NOT_CHECKED = {
    "syntax error": (["p.py"], 1, "berth run: p.py: expected ':' (line 1)\n"),
    "no such module": (["-m", "no.such"], 1, "berth run: No module named no.such\n"),
    "no main": (["."], 1, "berth run: can't find '__main__' module in '.'\n"),
    "no file": (["x.py"], 2, "berth run: can't open file 'x.py': No such file or directory\n"),
}


@pytest.mark.parametrize(("words", "code", "told"), NOT_CHECKED.values(), ids=NOT_CHECKED)
def test_check_says_why_it_cannot(tmp_path, monkeypatch, capsys, words, code, told):
    write(tmp_path, {"p.py": "if x\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--check", *words]) == code
    assert capsys.readouterr() == ("", told)


def test_check_runs_nothing(tmp_path, monkeypatch, capsys):
    write(
        tmp_path, {"p.py": "import helper\nopen('ran', 'w')", "helper.py": "open('ran', 'w')"}
    )
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--check", "--sim", "2xT4", "--gpus", "1", "p.py"]) == 0
    assert not (tmp_path / "ran").exists()


# --- what would fail --------------------------------------------------------------------------

FAILING = """\
import os, no_such_package.deep
from keras_of_nobody.models import Sequential
try:
    import optional_package
except ImportError:
    pass
import helper
import tensorflow as tf
tf1 = tf.compat.v1
config = tf1.ConfigProto(alow_soft_placement=True)
config.gpu_options.allow_growth = True
config.gpu_options.alow_growth = True
config.SerializeToString()
session = tf1.Session(config=config)
session.run(None), session.graph, session.list_device()
with tf1.Session() as other:
    other.runn()
x = tf.constant(1.0)
x.op.node_def.device, x.op.nodedef, x.op.node_def.devise
def use(config, x):
    return config.anything, x.op.anything
class Own:
    pass
own = Own()
own.anything
@tf.function
def step(x, n, training=False):
    if training and x is None or x.shape[0] == 3:
        return x
    if x > 0:
        x = -x
    while not n >= 10:
        n += 1
    return x
def plain(x):
    return x if x > 0 else -x
"""


def test_check_finds_what_would_fail(tmp_path, monkeypatch, capsys):
    write(tmp_path, {"p.py": FAILING, "helper.py": "import helper_needs_this"})
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--check", "p.py"]) == 1
    lines = capsys.readouterr().out.splitlines()
    found = [" ".join(line.split()) for line in lines if line.startswith("  missing")]
    assert found == [
        "missing ConfigProto(alow_soft_placement=) p.py:10 Did you mean 'allow_soft_placement'?",
        "missing GPUOptions.alow_growth p.py:12 Did you mean 'allow_growth'?",
        "missing Session.list_device p.py:15 Did you mean 'list_devices'?",
        "missing Session.runn p.py:17 Did you mean 'run'?",
        "missing NodeDef.devise p.py:19 Did you mean 'device'?",
        "missing Operation.nodedef p.py:19 Did you mean 'node_def'?",
        "missing import no_such_package p.py:1 not installed: pip install no_such_package",
        "missing import keras_of_nobody p.py:2 not installed: pip install keras_of_nobody",
        "missing import helper_needs_this helper.py:1 not installed: pip install helper_needs_this",
    ]  # fmt: skip


@pytest.mark.parametrize("prefix", ["", "compat.v1."])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("train.Checkpoint", "Instead: tf.train.Saver."),
        ("keras", "Instead: tf.compat.v1.layers."),
        ("relu", "berth has tf.{prefix}nn.relu."),
        ("matmull", "Did you mean '{prefix}matmul'?"),
    ],
)
def test_hints_are_the_same_under_compat(prefix, name, hint):
    if find("v1", f"{prefix}{name}").is_there:
        pytest.skip("berth has it")
    assert nearest("v1", f"{prefix}{name}") == hint.format(prefix=prefix)


# --- test runners -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "because"),
    {
        ("pytest", "test_old.py"): "test_old.py:2",
        ("pytest", "-q", "test_old.py::test_a[x]"): "test_old.py:2",
        ("pytest", "test_new.py"): None,
        ("pytest", "deep"): "conftest.py:2",
        ("pytest",): "test_old.py:2",
        ("unittest", "deep.test_inner"): "test_inner.py:2",
        ("unittest", "test_new"): None,
    }.items(),
)
def test_files_of_tests_tell_the_api(tmp_path, monkeypatch, capsys, words, because):
    text = TF + "tf.Session"
    files = {
        "test_old.py": text,
        "test_new.py": TF + "tf.constant(1)",
        "deep/conftest.py": text,
        "deep/test_inner.py": text,
        "deep/helper.py": TF + "tf.no_such",
        ".venv/test_hidden.py": TF + "tf.no_such",
    }
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--check", "-m", *words]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    expected = f"is written for TensorFlow 1: it uses tf.Session ({because})."
    if because is None:
        expected = "runs with TensorFlow 2: it uses no name that only TensorFlow 1 has."
    assert first == f"{words[0]} {expected}"


# --- in the program -------------------------------------------------------------------------


def test_program_finds_berth(tmp_path):
    write(
        tmp_path,
        {
            "facts.py": """\
import importlib.util
assert importlib.util.find_spec("tensorflow")
import tensorflow as tf
from tensorflow import compat, nn as layers
import tensorflow.nn as nn
import tensorflow.compat.v1 as tf1
from tensorflow.compat import v1
from tensorflow.compat.v1 import Session
from tensorflow.python.client import device_lib, timeline
import tensorflow.python.client.timeline
from tensorflow.core.protobuf import config_pb2
import berth
print(tf.__version__, tf.version.VERSION, tf1.__version__, tf1.VERSION, tf.__name__, tf.__file__.endswith("__init__.py"))
print(nn is tf.nn is layers, tf1 is v1 is tf.compat.v1, Session is tf1.Session, compat is tf.compat)
print(tf.constant is berth.constant, tf.nn.relu is berth.nn.relu, tf.matmul(tf.ones([1, 1]), [[2.0]]))
print(timeline is tf.python.client.timeline, device_lib.list_local_devices()[0].name, config_pb2.ConfigProto is tf1.ConfigProto)
print([hasattr(tf, name) for name in ("estimator", "Session", "no", "Print", "_private", "__no__")])
print("constant" in dir(tf), [name for name in dir(tf) if name.startswith("_")], getattr(tf, "estimator", 5))
for text in ("import tensorflow.estimator", "from tensorflow import estimator", "from tensorflow.estimator import layers",
             "from tensorflow.python.tpu import tpu", "from tensorflow.nn import no"):
    try:
        exec(text)
    except ImportError as error:
        print(type(error).__name__, str(error).splitlines()[0])
from tensorflow.python.framework import ops, dtypes
from tensorflow.python.platform import tf_logging
import tensorflow.python.ops.math_ops as math_ops
print(ops.Graph is tf1.Graph, dtypes.float32 is tf.float32, tf_logging.info is tf1.logging.info, math_ops.add is tf.add)
found = importlib.util.find_spec
print(found("tensorflow.estimator"), found("tensorflow.python.tpu"), found("tensorflow.nn").name, found("tensorflow.python.ops.nn").name)
space = {}
exec("from tensorflow import *", space)
print(space["constant"] is tf.constant, "Session" in space, "__version__" in space)
"""
        },
    )
    ended = berth(tmp_path, "run", "facts.py")
    assert ended.err == ""
    assert ended.out == (
        "2.21.0 2.21.0 2.21.0 2.21.0 tensorflow True\n"
        "True True True True\n"
        "True True tf.Tensor([[2.]], shape=(1, 1), dtype=float32)\n"
        "True /device:CPU:0 True\n"
        "[False, False, False, False, False, False]\n"
        "True [] 5\n"
        "ModuleNotFoundError No module named 'tensorflow.estimator'\n"
        "ModuleNotFoundError No module named 'tensorflow.estimator'\n"
        "ModuleNotFoundError No module named 'tensorflow.estimator'\n"
        "ModuleNotFoundError No module named 'tensorflow.python.tpu'\n"
        "ModuleNotFoundError No module named 'tensorflow.nn.no'\n"
        "True True True True\n"
        "None None tensorflow.nn tensorflow.python.ops.nn\n"
        "True False False\n"
    )


def test_module_stays_the_same_object(tmp_path):
    """Threads that import it at once get what the first of them has begun to import."""
    program = """\
import importlib, sys
from importlib.util import find_spec, module_from_spec
spec = find_spec("tensorflow")
begun = sys.modules["tensorflow"] = module_from_spec(spec)
spec.loader.exec_module(begun)
import tensorflow as tf
n_finders = len(sys.meta_path)
print(tf is begun, importlib.reload(tf) is begun, len(sys.meta_path) == n_finders)
print(tf.nn is sys.modules["tensorflow.nn"], find_spec("tensorflow.nn").name)
print([name for name in vars(tf) if not name.startswith("_")])
"""
    write(tmp_path, {"p.py": program})
    out = "True True True\nTrue tensorflow.nn\n['nn']\n"
    assert berth(tmp_path, "run", "p.py") == (out, "", 0)


MISSING = {
    "attribute": (
        TF + "tf.reduce_summ(1)",
        "AttributeError: module 'tensorflow' has no attribute 'reduce_summ'\n"
        "  p.py:2 asks for tf.reduce_summ, which berth does not have. Did you mean 'reduce_sum'?\n",
    ),
    "from-import": (
        "from tensorflow.nn import rellu",
        "ModuleNotFoundError: No module named 'tensorflow.nn.rellu'\n"
        "  p.py:1 asks for tf.nn.rellu, which berth does not have. Did you mean 'nn.relu' or 'nn.crelu' or 'nn.relu6'?\n",
    ),
    "in a helper": (
        "import helper\nhelper.f()",
        "AttributeError: module 'tensorflow' has no attribute 'saved_model'\n"
        "  helper.py:3 asks for tf.saved_model, which berth does not have. Instead: tf.train.Saver.\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), MISSING.values(), ids=MISSING)
def test_missing_name_is_reported(tmp_path, text, told):
    write(tmp_path, {"p.py": text, "helper.py": TF + "def f():\n    tf.saved_model.load(1)\n"})
    ended = berth(tmp_path, "run", "p.py")
    assert ended.code == 1
    head, first, *_ = ended.err.splitlines()
    assert head == "Traceback (most recent call last):"
    assert first.startswith(f'  File "{tmp_path}/p.py", line {1 + text.count(chr(10))}, in ')
    assert ended.err.endswith(told)


RUNS = {
    "version 1": ([], TF + "print(tf.Session().run(tf.constant(1)), tf.VERSION)", "p.py is written for TensorFlow 1: it uses tf.Session (p.py:2).", "1 1.15.5\n"),
    "version 2": ([], TF + "print(tf.constant(1))", "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.", "tf.Tensor(1, shape=(), dtype=int32)\n"),
    "forced 1": (["--api", "v1"], TF + "print(tf.constant(1))", "p.py runs with TensorFlow 1, as --api v1 says.", 'Tensor("Const:0", shape=(), dtype=int32)\n'),
    "forced 2": (["--api=v2"], TF + "print(hasattr(tf, 'Session'), tf.compat.v1.Session.__name__)", "p.py runs with TensorFlow 2, as --api v2 says.", "False Session\n"),
    "all of compat.v1": ([], V1 + "print(tf.Session().run(tf.constant(1)))", "p.py is written for TensorFlow 1: it uses tf.compat.v1.Session (p.py:2).", "1\n"),
    "compat.v1, eager": ([], V1 + "print(tf.constant(1))", "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.", "tf.Tensor(1, shape=(), dtype=int32)\n"),
    "compat.v1, graphs": ([], V1 + "tf.disable_v2_behavior()\nprint(tf.Session().run(tf.constant(1)))", "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.", "1\n"),
    "both imports": ([], TF + "import tensorflow.compat.v1 as tf1\nprint(tf.constant(1), tf1.Session.__name__)", "p.py runs with TensorFlow 2: it uses no name that only TensorFlow 1 has.", "tf.Tensor(1, shape=(), dtype=int32) Session\n"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "text", "told", "printed"), RUNS.values(), ids=RUNS)
def test_program_gets_its_api(tmp_path, options, text, told, printed):
    write(tmp_path, {"p.py": text})
    assert berth(tmp_path, "run", "-v", *options, "p.py") == (
        printed,
        f"berth run: {told}\n",
        0,
    )


def test_children_get_the_same_api(tmp_path):
    """A child finds berth, of the API that its parent has."""
    child = "import tensorflow as tf; print(tf.__version__, tf.constant(1))"
    text = f"import subprocess, sys\n{TF}tf.Session\nsubprocess.run([sys.executable, '-c', {child!r}])"
    write(tmp_path, {"p.py": text})
    printed = '1.15.5 Tensor("Const:0", shape=(), dtype=int32)\n'
    assert berth(tmp_path, "run", "p.py") == (printed, "", 0)


def test_own_tensorflow_is_the_programs(tmp_path):
    """A module of that name beside the program comes first, as it does for Python."""
    write(tmp_path, {"p.py": TF + "print(tf.mine)", "tensorflow.py": "mine = 3"})
    assert berth(tmp_path, "run", "p.py") == ("3\n", "", 0)


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in ("run", "check", "devices", "limits", "top", "completion"))],
)
def test_help_is_plain_text_for_people(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (0, "")
    assert out.startswith(" ".join(["usage: berth", *command]))
    assert max(map(len, out.splitlines())) <= 80
    assert ESCAPE not in out


def test_help_of_the_program_is_its_own(tmp_path):
    write(
        tmp_path, {"p.py": "import argparse\nargparse.ArgumentParser(prog='mine').parse_args()"}
    )
    out, err, code = berth(tmp_path, "run", "p.py", "--help")
    assert (out.splitlines()[0], err, code) == ("usage: mine [-h]", "", 0)
