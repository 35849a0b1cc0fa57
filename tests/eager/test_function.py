"""`tf.function`: when it traces, what it takes and gives, and how it differentiates."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections import namedtuple

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import CPU_0, GPU_0, GPU_1, Differs, cases, evaluate, in_use
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")

Point = namedtuple("Point", "x y")
FLOAT = tf.TensorSpec([], tf.float32)
VECTOR = tf.TensorSpec([None], tf.float32)


def values(structure):
    """The arrays of a structure of tensors, as lists and numbers."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: values(item) for key, item in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*map(values, structure))
    if isinstance(structure, list | tuple):
        return type(structure)(map(values, structure))
    return structure.numpy().tolist()


def counted(**options):
    """A function that returns its first argument, and the list of its traces."""
    traces = []

    @tf.function(**options)
    def traced(x, *others, **named):
        traces.append(x)
        return tf.constant(0)

    return traced, traces


# --- when it traces ----------------------------------------------------------------------------------

CALLS = {
    "dtypes": (
        "f(tf.constant(1)), f(tf.constant(2)), f(tf.constant(1.)), f(tf.constant(2.))",
        2,
    ),
    "shapes": ("f(tf.zeros([1])), f(tf.zeros([2])), f(tf.zeros([1])), f(tf.zeros([1, 1]))", 3),
    "many shapes": ("[f(tf.zeros([n])) for n in range(1, 6)]", 5),
    "integers": ("f(1), f(1), f(2), f(2)", 2),
    "equal numbers": ("f(1), f(1.0), f(True)", 1),
    "words": ("f('a'), f('a'), f('b')", 2),
    "none": ("f(None), f(None), f(1)", 2),
    "types": ("f(tf.float32), f(tf.float32), f(tf.int32)", 2),
    "callables": ("f(abs), f(abs), f(len)", 2),
    "arrays": ("f(np.array([1, 2])), f(np.array([3, 4])), f(tf.constant([1, 2], tf.int64))", 1),
    "array scalars": ("f(np.float32(1)), f(np.float32(2)), f(np.array(1)), f(np.array(2))", 2),
    "lists of numbers": ("f([1, 2]), f([1, 2]), f([1, 3])", 2),
    "lists with tensors": (
        "f([tf.constant(1), 2]), f([tf.constant(5), 2]), f([tf.constant(5), 3])",
        2,
    ),
    "lists and tuples": (
        "f([tf.constant(1)]), f((tf.constant(1),)), f([tf.constant(1)] * 2)",
        3,
    ),
    "dicts in any order": (
        "f({'a': tf.constant(1), 'b': 2}), f({'b': 2, 'a': tf.constant(5)})",
        1,
    ),
    "keywords in any order": (
        "f(0, a=tf.constant(1), b=tf.constant(2)), f(0, b=tf.constant(2), a=tf.constant(1))",
        1,
    ),
    "dict keys": ("f({'a': 1}), f({'b': 1}), f({'a': 1})", 2),
    "variables alike": Differs(
        ("f(tf.Variable([1., 2.])), f(tf.Variable([3., 4.]))", 1), "each variable is traced"
    ),
    "variables and tensors": ("f(tf.Variable(1.)), f(tf.constant(1.))", 2),
    "flags": ("f(tf.constant(1), True), f(tf.constant(2), True), f(tf.constant(1), False)", 2),
}


@pytest.mark.parametrize(("name", "calls"), cases(CALLS))
def test_traces_are_counted(name, calls):
    expressions, n_traces = calls
    f, traces = counted()
    evaluate(expressions, f=f)
    assert len(traces) == n_traces
    assert f.experimental_get_tracing_count() == n_traces


def test_defaults_and_keywords_share_traces():
    traces = []

    @tf.function
    def f(x, y=2, *, z=1):
        traces.append(y)
        return x * y + z

    three = tf.constant(3)
    assert [int(f(three)), int(f(three, 2)), int(f(three, y=2)), int(f(x=three, z=1))] == [
        7
    ] * 4
    assert len(traces) == 1
    assert int(f(three, tf.constant(4), z=tf.constant(5))) == 17
    assert len(traces) == 2


def test_reduced_retracing_generalises():
    shapes = []

    @tf.function(reduce_retracing=True)
    def f(x):
        shapes.append(x.shape.as_list())
        return x + 1.0

    for size in range(1, 6):
        assert values(f(tf.zeros([size]))) == [1.0] * size
    assert shapes == [[1], [None]]


def test_reduced_retracing_forgets_ranks():
    f, traces = counted(reduce_retracing=True)
    for shape in ([1], [1, 1], [2, 2, 2], []):
        f(tf.zeros(shape))
    f(tf.zeros([1], tf.float64))
    assert [x.shape.rank for x in traces] == [1, None, 1]


def test_forgotten_arguments_are_not_mixed_up():
    f = tf.function(lambda v: v + 0.0)
    assert [float(f(tf.Variable(float(k)))) for k in range(20)] == [float(k) for k in range(20)]


def test_python_effects_happen_while_tracing(capsys):
    seen = []

    @tf.function
    def f(x):
        seen.append((tf.executing_eagerly(), str(x)))
        print("tracing")
        return x

    f(tf.constant(1))
    f(tf.constant(2))
    assert seen == [(False, 'Tensor("x:0", shape=(), dtype=int32)')]
    assert capsys.readouterr().out == "tracing\n"


