"""Conversion by AutoGraph: lines, closures, what is left alone, what goes beyond TensorFlow."""

from __future__ import annotations

import linecache
import logging
import threading
import traceback

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")


def traced(function, *arguments):
    return tf.function(function)(*map(tf.constant, arguments)).numpy().tolist()


def test_errors_name_the_user_s_line():
    def failing(x):
        if x > 0:  # noqa: SIM108
            y = tf.constant([1, 2]) + tf.constant([1, 2, 3])  # this line
        else:
            y = x
        return y

    with pytest.raises(ValueError, match="must be equal") as raised:
        tf.function(failing)(tf.constant(1))
    frames = traceback.extract_tb(raised.value.__traceback__)
    lines = [(f.name, f.line) for f in frames if f.filename == __file__]
    assert lines[-1][0] == "failing"
    assert lines[-1][1].endswith("# this line")


def test_operations_have_the_user_s_line():
    def looped(x):
        while x < 10:
            x = x * 2  # this line
        return x

    graph = tf.function(looped).get_concrete_function(tf.TensorSpec([], tf.int32)).graph
    [loop] = [op for op in graph.ops if op.definition.is_call]
    body = loop.attrs["subgraphs"][-1].graph
    [product] = [op for op in body.ops if op.type == "Mul"]
    assert linecache.getline(product.where.file, product.where.line).endswith("# this line\n")


def test_methods_have_private_names():
    class Scale:
        def __init__(self, k):
            self.__k = k

        def __scaled(self, x):
            return x * self.__k if x > 0 else x

        def method(self, x):
            for _ in tf.range(2):
                x = self.__scaled(x)
            return x

    assert [traced(Scale(3).method, x) for x in (2, -2)] == [18, -2]


def test_closures_are_shared():
    total = 0

    def add(x):
        nonlocal total
        total += 1
        return x if x > 0 else -x

    assert traced(add, -3) == 3
    assert total == 1


def returned_in_loop(x):
    for i in tf.range(x):
        if i == 3:
            return i * 100
    return x


def returned_in_while(x):
    while x > 0:
        x -= 1
        if x == 2:
            return x * 10
    return x


def while_else(x):
    while x > 3:
        x -= 1
        if x == 5:
            break
    else:
        x -= 100
    return x


def walrus(x):
    if (y := x + 1) > 4:
        return y
    return -y


def matched(x):
    match "b":
        case "a":
            y = 1
        case "b" if x is not None:
            y = x if x > 3 else 0
        case _:
            y = 2
    return y


def returned_in_try(x):
    log = []
    try:
        if x > 3:
            return x
    finally:
        log.append(1)
    return x - len(log)


def starred(x):
    first, *others = [x, 1, 2]
    if x > 3:
        first, *others = [x * 2, 5, 6]
    return first + others[0] + others[1]


@pytest.mark.parametrize(
    ("function", "results"),
    [
        (returned_in_loop, {2: 2, 5: 300}),
        (returned_in_while, {2: 0, 5: 20}),
        (while_else, {4: -97, 8: 5}),
        (walrus, {1: -2, 5: 6}),
        (matched, {1: 0, 5: 5}),
        (returned_in_try, {1: 0, 5: 5}),
        (starred, {1: 4, 5: 21}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_tensorflow_cannot_convert(function, results):
    for argument, expected in results.items():
        assert function(argument) == expected  # Python itself
        assert traced(function, argument) == expected


def test_lambdas_on_one_line():
    both = (lambda x: x if x > 0 else -x), (lambda x: x if x > 1 else 7)
    assert [traced(each, -3) for each in both] == [3, 7]


def test_do_not_convert():
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: plain(x) + 1)(tf.constant(1))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(plain.__wrapped__, autograph=False)(tf.constant(1))


def test_missing_source_is_said_once(caplog):
    namespace = {"__name__": "typed"}
    exec("def typed(x):\n    return x + 1\n", namespace)
    typed = namespace["typed"]
    with caplog.at_level(logging.WARNING, "tensorflow"):
        assert traced(typed, 1) == 2
        assert traced(typed, 2) == 3
    [record] = caplog.records
    assert record.getMessage() == (
        f"AutoGraph could not transform {typed!r} and will run it as-is.\nCause: Unable to locate "
        f"the source code of {typed!r}. Note that functions defined in certain environments, like "
        "the interactive Python shell, do not expose their source code. If that is the case, you "
        "should define them in a .py source file. If you are certain the code is graph-compatible, "
        "wrap the call using @tf.autograph.experimental.do_not_convert. Original error: could not "
        "get source code\nTo silence this warning, decorate the function with "
        "@tf.autograph.experimental.do_not_convert"
    )


def test_features():
    features = tf.autograph.experimental.Feature

    @tf.function(experimental_autograph_options=features.ASSERT_STATEMENTS)
    def checked(x):
        assert x > 0, "positive"
        return x

    assert checked(tf.constant(1)).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[positive\]"):
        checked(tf.constant(-1))


def test_to_code_and_to_graph():
    def sign(x):
        if x > 0:
            return 1
        return -1

    assert "ag__.if_stmt(x > 0, " in tf.autograph.to_code(sign)
    assert tf.autograph.to_graph(sign)(tf.constant(-4)) == -1
    with pytest.raises(Exception, match=r"try passing f\.python_function instead"):
        tf.autograph.to_graph(tf.function(sign))


def test_effects_in_branches_and_loops():
    v = tf.Variable(1)

    @tf.function
    def step(n):
        for i in tf.range(n):
            if i % 2 == 0:
                v.assign_add(i)
            else:
                v.assign(v * 2)
        return v.read_value()

    assert step(tf.constant(5)).numpy() == 12
    assert v.numpy() == 12


def test_threads_convert_at_once():
    def absolute(x):
        return x if x > 0 else -x

    results = []
    threads = [
        threading.Thread(target=lambda: results.append(traced(absolute, -5))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [5] * 8
