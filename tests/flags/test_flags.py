"""Flags of the command line, beside what TensorFlow 2.21 does with the same programs.

`recorded.json` has programs and, for command lines of each, what TensorFlow printed, the error
that it raised, and the exit code.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import berth.compat.v1 as tf
from berth.flags.errors import suggest
from berth.flags.parsers import BooleanParser, FloatParser, IntegerParser, ListParser

DATA = json.loads(Path(__file__).with_name("recorded.json").read_text())
PROGRAMS = [text.replace("HEAD", DATA["head"], 1) for text in DATA["programs"]]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a program with arguments: what it prints, its error as a last line, its exit code."""
    fresh = vars(tf.flags.FlagValues())
    kept = dict(vars(tf.flags.FLAGS))

    def start(text: str, arguments: str):
        vars(tf.flags.FLAGS).update(vars(tf.flags.FlagValues()))
        main = ModuleType("__main__")
        vars(main).update(tf=tf, __file__="program.py")
        monkeypatch.setitem(sys.modules, "__main__", main)
        monkeypatch.setattr(sys, "argv", ["program.py", *shlex.split(arguments)])
        code, error = 0, ""
        try:
            exec(compile(text, "program.py", "exec"), vars(main))
        except SystemExit as exit_:
            code = exit_.code or 0
        except Exception as raised:
            code, error = 1, f"{type(raised).__name__}: {raised}\n"
        return capsys.readouterr().out, error, code

    assert fresh.keys() == kept.keys()
    yield start
    vars(tf.flags.FLAGS).update(kept)


@pytest.mark.parametrize("program", range(len(PROGRAMS)))
def test_programs_do_as_in_tensorflow(run, program):
    for number, arguments, out, error, code in DATA["runs"]:
        if number == program:
            logged = error.startswith("WARNING:root:")
            expected = out, "" if logged else error, code
            assert run(PROGRAMS[program], arguments) == expected, arguments


HELP = """\
A program.

Trains something.
flags:

program.py:
  --batch_size: How many images in a batch.
    (default: '128')
    (a positive integer)
  --layer: Layers.;
    repeat this option to specify a list of values
    (default: '[1]')
    (an integer)
  --lines: Text of
    several lines.

    And more.
    (default: '')
  --[no]log_placement: Whether to log it.
    (default: 'false')
  --long: A very long help text that has to be wrapped because it does not fit
    in the line of a terminal, which has 80 columns.
  --mode: <train|eval>: What to do.
    (default: 'train')
  -n,--name: A name.
  --nohelp: (no help available)
    (default: 'x')
  --rate: Learning rate.
    (default: '0.1')
    (a non-negative number)
  --words: Words.
    (default: 'a b')
    (a whitespace separated list)

Try --helpfull to get a list of all flags.
"""
HELPED = '''"""A program.

Trains something."""
flags = tf.flags
flags.DEFINE_integer("batch_size", 128, "How many images in a batch.", lower_bound=1)
flags.DEFINE_multi_integer("layer", [1], "Layers.")
flags.DEFINE_string("lines", "", """Text of
  several lines.

  And more.""")
flags.DEFINE_boolean("log_placement", False, "Whether to log it.")
flags.DEFINE_string("long", None, "A very long help text that has to be wrapped because it "
    "does not fit in the line of a terminal, which has 80 columns.")
flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.")
flags.DEFINE_string("name", None, "A name.", short_name="n")
flags.DEFINE_string("nohelp", "x", "")
flags.DEFINE_float("rate", 0.1, "Learning rate.", 0.0)
flags.DEFINE_spaceseplist("words", "a b", "Words.")
tf.app.run(lambda argv: None)
'''


@pytest.mark.parametrize("asked", ["--help", "--helpshort", "-h", "-?"])
def test_help_has_absl_s_layout(run, asked):
    assert run(HELPED, asked) == (HELP, "", 1)


def test_full_help_lists_every_file(run):
    text = HELPED.replace("tf.app.run", "flags.FLAGS['rate'].module = 'other.py'\ntf.app.run")
    out, error, code = run(text, "--helpfull")
    assert (error, code) == ("", 1)
    assert out.index("\nother.py:\n  --rate: Learning rate.") < out.index("\nprogram.py:\n")
    assert "--rate" not in run(text, "--help")[0]


def test_flag_file_is_read_in_place(run, tmp_path):
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("--rate=3\n")
    outer.write_text(
        f"# a comment\n--name=x y\n\n// another\n--flagfile={inner}\n--batch_size=4"
    )
    text = DATA["head"] + "print(FLAGS.name, FLAGS.rate, FLAGS.batch_size)\n"
    assert run(text, f"--rate=2 --flagfile={outer} --batch_size=5")[0] == "x y 3.0 5\n"
    out, error, code = run(text, f"--flagfile={tmp_path / 'none'}")
    assert (out, code) == ("", 1)
    assert error.startswith("CantOpenFlagFileError: ERROR:: Unable to open flagfile: ")