def test_arguments_are_symbols_while_tracing():
    symbolic = []

    @tf.function
    def f(x):
        symbolic.append(isinstance(x, tf.Tensor))
        return x + 1

    assert values(f(np.array([1, 2]))) == [2, 3]
    assert values(f(np.float32(3))) == 4.0
    assert symbolic == [True, True]


def test_failed_traces_leave_no_trace():
    variable = tf.Variable(1.0)

    @tf.function
    def f(x, fail):
        variable.assign(7.0)
        if fail:
            raise KeyError("on purpose")
        return x + 1.0

    with pytest.raises(KeyError):
        f(tf.constant(1.0), True)
    assert variable.numpy() == 1.0
    assert tf.executing_eagerly()
    assert values(f(tf.constant(1.0), False)) == 2.0
    assert variable.numpy() == 7.0


def test_functions_may_call_themselves():
    @tf.function
    def factorial(n):
        return n if n <= 1 else factorial(n - 1) * n

    assert values(factorial(5)) == 120


# --- what it takes -----------------------------------------------------------------------------------


def test_signature_allows_one_trace():
    f, traces = counted(input_signature=[VECTOR])
    for value in (tf.constant([1.0]), tf.constant([1.0, 2.0]), np.ones(3, np.float32)):
        f(value)
    assert len(traces) == 1
    assert traces[0].shape.as_list() == [None]


SIGNED = {
    "scalar of an int": ([FLOAT], "f(3)", 6.0),
    "scalar of a float": ([FLOAT], "f(3.5)", 7.0),
    "by keyword": ([VECTOR], "f(x=tf.constant([1.]))", [2.0]),
    "array": ([VECTOR], "f(np.array([1.], np.float32))", [2.0]),
    "list": ([VECTOR], "f([1., 2., 3.])", [2.0, 4.0, 6.0]),
    "list of ints": ([VECTOR], "f([1, 2])", [2.0, 4.0]),
    "any rank": ([tf.TensorSpec(None, tf.float32)], "f(tf.constant([[1.]]))", [[2.0]]),
    "any rank, a list": ([tf.TensorSpec(None, tf.float32)], "f([1.])", [2.0]),
    "variable": ([VECTOR], "f(tf.Variable([1., 2.]))", [2.0, 4.0]),
}


@pytest.mark.parametrize(("name", "signed"), cases(SIGNED))
def test_signature_converts_arguments(name, signed):
    signature, call, expected = signed
    f = tf.function(lambda x: x * 2, input_signature=signature)
    assert values(evaluate(call, f=f)) == expected


def test_signature_of_a_structure():
    spec = {"a": FLOAT, "b": (VECTOR, FLOAT)}
    f = tf.function(lambda d: d["a"] + d["b"][0] * d["b"][1], input_signature=[spec])
    arguments = {"a": tf.constant(1.0), "b": (tf.constant([1.0, 2.0]), tf.constant(3.0))}
    assert values(f(arguments)) == [4.0, 7.0]


def test_signature_leaves_defaults_alone():
    f = tf.function(lambda x, y=3.0: x * y, input_signature=[FLOAT])
    assert values([f(1.0), f(2.0)]) == [3.0, 6.0]


BINDING = "Binding inputs to tf.function failed due to "
SIGNATURE_ERRORS = {
    "f(tf.constant([1, 2]))": "`Can not cast TensorSpec(shape=(2,), dtype=tf.int32, name=None) to TensorSpec(shape=(None,), dtype=tf.float32, name=None)`",
    "f(tf.constant([[1.]]))": "`Can not cast TensorSpec(shape=(1, 1), dtype=tf.float32, name=None) to TensorSpec(shape=(None,), dtype=tf.float32, name=None)`",
    "f(tf.constant([1.]), 2)": "`too many positional arguments`",
    "f()": "`missing a required argument: 'x'`",
}


@pytest.mark.parametrize("call", SIGNATURE_ERRORS)
def test_signature_refuses_with_type_error(call):
    f = tf.function(lambda x: x * 2, input_signature=[VECTOR])
    with pytest.raises(TypeError):
        evaluate(call, f=f)


@pytest.mark.parametrize("call", SIGNATURE_ERRORS)
def test_signature_errors_are_tensorflows(call):
    f = tf.function(lambda x: x * 2, input_signature=[VECTOR])
    with pytest.raises(TypeError) as raised:
        evaluate(call, f=f)
    assert str(raised.value).startswith(f"{BINDING}{SIGNATURE_ERRORS[call]}. Received args: (")


@pytest.mark.parametrize("call", ["f()", "f(1, 2)", "f(y=1)", "f.get_concrete_function()"])
def test_wrong_arguments_are_type_errors(call):
    with pytest.raises(TypeError):
        evaluate(call, f=tf.function(lambda x: x))


SIGNATURES = {
    "tf.function(lambda x: x, input_signature=3)": "input_signature must be either a tuple or a list, got <class 'int'>.",
    "tf.function(lambda x: x, input_signature=[3])": "input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args [3] with types [<class 'int'>].",
    "tf.function(lambda x: x, input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])(1.)": "input_signature contains 1 extra type constraints.",
    "tf.function(lambda x, y: x, input_signature=[tf.TensorSpec([])])(1., 2.)": "input_signature missing type constraint for y",
    "tf.function(3)": "3 is not a callable object",
}


@pytest.mark.parametrize(("call", "message"), cases(SIGNATURES))
def test_impossible_signatures(call, message):
    with pytest.raises(TypeError) as raised:
        evaluate(call)
    assert first_line(raised.value) == message


