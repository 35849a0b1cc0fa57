"""Variables that are found by name, templates, and the global step.

Names and texts marked [TF] were read off TensorFlow 2.21's `tensorflow.compat.v1`.
"""

from __future__ import annotations

import re
import threading

import pytest

import berth.compat.v1 as tf
from berth.graph.keys import GraphKeys
from berth.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from berth.variables.initializers_v1 import Ones, Zeros
from berth.variables.scope import (
    get_local_variable,
    get_variable,
    no_regularizer,
    variable_scope,
)
from berth.variables.store import AUTO_REUSE, VariableScope, get_variable_scope
from berth.variables.template import make_template


@pytest.fixture(autouse=True)
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def first_line(caught):
    return str(caught.value).split("\n")[0]


def shown(value):
    """Write a value the same way in every process: tests are told apart by their names."""
    return re.sub(r" at 0x\w+", "", str(value))


def op():
    """Make an operation; return its name."""
    return tf.constant(1.0).op.name


def var(name="v", **options):
    """Ask for a variable; return its name."""
    return get_variable(name, [1], **options).op.name


def here():
    """Describe the current scope: its name, its name scope, and whether it reuses."""
    scope = get_variable_scope()
    return scope.name, scope.original_name_scope, scope.reuse


# --- names ----------------------------------------------------------------------------------


def test_scopes_give_names():
    """[TF]: a scope entered again has the same variables, and other operations."""
    assert here() == ("", "", False)
    with variable_scope("a") as a:
        assert (here(), var(), op()) == (("a", "a/", False), "a/v", "a/Const")
        with variable_scope("b"):
            assert (here(), var(), op()) == (("a/b", "a/b/", False), "a/b/v", "a/b/Const")
        with variable_scope("b", reuse=True) as b:
            assert (here(), var(), op()) == (("a/b", "a/b_1/", True), "a/b/v", "a/b_1/Const")
    with variable_scope("a"):
        assert (here(), var("w"), op()) == (("a", "a_1/", False), "a/w", "a_1/Const")
    with variable_scope(a) as again:
        assert again is not a
        assert (here(), var("x"), op()) == (("a", "a/", False), "a/x", "a_2/Const")
    with variable_scope(b):
        assert (here(), op()) == (("a/b", "a/b_1/", True), "b/Const")
    with tf.name_scope(a.original_name_scope):
        assert op() == "a/Const_1"
    assert here() == ("", "", False)


def test_name_scope_may_stay(graph):
    """[TF]."""
    with variable_scope("q", auxiliary_name_scope=False):
        assert (here(), var(), op()) == (("q", "", False), "q/v", "Const")
    with tf.name_scope("n"), variable_scope("q", auxiliary_name_scope=False):
        assert (here(), op()) == (("q", "n/", False), "n/Const")


def test_default_names_are_numbered():
    """[TF]: the scope's number and the name scope's are counted apart."""
    names = []
    for name in (None, None, "d", None):
        with variable_scope(name, default_name="d"):
            names.append((here()[0], op()))
    assert names == [
        ("d", "d/Const"),
        ("d_1", "d_1/Const"),
        ("d", "d_2/Const"),
        ("d_2", "d_3/Const"),
    ]
    for _ in range(2):  # entered again, it counts from the start
        with variable_scope("z"):
            for name in ("z/d", "z/d_1"):
                with variable_scope(None, default_name="d"):
                    assert here()[0] == name


def test_scope_object_keeps_its_count():
    with variable_scope("z") as z, variable_scope(None, default_name="d"):
        assert here()[0] == "z/d"
    with variable_scope(z):
        with variable_scope(None, default_name="d"):
            assert here()[0] == "z/d"
        with variable_scope(None, default_name="d"):
            assert here()[0] == "z/d_1"


@pytest.mark.parametrize(
    ("name", "scope", "variable", "operation"),
    [
        ("", ("", "", False), "v", "Const"),
        ("a/b", ("a/b", "a/b/", False), "a/b/v", "a/b/Const"),
    ],
)
def test_names_may_be_unusual(name, scope, variable, operation):
    """[TF]."""
    with variable_scope(name):
        assert (here(), var(), op()) == (scope, variable, operation)