def test_written_flags_are_read_again(run, tmp_path):
    path = tmp_path / "flags"
    text = DATA["head"] + f"FLAGS(sys.argv)\nFLAGS.append_flags_into_file({str(path)!r})\n"
    run(text, "--nosoft --tag=a --tag=b,c --gpus=1,2 --rate=0.5")
    values = (
        "FLAGS(sys.argv)\nprint(FLAGS.soft, FLAGS.tag, FLAGS.gpus, FLAGS.rate, FLAGS.name)\n"
    )
    out = run(DATA["head"] + values, f"--flagfile={path}")[0]
    assert out == "False ['a', 'b,c'] ['1', '2'] 0.5 None\n"


def test_flags_of_absl_are_parsed_by_run(run, monkeypatch):
    """A program may define flags by absl-py itself, and let TensorFlow run it."""

    class Theirs:
        def is_parsed(self):
            return False

        def __call__(self, argv, known_only):
            assert known_only
            return [word for word in argv if word != "--theirs"]

    monkeypatch.setitem(sys.modules, "absl.flags", SimpleNamespace(FLAGS=Theirs()))
    text = DATA["head"] + "tf.app.run(lambda argv: print(argv[1:], FLAGS.rate))"
    assert run(text, "--theirs --rate=2 rest")[0] == "['rest'] 2.0\n"


@pytest.mark.parametrize(
    ("name", "near"),
    {
        "batchsize": ["batch_size", "batch_sizes"],
        "bach": [],
        "lerning": ["learning_rate"],
        "dat": ["data", "data_dir"],
        "data_dirr": ["data_dir"],
        "bat_": ["bat", "batch", "batch_size", "batch_sizes"],
        "sotf": ["soft"],
        "xx": [],
    }.items(),
)
def test_nearest_names_are_absl_s(name, near):
    known = ["batch_size", "batch_sizes", "batch", "bat", "learning_rate", "learn", "data_dir"]
    assert suggest(name, [*known, "data", "soft"]) == near


@pytest.mark.parametrize(
    ("bounds", "whole", "real"),
    [
        ((None, None), "an integer", "a number"),
        ((1, None), "a positive integer", "number >= 1"),
        ((0, None), "a non-negative integer", "a non-negative number"),
        ((2, None), "integer >= 2", "number >= 2"),
        ((None, 5), "integer <= 5", "number <= 5"),
        ((None, 0), "a non-positive integer", "a non-positive number"),
        ((None, -1), "a negative integer", "number <= -1"),
        ((3, 9), "an integer in the range [3, 9]", "a number in the range [3, 9]"),
    ],
)
def test_bounds_are_described_as_absl_does(bounds, whole, real):
    assert IntegerParser(*bounds).syntactic_help == whole
    assert FloatParser(*bounds).syntactic_help == real


def test_texts_are_parsed_as_absl_does():
    lists = {"a,b": ["a", "b"], " a, b ": ["a", "b"], '"a,b",c': ["a,b", "c"], "": []}
    assert {text: ListParser().parse(text) for text in lists} == lists
    truths = {"true": True, "True": True, "T": True, "1": True, 1: True, "0": False, "f": False}
    assert {text: BooleanParser().parse(text) for text in truths} == truths


@pytest.mark.parametrize(
    ("definition", "message"),
    {
        'flags.DEFINE_string("help me", "x", "h")': "Error: Flag name cannot contain a space",
        'flags.DEFINE_string("", "x", "h")': "Error: Flag name cannot be empty",
        'flags.DEFINE_string("s", 5, "h")': "IllegalFlagValueError: flag --s=5: flag value must be a string, found \"<class 'int'>\"",
        'flags.DEFINE_integer("i", 1.5, "h")': "IllegalFlagValueError: flag --i=1.5: Expect argument to be a string or int, found <class 'float'>",
        'flags.DEFINE_integer("j", 1, "h", lower_bound=2)': "IllegalFlagValueError: flag --j=1: 1 is not integer >= 2",
        'flags.DEFINE_enum("k", "z", ["a"], "h")': "IllegalFlagValueError: flag --k=z: value should be one of <a>",
        'flags.DEFINE_enum("k", "a", [], "h")': 'ValueError: enum_values cannot be empty, found "[]"',
        'flags.DEFINE_alias("lr", "ratee")': "UnrecognizedFlagError: Unknown command line flag 'ratee'. Did you mean: rate ?",
        "FLAGS([])": "ValueError: argv cannot be an empty list, and must contain the program name as the first element.",
        'FLAGS("--rate=1")': "TypeError: argv should be a tuple/list of strings, not bytes or string. '--rate=1'",
    }.items(),
)  # fmt: skip
def test_wrong_definition_is_refused(run, definition, message):
    assert run(DATA["head"] + definition, "") == ("", f"{message}\n", 1)


def test_flag_named_like_a_method_is_refused(run):
    _, error, code = run('tf.flags.DEFINE_string("flag_values_dict", "x", "h")', "")
    assert code == 1
    assert error.startswith(
        'FlagNameConflictsWithMethodError: Cannot define a flag named "flag_values_dict". '
        'It conflicts with a method on class "FlagValues".'
    )