SPECS = {
    "tf.TensorSpec([None, 2], tf.float32)": "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)",
    "tf.TensorSpec([2])": "TensorSpec(shape=(2,), dtype=tf.float32, name=None)",
    "tf.TensorSpec([2], tf.int32, name='q')": "TensorSpec(shape=(2,), dtype=tf.int32, name='q')",
    "tf.TensorSpec(None)": "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)",
    "tf.TensorSpec.from_tensor(tf.zeros([2]))": "TensorSpec(shape=(2,), dtype=tf.float32, name=None)",
    "tf.TensorSpec([None]).is_compatible_with(tf.zeros([3]))": "True",
    "tf.TensorSpec([None]).is_compatible_with(tf.zeros([3, 3]))": "False",
    "tf.TensorSpec([2]) == tf.TensorSpec([2])": "True",
    "tf.TensorSpec([2]) == tf.TensorSpec([2], tf.int32)": "False",
    "hash(tf.TensorSpec([2])) == hash(tf.TensorSpec([2]))": "True",
}


@pytest.mark.parametrize(("call", "text"), cases(SPECS))
def test_specs_are_tensorflows(call, text):
    assert repr(evaluate(call)) == text


def test_arguments_keep_their_structure():
    f = tf.function(lambda p, d, lists: (p.x - p.y, d["a"] - d["b"], lists[0] + lists[1][0]))
    point = Point(tf.constant(5), tf.constant(1))
    numbers = {"b": tf.constant(1), "a": tf.constant(7)}
    assert values(f(point, numbers, [1, (tf.constant(2),)])) == (4, 6, 3)


def test_variable_arguments_can_be_assigned():
    first, second = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    f = tf.function(lambda w, by: [w.assign_add(by)])
    f(first, tf.constant([1.0, 1.0]))
    f(second, tf.constant([5.0, 5.0]))
    f(first, tf.constant([1.0, 1.0]))
    assert values([first, second]) == [[3.0, 4.0], [5.0, 5.0]]


OPERATORS = {
    "x == [1, 3]": [True, False],
    "x != 1": [False, True],
    "x == None": False,
    "x[0] + x[-1]": 3,
    "[1, 2] + x": [2, 4],
    "np.array([1, 2], np.int32) * x": [1, 4],
    "-x % 3": [2, 1],
    "x / 2": [0.5, 1.0],
    "x[::-1]": [2, 1],
    "tf.stack([x[0], 5])": [1, 5],
}


@pytest.mark.parametrize(("call", "value"), cases(OPERATORS))
def test_operators_work_on_symbols(call, value):
    f = tf.function(lambda x: evaluate(call, x=x), autograph=False)
    assert values(f(tf.constant([1, 2]))) == value


def test_star_arguments():
    f = tf.function(lambda *args, **named: sum(args) + named["k"] - named["j"])
    assert values(f(tf.constant(1), tf.constant(2), k=tf.constant(3), j=tf.constant(4))) == 2
    assert values(f(tf.constant(1), j=tf.constant(4), k=tf.constant(3))) == 0


# --- what it gives -----------------------------------------------------------------------------------

RESULTS = {
    "nothing": (lambda x: None, None),
    "itself": (lambda x: x, 2.0),
    "twice": (lambda x: (x, x), (2.0, 2.0)),
    "dict": (
        lambda x: {"b": x + 1.0, "a": [x, (x * 2.0,)], "c": None},
        {"b": 3.0, "a": [2.0, (4.0,)], "c": None},
    ),
    "namedtuple": (lambda x: Point(x, -x), Point(2.0, -2.0)),
    "empty": (lambda x: [(), {}], [(), {}]),
    "numbers": (lambda x: (x, 3.5, True, 7, [1]), (2.0, 3.5, True, 7, [1])),
    "word": (lambda x: "s", b"s"),
    "array": (lambda x: np.array([1, 2]), [1, 2]),
    "constant": (lambda x: tf.constant([1, 2]), [1, 2]),
    "shape": (lambda x: x.shape.rank, 0),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_results_keep_their_structure(kind):
    compute, expected = RESULTS[kind]
    result = tf.function(compute)(tf.constant(2.0))
    if kind == "word":
        assert result.numpy() == expected
    else:
        assert values(result) == expected


def test_results_are_eager_tensors():
    x = tf.constant(3.0)
    result = tf.function(lambda x: x)(x)
    assert result is not x
    assert values(result + 1.0) == 4.0
    assert values(tf.function(lambda: x)()) == 3.0


def test_returned_variables_are_their_values():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v)
    read = f()
    v.assign(5.0)
    assert not isinstance(read, tf.Variable)
    assert values([read, f()]) == [3.0, 5.0]
    assert values(tf.function(lambda: v.assign_add(1.0))()) == 6.0


@pytest.mark.parametrize(
    "thing", [object(), tf.float32, abs], ids=["object", "dtype", "callable"]
)
def test_other_results_are_refused(thing):
    with pytest.raises(
        TypeError,
        match=r"^To be compatible with tf\.function, Python functions must return zero or more Tensors",
    ):
        tf.function(lambda: thing)()


@pytest.mark.parametrize("value", [tf.zeros, tf.ones], ids=["zeros", "ones"])
def test_empty_tensors_pass_through(value):
    f = tf.function(lambda x: (x + 1.0, tf.reduce_sum(x)))
    assert values(f(value([0, 3]))) == ([], 0.0)