def test_name_scopes_are_for_operations():
    """[TF]: a variable's name takes the variable scopes only; tf.Variable's the others."""
    with tf.name_scope("n"):
        assert (var(), op()) == ("v", "n/Const")
        with variable_scope("a"):
            assert (here(), var(), op()) == (("a", "n/a/", False), "a/v", "n/a/Const")
            assert tf.Variable(1.0, name="k").name == "n/a/k:0"


def test_name_may_be_taken():
    """[TF]: by an operation. The variable is found under the name that was asked for."""
    tf.constant(1.0, name="a/v")
    with variable_scope("a"):
        assert var() == "a/v_1"
    with variable_scope("a", reuse=True):
        assert var() == "a/v_1"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [  # [TF]
        ((None,), TypeError, "If default_name is None then name_or_scope is required"),
        ((3,), TypeError, "VariableScope: name_or_scope must be a string or VariableScope."),
        ((None, "d", True), ValueError, "reuse=True cannot be used without a name_or_scope"),
        (("a", None, 3), ValueError, "The reuse parameter must be True or False or None."),
    ],
)
def test_arguments_are_checked(arguments, error, message):
    name, default_name, reuse = (*arguments, None, None)[:3]
    with pytest.raises(error) as caught, variable_scope(name, default_name, reuse=reuse):
        pass
    assert first_line(caught) == message
    assert here() == ("", "", False)


def test_scope_enters_the_graph_of_values(graph):
    with tf.Graph().as_default() as other:
        inside = tf.constant(1.0)
    with variable_scope("a", values=[3, inside]):
        assert get_variable("v", [1]).graph is other
    assert tf.get_default_graph() is graph
    assert get_variable_scope().name == ""


def test_threads_have_their_own_scope(graph):
    found = []

    def look():
        with graph.as_default():
            found.append(get_variable_scope().name)

    with variable_scope("a"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(10)
        assert get_variable_scope().name == "a"
    assert found == [""]


def test_scopes_must_nest():
    outer, inner = variable_scope("a"), variable_scope("b")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="Improper nesting of variable_scope"):
        outer.__exit__(None, None, None)


def test_failed_block_leaves_the_scope():
    with pytest.raises(ZeroDivisionError), variable_scope("a"):
        raise ZeroDivisionError
    assert (here(), op()) == (("", "", False), "Const")


# --- reuse ----------------------------------------------------------------------------------


def test_variables_are_shared():
    with variable_scope("a"):
        v = get_variable("v", [1])
    for reuse in (True, AUTO_REUSE):
        with variable_scope("a", reuse=reuse):
            assert get_variable("v", [1]) is get_variable("v") is v
    assert tf.global_variables() == [v]


def test_variables_are_made_once():
    with variable_scope("a", reuse=AUTO_REUSE):
        assert get_variable("v", [1]) is get_variable("v", [1])
        assert var("w") == "a/w"
    assert len(tf.global_variables()) == 2


def test_reuse_goes_inwards():
    """[TF]: what is open inside a scope that reuses does so too."""
    with variable_scope("a", reuse=True):
        for reuse, wanted in ((None, True), (False, True), (AUTO_REUSE, AUTO_REUSE)):
            with variable_scope("b", reuse=reuse):
                assert get_variable_scope().reuse is wanted
    with variable_scope("a") as a:
        a.reuse_variables()
        assert a.reuse is True
    with variable_scope("a") as other:
        assert other.reuse is False
    with variable_scope(a, reuse=False) as again:
        assert again.reuse is True
    get_variable_scope().reuse_variables()
    with variable_scope("c") as c:
        assert c.reuse is True


SHARING = {  # [TF]
    "again": ([1], None, False, "Variable v already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? Originally defined at:"),
    "shape": ([2], None, True, "Trying to share variable v, but specified shape (2,) and found shape (1,)."),
    "dtype": ([1], tf.int32, AUTO_REUSE, "Trying to share variable v, but specified dtype int32 and found dtype float32_ref."),
}  # fmt: skip