def test_shapes_known_only_when_run():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def f(x):
        return tf.shape(x), tf.zeros([tf.shape(x)[1]]), tf.reshape(x, [-1])

    assert values(f(tf.ones([2, 3]))) == ([2, 3], [0.0] * 3, [1.0] * 6)
    assert values(f(tf.ones([0, 1]))) == ([0, 1], [0.0], [])


def test_strings_pass_through():
    assert tf.function(lambda x: x)(tf.constant(["a", "bc"])).numpy().tolist() == [b"a", b"bc"]


# --- what it captures --------------------------------------------------------------------------------


def test_captured_tensors_are_kept():
    scale = tf.constant([1.0, 2.0])
    f = tf.function(lambda x: x * scale)
    assert values(f(tf.constant(2.0))) == [2.0, 4.0]
    scale = tf.constant([5.0, 5.0])  # the trace has the tensor before
    assert values(f(tf.constant(2.0))) == [2.0, 4.0]


def test_captured_variables_are_read_anew():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v * 2.0)
    first = f()
    v.assign(10.0)
    assert values([first, f()]) == [6.0, 20.0]


def test_forgotten_variables_live_on():
    def plus(v):
        return tf.function(lambda: v + 1.0)

    f = plus(tf.Variable(3.0))
    f()
    gc.collect()
    assert values(f()) == 4.0


ORDERS = {
    "reads between writes": """
        a = v.read_value(); v.assign(5.0); b = v.read_value(); v.assign_add(1.0); c = v + 0.0
        result = (a, b, c)""",
    "write after read": """
        a = v + 1.0; v.assign(100.0)
        result = (a, v)""",
    "writes only": """
        v.assign(2.0); v.assign_add(3.0); v.assign_sub(1.0)
        result = ()""",
    "swap": """
        t = v.read_value(); v.assign(w); w.assign(t)
        result = (v, w)""",
    "loop": """
        for i in range(3):
            v.assign(v * 2.0)
        result = (v,)""",
    "chained": """
        result = (v.assign(w.assign_add(1.0)), w.assign(v.read_value() * 10.0))""",
    "own value": """
        v.assign_add(v); v.assign_sub(w); w.assign_add(v)
        result = (v, w)""",
}
ORDER_RESULTS = {
    "reads between writes": ((1.0, 5.0, 6.0), 6.0, 2.0),
    "write after read": ((2.0, 100.0), 100.0, 2.0),
    "writes only": ((), 4.0, 2.0),
    "swap": ((2.0, 1.0), 2.0, 1.0),
    "loop": ((8.0,), 8.0, 2.0),
    "chained": ((3.0, 30.0), 3.0, 30.0),
    "own value": ((0.0, 2.0), 0.0, 2.0),
}


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("name", ORDERS)
def test_writes_keep_the_programs_order(sim, place, name):
    sim("1xT4")
    program = "\n".join(line.removeprefix(" " * 8) for line in ORDERS[name].strip().split("\n"))

    def compute():
        names = {"tf": tf, "v": v, "w": w}
        exec(program, names)
        return names["result"]

    with tf.device(place):
        v, w = tf.Variable(1.0), tf.Variable(2.0)
        result = tf.function(compute)()
    assert (values(result), float(v), float(w)) == ORDER_RESULTS[name]


def test_results_survive_later_writes():
    v = tf.Variable([1.0, 2.0])
    x = tf.constant([5.0, 5.0])

    @tf.function
    def f(x):
        before = v.read_value()
        v.assign(x)
        v.assign_add([1.0, 1.0])
        return before, v.read_value(), x

    first = f(x)
    second = f(x)
    v.assign([9.0, 9.0])
    assert values(first) == ([1.0, 2.0], [6.0, 6.0], [5.0, 5.0])
    assert values(second) == ([6.0, 6.0], [6.0, 6.0], [5.0, 5.0])
    assert values(x) == [5.0, 5.0]


def test_variables_made_on_the_first_call():
    class Model:
        weight = None

    model = Model()

    @tf.function
    def f(x):
        if model.weight is None:
            model.weight = tf.Variable(1.0)
        model.weight.assign_add(x)
        return model.weight * 2.0

    assert values([f(tf.constant(1.0)), f(tf.constant(1.0))]) == [4.0, 6.0]
    assert model.weight.numpy() == 3.0


def test_variables_made_on_every_call():
    @tf.function
    def f(x):
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError) as raised:  # noqa: PT011
        f(tf.constant(1.0))
    assert first_line(raised.value) == (
        "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables for more information."
    )


def test_init_scope_leaves_the_function():
    @tf.function
    def f(x):
        with tf.init_scope():
            scale, is_eager = tf.constant(2.0), tf.executing_eagerly()
        return x * scale, is_eager

    assert values(f(tf.constant(3.0))) == (6.0, True)


# --- functions, methods, objects ----------------------------------------------------------------------


def test_functions_call_functions():
    inner, traces = counted()
    double = tf.function(lambda x: x * 2.0)

    @tf.function
    def outer(x):
        inner(x)
        inner(x + 1.0)
        return double(x) + double(double(x))

    assert values(outer(tf.constant(3.0))) == 18.0
    inner(tf.constant(3.0))
    assert len(traces) == 1


def test_nested_functions_write_in_order():
    v = tf.Variable(2.0)

    @tf.function
    def inner():
        v.assign_add(1.0)
        return v * v

    @tf.function
    def outer():
        first = inner()
        v.assign_add(10.0)
        return first, inner(), v.read_value()

    assert values(outer()) == (9.0, 196.0, 14.0)
    assert v.numpy() == 14.0


def test_methods_trace_for_each_instance():
    class Scale:
        def __init__(self, by):
            self.by, self.n_traces = by, 0

        @tf.function
        def apply(self, x):
            self.n_traces += 1
            return x * self.by

    two, three, one = Scale(2.0), Scale(3.0), tf.constant(1.0)
    results = [two.apply(one), three.apply(one), two.apply(one), three.apply(one)]
    assert values(results) == [2.0, 3.0, 2.0, 3.0]
    assert (two.n_traces, three.n_traces) == (1, 1)
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_methods_with_variables_and_signature():
    class Counter:
        def __init__(self):
            self.total = tf.Variable(0.0)

        @tf.function(input_signature=[FLOAT])
        def add(self, x):
            return self.total.assign_add(x)

    first, second = Counter(), Counter()
    first.add(1)
    first.add(tf.constant(1.0))
    second.add(5)
    assert values([first.total, second.total]) == [2.0, 5.0]


def test_static_and_class_methods():
    class Functions:
        @staticmethod
        @tf.function
        def double(x):
            return x * 2

        @classmethod
        @tf.function
        def triple(cls, x):
            return x * 3

    one = tf.constant(1)
    assert values([Functions.double(one), Functions().double(one), Functions.triple(one)]) == [
        2,
        2,
        3,
    ]


def test_other_callables():
    class Double:
        def __call__(self, x):
            return x * 2

    assert values(tf.function(Double())(tf.constant(2))) == 4
    minus_one = functools.partial(lambda a, b: a - b, b=tf.constant(1))
    assert values(tf.function(minus_one)(tf.constant(2))) == 1
    assert values(tf.function(abs)(tf.constant(-2))) == 2


def test_functions_keep_their_face():
    @tf.function
    def named(x):
        """Say something."""
        return x * 2

    assert (named.__name__, named.__doc__) == ("named", "Say something.")
    assert named.python_function(3) == 6
    assert named.__wrapped__(3) == 6


# --- concrete functions --------------------------------------------------------------------------------


def test_concrete_functions_take_specs():
    f, traces = counted()
    concrete = f.get_concrete_function(VECTOR)
    assert values(concrete(tf.constant([1.0, 2.0]))) == 0
    assert values(concrete(tf.constant([1.0]))) == 0
    assert len(traces) == 1
    assert traces[0].shape.as_list() == [None]


def test_concrete_functions_are_shared():
    f = tf.function(lambda x: x * 2.0)
    concrete = f.get_concrete_function(tf.constant(1.0))
    f(tf.constant(5.0))
    assert f.get_concrete_function(tf.constant(2.0)) is concrete
    assert f.experimental_get_tracing_count() == 1
    assert values(concrete(tf.constant(4.0))) == 8.0
    assert values(concrete(x=tf.constant(4.0))) == 8.0


def test_concrete_functions_bind_python_values():
    f = tf.function(lambda x, y: x * y)
    concrete = f.get_concrete_function(FLOAT, 3)
    assert values(concrete(tf.constant(2.0))) == 6.0
    with pytest.raises(TypeError):
        concrete(tf.constant(2.0), 4)
    with pytest.raises(TypeError):
        concrete()


def test_concrete_functions_know_their_tensors():
    f = tf.function(lambda x: {"r": x * 2.0})
    concrete = f.get_concrete_function(VECTOR)
    assert [x.shape.as_list() for x in concrete.inputs] == [[None]]
    assert [y.dtype for y in concrete.outputs] == [tf.float32]
    assert list(concrete.structured_outputs) == ["r"]


def test_concrete_functions_take_names_in_any_order():
    f = tf.function(lambda x, y, z=2.0: x - y * z)
    concrete = f.get_concrete_function(FLOAT, FLOAT)
    one, three = tf.constant(1.0), tf.constant(3.0)
    assert values(concrete(y=one, x=three)) == 1.0
    assert values(concrete(three, y=one)) == 1.0
    assert values(concrete(three, one, 2.0)) == 1.0
    with pytest.raises(TypeError, match=r"Can not cast 5\.0 to Literal\[2\.0\]"):
        concrete(three, one, 5.0)


def test_signed_functions_need_no_arguments():
    f = tf.function(lambda x: x * 2.0, input_signature=[VECTOR])
    assert values(f.get_concrete_function()(tf.constant([1.0]))) == [2.0]


def test_concrete_functions_check_dtypes():
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(FLOAT)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="was expected to be a float tensor but is a int32 tensor",
    ):
        concrete(tf.constant(1))


def test_concrete_functions_know_their_variables():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w", trainable=False)
    concrete = tf.function(lambda x: x * v * w).get_concrete_function(FLOAT)
    assert sorted(variable.name for variable in concrete.variables) == ["v:0", "w:0"]
    assert [variable.name for variable in concrete.trainable_variables] == ["v:0"]


def test_concrete_functions_know_their_arguments():
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(VECTOR)
    arguments, named = concrete.structured_input_signature
    assert (arguments[0].shape.as_list(), arguments[0].dtype, named) == ([None], tf.float32, {})
    f = tf.function(lambda d, n, *, k: d["a"])
    concrete = f.get_concrete_function({"a": FLOAT, "b": [VECTOR, 2]}, 7, k=FLOAT)
    assert repr(concrete.structured_input_signature) == (
        "(({'a': TensorSpec(shape=(), dtype=tf.float32, name='d_a'), 'b': "
        "[TensorSpec(shape=(None,), dtype=tf.float32, name='d_b_0'), 2]}, 7), "
        "{'k': TensorSpec(shape=(), dtype=tf.float32, name='k')})"
    )