@pytest.mark.parametrize("case", SHARING)
def test_sharing_is_checked(case):
    shape, dtype, reuse, message = SHARING[case]
    get_variable("v", [1])
    with variable_scope("", reuse=reuse), pytest.raises(ValueError, match="v") as caught:
        get_variable("v", shape, dtype)
    assert first_line(caught) == message
    assert __file__ in str(caught.value) or reuse


def test_missing_variable_is_not_made():
    """[TF]."""
    tf.Variable([1.0], name="v")
    with variable_scope("", reuse=True), pytest.raises(ValueError, match="v") as caught:
        get_variable("v", [1])
    assert first_line(caught) == (
        "Variable v does not exist, or was not created with tf.get_variable(). Did you mean to "
        "set reuse=tf.AUTO_REUSE in VarScope?"
    )


def test_graphs_have_their_own_variables():
    v = get_variable("v", [1])
    with tf.Graph().as_default():
        assert get_variable("v", [1]) is not v


# --- how variables are made -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "first", "dtype", "shape"),
    [  # [TF]
        ({"shape": [2, 3]}, "v/Initializer/random_uniform", "float32_ref", [2, 3]),
        ({"shape": 2}, "v/Initializer/random_uniform", "float32_ref", [2]),
        ({"shape": []}, "v/Initializer/random_uniform", "float32_ref", []),
        ({"shape": [2], "dtype": tf.float16}, "v/Initializer/random_uniform", "float16_ref", [2]),
        ({"shape": [2], "dtype": tf.int32}, "v/Initializer/zeros", "int32_ref", [2]),
        ({"shape": [2], "dtype": tf.bool}, "v/Initializer/zeros", "bool_ref", [2]),
        ({"shape": [2], "dtype": tf.string}, "v/Initializer/zeros", "string_ref", [2]),
        ({"initializer": 3}, "v/initial_value", "int32_ref", []),
        ({"initializer": [1.0, 2.0]}, "v/initial_value", "float32_ref", [2]),
        ({"initializer": [1.0], "validate_shape": False}, "v/initial_value", "float32_ref", None),
        ({"initializer": lambda: [1]}, "v/Initializer/initial_value", "int32_ref", [1]),
        ({"shape": [2], "initializer": Zeros}, "v/Initializer/zeros", "float32_ref", [2]),
        ({"shape": [2], "initializer": Ones()}, "v/Initializer/ones", "float32_ref", [2]),
        ({"shape": [2], "validate_shape": False}, "v/Initializer/random_uniform", "float32_ref", [2]),
        (
            {"shape": [2], "initializer": lambda shape, dtype: tf.ones(shape, dtype=dtype)},
            "v/Initializer/ones",
            "float32_ref",
            [2],
        ),
    ],
    ids=shown,
)  # fmt: skip
def test_variables_have_first_values(options, first, dtype, shape):
    v = get_variable("v", **options)
    assert v.initial_value.op.name == first
    assert (v.dtype.name, v.shape) == (dtype, tf.TensorShape(shape))