# --- symbols have no values ------------------------------------------------------------------------------

PYTHON = {
    "if": "1 if x > 0 else 2",
    "and": "x and x",
    "not": "not x",
    "bool": "bool(x)",
    "any": "any([x])",
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_decisions_need_values(name):
    f = tf.function(lambda x: evaluate(PYTHON[name], x=x), autograph=False)
    with pytest.raises(
        TypeError, match=r"^Using a symbolic `tf\.Tensor` as a Python `bool` is not allowed"
    ) as raised:
        f(tf.constant(1))
    assert type(raised.value).__name__ == "OperatorNotAllowedInGraphError"


def test_decisions_are_told_of_cond():
    # TensorFlow would rewrite the Python code, or point to where it explains that.
    @tf.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(TypeError, match=r"tf\.cond"):
        f(tf.constant(1))


NO_VALUES = {
    "int(x)": TypeError,
    "float(x)": TypeError,
    "[1, 2, 3][x]": TypeError,
    "range(x)": TypeError,
    "np.array(x)": NotImplementedError,
    "hash(x)": Differs(TypeError, "symbols are keys in the tables of the runtime"),
    "len(x)": Differs(TypeError, "without AutoGraph, a known length is given while tracing"),
    "list(x)": Differs(
        TypeError, "without AutoGraph, a known number of parts is unrolled while tracing"
    ),
    "x.numpy()": AttributeError,
}


@pytest.mark.parametrize(("call", "kind"), cases(NO_VALUES))
def test_symbols_have_no_python_value(call, kind):
    f = tf.function(lambda x: evaluate(call, x=x), autograph=False)
    with pytest.raises(kind):
        f(tf.constant([1, 2]))


def test_symbols_cannot_leave():
    leaked = []

    @tf.function
    def f(x):
        leaked.append(x * 2.0)
        return x

    f(tf.constant(1.0))
    with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
        leaked[0] + 1.0


def test_symbols_cannot_enter_another_function():
    leaked = []
    tf.function(lambda x: leaked.append(x * 2.0))(tf.constant(1.0))
    with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
        tf.function(lambda x: leaked[0] + x)(tf.constant(1.0))


def test_errors_of_tracing_are_value_errors():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2 for "):
        tf.function(lambda x: tf.matmul(x, x))(tf.zeros([2, 3]))


RUN_ERRORS = {
    "matmul": (
        lambda x: tf.matmul(x, x),
        [2, 3],
        r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]",
    ),
    "reshape": (
        lambda x: tf.reshape(x, [3]),
        [4],
        "Input to reshape is a tensor with 4 values, but the requested shape has 3",
    ),
    "gather": (lambda x: tf.gather(x, 7), [3], r"indices = 7 is not in \[0, 3\)"),
}


@pytest.mark.parametrize("name", RUN_ERRORS)
def test_errors_of_running_name_the_node(name):
    compute, shape, message = RUN_ERRORS[name]
    f = tf.function(compute, input_signature=[tf.TensorSpec(None, tf.float32)])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
        f(tf.zeros(shape))
    assert "node " in str(raised.value)


# --- gradients -------------------------------------------------------------------------------------------


def test_tapes_outside():
    v = tf.Variable(3.0)
    f = tf.function(lambda x: x * v * v)
    x = tf.constant(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
            z = y * 2.0
        assert values(tape.gradient(z, [x, v])) == [18.0, 24.0]


def test_tapes_inside():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * v * v
        return tape.gradient(y, [x, v])

    assert values(f(tf.constant(2.0))) == [9.0, 12.0]


def test_tapes_inside_give_none():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            y = x * x
        return tape.gradient(y, x)

    assert f(tf.constant(2.0)) is None


def test_tapes_inside_and_outside():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = slope(x)
    assert values([y, tape.gradient(y, x)]) == [12.0, 12.0]


def test_higher_orders_through_functions():
    f = tf.function(lambda x: x**4)
    x = tf.constant(2.0)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            g = first.gradient(y, x)
        h = second.gradient(g, x)
    assert values([g, h, third.gradient(h, x)]) == [32.0, 48.0, 48.0]


def test_higher_orders_inside_functions():
    v = tf.Variable(3.0)

    @tf.function
    def f():
        with tf.GradientTape() as second:
            with tf.GradientTape() as first:
                y = v**3
            g = first.gradient(y, v)
        return g, second.gradient(g, v)

    assert values(f()) == (27.0, 18.0)


def test_gradients_through_nested_functions():
    g = tf.function(lambda x: x * x)
    f = tf.function(lambda x: g(g(x)))
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert values([y, tape.gradient(y, x)]) == [16.0, 32.0]


def test_gradients_of_captured_tensors():
    scale, x = tf.constant(3.0), tf.constant(2.0)
    f = tf.function(lambda x: x * scale * scale)
    with tf.GradientTape() as tape:
        tape.watch([scale, x])
        y = f(x)
    assert values(tape.gradient(y, [scale, x])) == [12.0, 9.0]


def test_gradients_of_several_results():
    f = tf.function(lambda x: {"a": x * x, "b": x * 3.0})
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        d = f(x)
    assert values([tape.gradient(d["a"], x), tape.gradient(d["b"], x)]) == [4.0, 3.0]
    assert values(tape.gradient([d["a"], d["b"]], x)) == 7.0


def test_unused_arguments_have_no_gradient():
    f = tf.function(lambda a, b: a * 2.0)
    a, b = tf.constant(1.0), tf.constant([1.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = f(a, b)
    assert values(tape.gradient(y, [a, b])) == [2.0, None]
    assert values(tape.gradient(y, [a, b], unconnected_gradients="zero")) == [2.0, [0.0, 0.0]]


@pytest.mark.parametrize("size", [1, 3, 0])
def test_gradients_of_unknown_shapes(size):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x):
        return tf.reduce_sum(x * x, 0)

    x = tf.ones([size, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert values(tape.gradient(y, x)) == [[2.0, 2.0]] * size


def test_jacobians_and_functions():
    f = tf.function(lambda x: x * x)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert values(tape.jacobian(y, x)) == [[2.0, 0.0], [0.0, 4.0]]

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.jacobian(y, x)

    assert values(inside(x)) == [[2.0, 0.0], [0.0, 4.0]]


def test_gradients_see_the_values_of_the_call():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v * v)
    with tf.GradientTape() as tape:
        y = f()
        v.assign(100.0)
    assert values(tape.gradient(y, v)) == 6.0


def test_gradients_after_writes():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        v.assign_add(1.0)
        return v * v

    with tf.GradientTape() as tape:
        y = f()
        z = y + v * v
    assert values(tape.gradient(z, v)) == 8.0


def test_sparse_gradients_leave_functions():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function
    def f(rows):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, rows))
        return tape.gradient(y, table)

    gradient = f(tf.constant([0, 2, 0]))
    assert isinstance(gradient, tf.IndexedSlices)
    assert values(gradient.indices) == [0, 2, 0]


def test_sparse_gradients_pass_through_functions():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    f = tf.function(lambda rows: tf.reduce_sum(tf.gather(table, rows)))
    with tf.GradientTape() as tape:
        y = f(tf.constant([0, 2, 0]))
    assert isinstance(tape.gradient(y, table), tf.IndexedSlices)


def test_training_steps_are_functions():
    v = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = (v - 5.0) ** 2
        v.assign_sub(0.1 * tape.gradient(loss, v))
        return loss

    losses = [float(step()) for _ in range(4)]
    np.testing.assert_allclose(losses, [9.0, 5.76, 3.6864, 2.359296], rtol=1e-6)
    np.testing.assert_allclose(float(v), 3.7712, rtol=1e-6)


def test_numpy_functions_run_every_time():
    runs = []

    def double(array):
        runs.append(array)
        return array + array  # times 2 would be a float64 in NumPy 1

    f = tf.function(lambda x: tf.numpy_function(double, [x], tf.float32))
    assert values([f(tf.constant(1.0)), f(tf.constant(2.0))]) == [2.0, 4.0]
    assert len(runs) == 2


# --- threads ---------------------------------------------------------------------------------------------


def in_threads(work, n_threads=4):
    """Run it in several threads at once; raise the first error of any."""
    errors = []

    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_one_trace():
    v = tf.Variable(0)
    f = tf.function(lambda: v.assign_add(1))

    def work():
        for _ in range(25):
            f()

    in_threads(work)
    assert v.numpy() == 100
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
def test_threads_get_their_own_results(sim, place):
    sim("1xT4")
    wrong = []
    with tf.device(place):
        f = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * 0.0 + x * x))
        f(tf.zeros([64]))

    def work():
        with tf.device(place):
            for number in range(20):
                result = float(f(tf.fill([64], float(number))))
                if result != 64.0 * number * number:
                    wrong.append((number, result))

    in_threads(work)
    assert wrong == []


def test_threads_differentiate_apart():
    v = tf.Variable(3.0)
    f = tf.function(lambda x: x * v * v)
    wrong = []

    def work():
        for number in range(10):
            with tf.GradientTape() as tape:
                y = f(tf.constant(float(number)))
            gradient = float(tape.gradient(y, v))
            if gradient != 6.0 * number:
                wrong.append((number, gradient))

    in_threads(work)
    assert wrong == []


# --- devices and memory ------------------------------------------------------------------------------------


def test_functions_run_where_called(sim):
    sim("2xT4")
    f = tf.function(lambda x: x + 1.0)
    assert f(tf.constant(1.0)).device == GPU_0
    with tf.device("/gpu:1"):
        assert f(tf.constant(1.0)).device == GPU_1
    with tf.device("/cpu:0"):
        assert f(tf.constant(1.0)).device == CPU_0


def test_devices_share_one_trace(sim):
    sim("2xT4")
    f = tf.function(lambda x: x + 1.0)
    for place in ("/gpu:0", "/gpu:1", "/cpu:0"):
        with tf.device(place):
            f(tf.constant(1.0))
    assert f.experimental_get_tracing_count() == 1


def test_devices_reach_the_bodies_of_conditions(sim):
    sim("2xT4")
    f = tf.function(
        lambda x: tf.cond(
            x > 0.0, lambda: tf.reduce_sum(tf.fill([1 << 18], x) + 1.0), lambda: x
        )
    )
    assert values(f(tf.constant(1.0))) == 2.0 * (1 << 18)
    with tf.device("/gpu:1"):
        before = tf.config.experimental.get_memory_info("GPU:1")["peak"]
        assert values(f(tf.constant(1.0))) == 2.0 * (1 << 18)
        assert values(f(tf.constant(-1.0))) == -1.0
    assert tf.config.experimental.get_memory_info("GPU:1")["peak"] >= before + (1 << 20)