REFUSED = {  # [TF]
    "nothing": ({}, "Variable v did not get an initializer, so its `shape` argument must be specified."),
    "unknown": ({"shape": [None, 2]}, "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."),
    "no shape": ({"initializer": Zeros()}, "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."),
    "two shapes": ({"shape": [1], "initializer": [1.0]}, "If initializer is a constant, do not specify shape."),
    "complex": ({"shape": [1], "dtype": tf.complex64}, "An initializer for variable v of <dtype: 'complex64'> is required"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_first_value_must_be_clear(case):
    options, message = REFUSED[case]
    with pytest.raises(ValueError, match="nitializer") as caught:
        get_variable("v", **options)
    assert first_line(caught) == message
    assert tf.global_variables() == []


@pytest.mark.parametrize("first", [lambda: tf.constant([1.0]), lambda: [1.0]])
def test_types_must_agree(first):
    """[TF]."""
    with pytest.raises(ValueError, match="nitializer") as caught:
        get_variable("v", initializer=first(), dtype=tf.int32)
    assert first_line(caught) == (
        "Initializer type '<dtype: 'float32'>' and explicit dtype '<dtype: 'int32'>' don't match."
    )
    assert get_variable("w", initializer=first(), dtype=tf.float32).shape == [1]


def test_local_variables_are_apart(graph):
    """[TF]."""
    v = get_local_variable("v", [1])
    w = get_local_variable("w", [1], collections=["q"])
    assert (v.trainable, w.trainable) == (False, False)
    assert graph.get_collection("local_variables") == [v, w]
    assert graph.get_collection("q") == [w]
    assert tf.global_variables() == []


def test_scopes_have_defaults(graph):
    """[TF]: but a constraint is that of one scope only."""
    first = Ones()
    with variable_scope(
        "a", initializer=first, dtype=tf.float64, constraint=abs, use_resource=True
    ) as a:
        v = get_variable("v", [2])
        assert (v.dtype, v.constraint, v.op.type) == (tf.float64, abs, "VarHandleOp")
        assert v.initial_value.op.name == "a/v/Initializer/ones"
        assert tf.Variable(1.0).op.type == "VarHandleOp"
        assert get_variable("w", [2], tf.int32, Zeros()).initial_value.op.name.endswith("zeros")
        with variable_scope("b") as b:
            assert (b.dtype, b.initializer, b.use_resource) == (tf.float64, first, True)
            assert b.constraint is None
    a.set_initializer(None)
    a.set_dtype(tf.float32)
    a.set_use_resource(False)
    with variable_scope(a):
        x = get_variable("x", [2])
    assert x.initial_value.op.name == "a/x/Initializer/random_uniform"
    assert (x.dtype.base_dtype, x.op.type) == (tf.float32, "VariableV2")


def test_values_are_cached_elsewhere():
    with variable_scope("a", caching_device="/cpu:0") as a:
        assert get_variable("v", [2]).value().device == "/device:CPU:0"
    a.set_caching_device(None)
    with variable_scope(a):
        assert get_variable("w", [2]).value().device == ""


def test_regularizers_make_losses(graph):
    """[TF]: under the variable's name, beside it."""
    with variable_scope("a", regularizer=tf.reduce_sum) as a:
        get_variable("v", [2])
        get_variable("w", [2], regularizer=no_regularizer)
    a.set_regularizer(lambda w: None)
    with variable_scope(a):
        get_variable("x", [2])
    [loss] = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name == "a/v/Regularizer/Sum"
    assert loss.op.colocation_groups() == [b"loc:@a/v"]
    with variable_scope("a", reuse=True):
        get_variable("v", [2])
    assert len(graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_getters_stand_in_between():
    """[TF]: the inner one asks the outer one; one that is given asks the store."""
    asked = []

    def named(letter):
        def getter(getter, name, *arguments, **options):
            asked.append((letter, name, arguments, len(options)))
            return getter(f"{name}_{letter}", *arguments, **options)

        return getter

    with variable_scope("a", custom_getter=named("x")) as a:
        assert var() == "a/v_x"
        with variable_scope("b", custom_getter=named("y")):
            assert var() == "a/b/v_y_x"
        assert var("m", custom_getter=named("z")) == "a/m_z"
    assert asked == [
        ("x", "a/v", (), 14),
        ("y", "a/b/v", (), 14),
        ("x", "a/b/v_y", (), 14),
        ("z", "a/m", (), 14),
    ]
    a.set_custom_getter(None)
    with variable_scope(a):
        assert var("n") == "a/n"


def test_scope_lists_its_variables():
    with variable_scope("a") as a:
        v, w = get_variable("v", [1]), get_variable("w", [1], trainable=False)
        local = get_local_variable("l", [1])
    with variable_scope("ab"):
        get_variable("v", [1])
    assert (a.global_variables(), a.trainable_variables()) == ([v, w], [v])
    assert a.local_variables() == [local]
    assert len(VariableScope(False).global_variables()) == 3


# --- templates ------------------------------------------------------------------------------


def scaled(x, scale=1.0):
    return get_variable("w", [1], initializer=Ones()) * x * scale


def test_templates_share_variables():
    """[TF]: for the names."""
    one, other = make_template("m", scaled, scale=3.0), make_template("m", scaled)
    assert (one.variables, one.variable_scope_name) == ([], None)
    names = [one(1.0).op.name, one(2.0).op.name, other(1.0).op.name]
    assert names == ["m/mul_1", "m_1/mul_1", "m_2/mul_1"]
    assert [v.name for v in tf.global_variables()] == ["m/w:0", "m_1/w:0"]
    assert (one.name, one.variable_scope_name, one.func) == ("m", "m/", scaled)
    assert one.variables == one.trainable_variables == one.global_variables
    assert (other.variables[0].name, other.local_variables) == ("m_1/w:0", [])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([one(2.0), one(2.0, scale=5.0)])[1].tolist() == [10.0]


def test_template_scope_may_come_first():
    """[TF]."""
    early, late = make_template("k", scaled, create_scope_now_=True), make_template("k", scaled)
    with variable_scope("z"):
        assert early(1.0).op.name == "z/k/mul_1"
        assert late(1.0).op.name == "z/k_1/mul_1"
    assert [v.name for v in (*early.variables, *late.variables)] == ["k/w:0", "z/k/w:0"]


def test_template_name_may_be_unique():
    """[TF]."""
    make_template("k", scaled, unique_name_="u")(1.0)
    with pytest.raises(ValueError, match="Variable u/w already exists, disallowed"):
        make_template("k", scaled, unique_name_="u")(1.0)


def test_template_asks_its_getter():
    def getter(getter, name, **options):
        return getter(f"{name}_x", **options)

    template = make_template("m", scaled, custom_getter_=getter)
    template(1.0)
    template(1.0)
    assert [v.name for v in template.variables] == ["m/w_x:0"]


def test_template_makes_variables_once():
    """[TF]."""
    template = make_template("m", lambda x: tf.Variable(1.0) * x)
    template(1.0)
    with pytest.raises(ValueError, match="template") as caught:
        template(1.0)
    assert first_line(caught).startswith(
        "Trainable variable created when calling a template after the first time, perhaps you "
        "used tf.Variable when you meant tf.get_variable: [<tf.Variable 'm_1/Variable:0'"
    )


# --- the global step ------------------------------------------------------------------------


def test_global_step_is_made_once(graph):
    """[TF]."""
    assert get_global_step() is None
    with tf.name_scope("n"):
        step = get_or_create_global_step()
    assert repr(step) == "<tf.Variable 'global_step:0' shape=() dtype=int64_ref>"
    assert (step.trainable, graph.get_collection("variables")) == (False, [step])
    assert get_or_create_global_step() is get_global_step() is get_global_step(graph) is step
    with pytest.raises(ValueError, match=r'^"global_step" already exists\.$'):
        create_global_step()
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(step.assign_add(3))
        value = global_step(session, step)
    assert (value, type(value)) == (3, int)


def test_global_step_goes_to_a_graph():
    other = tf.Graph()
    assert create_global_step(other).graph is other
    assert get_global_step() is None


def test_global_step_is_found_by_name():
    """[TF]."""
    step = tf.Variable(1, name="global_step")
    assert get_global_step() is step.handle


def test_global_step_must_be_one_number():
    """[TF]."""
    for value, message in [
        (tf.Variable(1.0), "does not have integer type: <dtype: 'float32_ref'>"),
        (tf.constant([1]), "is not scalar: (1,)"),
        (3, "must be a Variable or Tensor: 3."),
    ]:
        with pytest.raises(TypeError) as caught:
            assert_global_step(value)
        assert first_line(caught) == f'Existing "global_step" {message}'
    assert assert_global_step(tf.placeholder(tf.int32)) is None


def test_several_global_steps_are_none(graph, caplog):
    """[TF]."""
    for _ in range(2):
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, tf.constant(1))
    assert get_global_step() is None
    assert "Multiple tensors in global_step collection." in caplog.text