def test_placed_functions_differentiate(sim):
    sim("2xT4")
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda x: tf.reduce_sum(tf.gather(v, [1, 1]) * x))
    for place in ("/gpu:1", "/cpu:0"):
        with tf.device(place), tf.GradientTape() as tape:
            y = f(tf.constant(3.0))
        gradient = tape.gradient(y, v)
        assert isinstance(gradient, tf.IndexedSlices)
        assert values(gradient.values) == [3.0, 3.0]
    assert f.experimental_get_tracing_count() == 1


def test_tensors_of_several_devices_mix(sim):
    sim("2xT4")
    with tf.device("/gpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/gpu:1"):
        b = tf.constant([10.0, 20.0])
        v = tf.Variable([100.0, 200.0])
    with tf.device("/cpu:0"):
        c = tf.constant([1000.0, 2000.0])
    f = tf.function(lambda x, y: x + y + v + c)
    assert values(f(a, b)) == [1111.0, 2222.0]
    assert values(f(b, a)) == [1111.0, 2222.0]
    assert f.experimental_get_tracing_count() == 1


def test_device_blocks_inside_functions(sim):
    sim("2xT4")
    devices = []

    @tf.function
    def f(x):
        with tf.device("/gpu:1"):
            y = x + 1.0
            with tf.device("/cpu:0"):
                z = y + 1.0
        devices.extend([x.device, y.device, z.device])
        return tf.reduce_sum(z)

    assert values(f(tf.ones([1 << 18]))) == 3.0 * (1 << 18)
    assert devices == ["", "/device:GPU:1", "/device:CPU:0"]
    peak = tf.config.experimental.get_memory_info("GPU:1")["peak"]
    assert peak >= 1 << 20  # y was there


def test_device_blocks_inside_graphs():
    with tf.Graph().as_default(), tf.device("/gpu:1"):
        assert tf.zeros([2]).device == "/device:GPU:1"
        with tf.device(None):
            assert tf.zeros([2]).device == ""


def test_missing_devices_without_soft_placement(sim):
    sim()
    tf.config.set_soft_device_placement(False)

    @tf.function
    def f(x):
        with tf.device("/gpu:0"):
            return x + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        f(tf.constant(1.0))
    assert first_line(raised.value).startswith(
        "Unable to find any devices for spec /device:GPU:0 [Op:__inference_f_"
    )


def test_missing_devices_around_functions(sim):
    sim()
    tf.config.set_soft_device_placement(False)
    f = tf.function(lambda x: x + 1.0)
    x = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised, tf.device("/gpu:0"):
        f(x)
    assert first_line(raised.value).startswith(
        "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. Supported device types [CPU]."
    )
    assert values(f(x)) == 2.0


def test_missing_devices_with_soft_placement(sim):
    sim()

    @tf.function
    def f(x):
        with tf.device("/gpu:0"):
            return x + 1.0

    assert f(tf.constant(1.0)).device == CPU_0


def test_variables_of_several_gpus_are_written(sim):
    sim("2xT4")
    weights = []
    for index in (0, 1):
        with tf.device(f"/gpu:{index}"):
            weights.append(tf.Variable([1.0, 2.0]))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(weight * weight) for weight in weights])
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.5 * gradient)
        return loss

    assert [float(step()), float(step())] == [10.0, 0.0]
    assert [weight.device for weight in weights] == [GPU_0, GPU_1]
    assert values(weights) == [[0.0, 0.0], [0.0, 0.0]]


def test_calls_do_not_gather_memory(sim):
    sim("1xT4")
    v = tf.Variable(tf.ones([1 << 16]))
    f = tf.function(lambda x: tf.sin(x * v) + x)
    y = f(tf.ones([1 << 16]))
    before = in_use()
    for _ in range(10):
        y = f(y)
    assert in_use() == before


@pytest.mark.xfail(strict=True, reason="a function keeps the workspace of its calls")
def test_calls_give_their_memory_back(sim):
    sim("1xT4")
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x * x) + x))
    x = tf.ones([1 << 18])
    before = in_use()
    f(x)
    assert in_use() == before


def test_forgotten_functions_leave_no_memory(sim):
    sim("1xT4")
    tf.ones([1])
    before = in_use()

    def train():
        v = tf.Variable(tf.ones([1 << 16]))
        f = tf.function(lambda x: tf.sin(x * v) + x)
        with tf.GradientTape() as tape:
            y = f(tf.ones([1 << 16]))
        gradient = tape.gradient(y, v)
        assert in_use() > before
        return gradient.shape

    assert train() == [1 << 16]
    gc.collect()
    assert in_use() == before


def test_running_out_of_memory_is_survived(sim):
    sim("1xT4")
    f = tf.function(lambda x: tf.reduce_sum(x[:, None] * x))
    before = in_use()
    with pytest.raises(
        tf.errors.ResourceExhaustedError,
        match=r"^OOM when allocating tensor with shape\[262144,262144\] and type float on .*GPU:0 by allocator GPU_0_bfc",
    ):
        f(tf.ones([1 << 18]))
    gc.collect()
    assert in_use() == before
    assert values(f(tf.ones([4]))) == 16.0
