"""Programs for AutoGraph, each with arguments: traced by berth here, and by TensorFlow.

The text is executed with ``tf`` and ``program`` by `tests.autograph.running.load`.
"""
# ruff: noqa - code as users write it, which is what is tested

import functools

# --- conditionals


@program(3, -2)
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@program(3, -2, 0)
def elif_chain(x):
    if x > 0:
        y = 1
    elif x < 0:
        y = -1
    else:
        y = 0
    return y


@program(3, -2)
def early_return(x):
    if x > 0:
        return x
    return -x


@program(3, 30, -1)
def early_returns(x):
    if x > 10:
        return x - 10
    if x > 0:
        y = x * 2
        return y
    return x * 100


@program(3, -2)
def temporary_in_one_branch(x):
    if x > 0:
        t = x + 1
        y = t * t
    else:
        y = x
    return y


@program(3, -2)
def nested_conditionals(x):
    y = 0
    if x > 0:
        if x > 2:
            y = 2
        else:
            y = 1
    return y + x


@program(3, -2)
def structures(x):
    if x > 0:
        y = {"a": x, "b": [x, 1]}
    else:
        y = {"a": x * 2, "b": [7, x]}
    return y["a"] + y["b"][0] * 10 + y["b"][1] * 100


@program(3, -2)
def conditional_expression(x):
    return x * 2 if x > 0 else x - 10


@program(3, -2, 7)
def logic(x):
    return (x > 0 and x < 5) or not x != 7


@program(3, -2, 7)
def chained_comparison(x):
    return 0 < x < 5


@program(3, 6)
def none_or_tensor(x):
    if x is None or x > 5:
        return x
    return x + 1


@program(3, -2)
def attribute_in_branches(x):
    class Box:
        pass

    box = Box()
    if x > 0:
        box.v = x
    else:
        box.v = 7
    return box.v


@program(3, -2)
def attribute_in_one_branch(x):
    class Box:
        pass

    box = Box()
    if x > 0:
        box.v = x
    return box.v


@program(3, -2)
def items_in_branches(x):
    a, d = [1, 2], {}
    if x > 0:
        a[0] = x
        d["k"] = x * 3
    else:
        a[0] += 4
        d["k"] = 1
    return a[0] + d["k"]


@program(3)
def item_in_one_branch(x):
    d = {}
    if x > 0:
        d["k"] = x
    return d["k"]


@program(3)
def defined_on_one_side(x):
    if x > 0:
        y = 1
    return y


@program(3)
def none_on_one_side(x):
    if x > 0:
        y = x
    else:
        y = None
    return y


@program(3)
def none_on_both_sides(x):
    y = 1
    if x > 0:
        y = None
    else:
        y = None
    return x if y is None else y


@program(3)
def dtypes_differ(x):
    if x > 0:
        y = x
    else:
        y = tf.cast(x, tf.float32)
    return y


@program(3)
def python_types_differ(x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


@program(3)
def return_on_one_side(x):
    if x > 0:
        return x


@program(3)
def none_returned_on_one_side(x):
    if x > 0:
        return x
    else:
        return None


@program(3)
def returned_dtypes_differ(x):
    if x > 0:
        return x
    return tf.cast(x, tf.float32)


@program(3)
def expression_dtypes_differ(x):
    return 1 if x > 0 else 2.0


@program(3)
def expression_is_none(x):
    return x if x > 0 else None


@program(3)
def condition_is_no_bool(x):
    if x:
        return 1
    return 2


@program(3)
def condition_is_no_scalar(x):
    if tf.stack([x, x]) > 0:
        return x
    return x


@program(3)
def not_of_a_number(x):
    return not x


@program(3)
def and_of_other_types(x):
    return x and True


@program(3)
def raised_in_a_branch(x):
    if x > 0:
        raise ValueError("bad")
    return x


@program(3)
def assert_is_no_operation(x):
    assert x > 0, "positive"
    return x


# --- while


@program(5, -1)
def while_loop(x):
    s = 0
    while x > 0:
        s += x
        x -= 1
    return s


@program(9)
def while_with_break_and_continue(x):
    s = 0
    while x > 0:
        x -= 1
        if x == 7:
            continue
        if x == 2:
            break
        s += x
    return s * 100 + x


@program(4)
def nested_loops(x):
    s = 0
    i = 0
    while i < x:
        j = 0
        while j < i:
            if (i + j) % 3 == 0:
                break
            s += j
            j += 1
        i += 1
    return s


@program(3)
def defined_in_the_loop(x):
    while x > 0:
        x -= 1
        y = x * 2
    return y


@program(-3)
def defined_in_a_loop_that_does_not_run(x):
    while x > 0:
        x -= 1
        y = x * 2
    return y


@program(3)
def none_before_the_loop(x):
    y = None
    while x > 0:
        x -= 1
        y = x + 5
    return y


@program(3)
def none_throughout_the_loop(x):
    y = None
    while x > 0:
        x -= 1
        y = None
    return y


@program(3)
def read_before_it_is_defined(x):
    while x > 0:
        x -= 1
        y = y + 1
    return y


@program(3)
def dtype_changes_in_loop(x):
    while x > 0:
        x = tf.cast(x - 1, tf.float32)
    return x


@program(3)
def python_type_changes_in_loop(x):
    y = 1
    while x > 0:
        x -= 1
        y = 2.5
    return y


@program(3)
def shape_changes_in_loop(x):
    y = tf.constant([1])
    while x > 0:
        x -= 1
        y = tf.concat([y, [1]], 0)
    return y


@program(3)
def structure_changes_in_loop(x):
    y = (x, x)
    while x > 0:
        x -= 1
        y = x
    return y


@program(3)
def list_grows_in_loop(x):
    y = [x]
    while x > 0:
        x -= 1
        y = y + [x]
    return y


@program(3)
def condition_of_loop_is_no_bool(x):
    while x:
        x -= 1
    return x


@program(3)
def condition_of_loop_is_no_scalar(x):
    while tf.constant([True, False]):
        x -= 1
    return x


@program(3)
def condition_becomes_a_tensor(x):
    while True:
        x -= 1
        if x < 0:
            break
    return x


@program(3)
def python_while(x):
    i = 0
    while i < 4:
        i += 1
        if i == 2:
            continue
        x += i
        if i == 3:
            break
    return x * 10 + i


@program(3)
def object_in_loop(x):
    y = object()
    while x > 0:
        x -= 1
        y = object()
    return x


@program(4)
def attribute_in_loop(x):
    class Box:
        pass

    box = Box()
    box.v = x
    while box.v > 1:
        box.v -= 1
    return box.v


@program(4)
def tuple_in_loop(x):
    a, b = 0, 1
    while x > 0:
        a, b = b, a + b
        x -= 1
    return a


@program(10)
def loop_options(x):
    v = tf.constant([1])
    while x > 0:
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(v, tf.TensorShape([None]))], maximum_iterations=3
        )
        v = tf.concat([v, [x]], 0)
        x -= 1
    return tf.reduce_sum(v) * 10 + tf.size(v)


# --- for


@program(5, 0)
def for_range(x):
    s = 0
    for i in tf.range(x):
        s += i
    return s


@program(5)
def for_python_range_of_tensor(x):
    s = 0
    for i in range(1, x, 2):
        s += i
    return s


@program(3)
def for_python_range(x):
    for i in range(3):
        if i == 1:
            continue
        x += i
    return x


@program(7)
def for_with_break_and_continue(x):
    s = 0
    for i in tf.range(x):
        if i == 2:
            continue
        if i == 5:
            break
        s += i
    return s


@program(3)
def for_tensor(x):
    s = 0
    for row in tf.stack([[x, 1], [x, 2]]):
        for e in row:
            s = s * 3 + e
    return s


@program(3)
def target_after_the_loop(x):
    for i in tf.range(x):
        pass
    return i


@program(3)
def for_pairs(x):
    s = 0
    for a, b in [(x, 1), (2, x)]:
        s += a * b
    return s


@program(5)
def for_dataset(x):
    s = 0
    for e in tf.data.Dataset.range(5):
        if e == 3:
            break
        s += tf.cast(e, tf.int32) * x
    return s


@program(5)
def for_iterator_and_next(x):
    s = 0
    it = iter(tf.data.Dataset.range(9))
    for e in it:
        s += tf.cast(e, tf.int32)
        if e == 2:
            break
    return s + tf.cast(next(it), tf.int32) * 100


@program(5)
def for_enumerated_dataset(x):
    s = 0
    for i, e in enumerate(tf.data.Dataset.range(5)):
        s += tf.cast(i * e, tf.int32)
    return s


@program(5)
def for_zipped_datasets(x):
    s = 0
    for a, b in zip(tf.data.Dataset.range(5), tf.data.Dataset.range(3)):
        s += tf.cast(a * b, tf.int32)
    return s


@program(3)
def dataset_functions(x):
    data = tf.data.Dataset.range(6).map(lambda e: e if e > 2 else e * 10)
    return data.filter(lambda e: e > 3 and e < 30).reduce(tf.constant(0, tf.int64), max_of)


def max_of(a, b):
    if a > b:
        return a
    return b


@program(1)
def break_in_python_for(x):
    for i in range(3):
        if x > i:
            break
    return i


# --- calls


def absolute(x):
    if x > 0:
        return x
    return -x


class Scale:
    """A callable object with methods."""

    def __init__(self, k):
        self._k = k

    def method(self, x):
        if x > 0:
            return x * self._k
        return x

    def __call__(self, x):
        return x if x > 0 else self.method(-x)

    @classmethod
    def of_class(cls, x):
        return cls(2).method(x) if x > 0 else x

    @staticmethod
    def static(x):
        return 1 if x > 0 else 2


class Doubled(Scale):
    """Calls its parent's method."""

    def method(self, x):
        y = super().method(x)
        if y > 6:
            y = y * 2 + super().method(x)
        return y


@program(3, -2)
def calls(x):
    scale = Scale(3)
    return absolute(x) + scale(x) * 10 + Scale.of_class(x) * 100 + Scale.static(x) * 1000


@program(3, -2)
def inherited_method(x):
    return Doubled(3).method(x)


class Private:
    """Has a name of its own."""

    def __init__(self, k):
        self.__k = k

    def method(self, x):
        return x * self.__k if x > 0 else x


@program(3, -2)
def private_names(x):
    return Private(3).method(x)


@program(3, -2)
def partial_and_lambda(x):
    twice = functools.partial(lambda k, t: t * k if t > 0 else t, 2)
    return twice(x) + (lambda t: t if t > 0 else 0)(x)


def decorated_by(f):
    @functools.wraps(f)
    def wrapper(x):
        return f(x) + 1 if x > 0 else f(x)

    return wrapper


@decorated_by
def decorated(x):
    if x > 0:
        return x * 10
    return x


@program(3, -2)
def decorated_function(x):
    return decorated(x)


@program(3, -2)
def nonlocal_variable(x):
    y = 5

    def inner():
        nonlocal y
        if x > 0:
            y = x
        else:
            y = x + 1

    inner()
    return y


counter = 5


@program(3, -2)
def global_variable(x):
    global counter
    if x > 0:
        counter = x
    else:
        counter = x * 2
    result, counter = counter, 5
    return result


@program(3)
def constructor_of_a_nested_class(x):
    class Sign:
        def __init__(self, x):
            if x > 0:
                self.v = 1
            else:
                self.v = 2

    return Sign(x).v


@program(3)
def property_of_a_nested_class(x):
    class Sign:
        @property
        def v(self):
            return 1 if x > 0 else 2

    return Sign().v


@program(3)
def mapped_function(x):
    return tf.map_fn(absolute, tf.stack([x, -x]))


@program(3)
def recursion_on_python_values(x):
    def power(n):
        return 1 if n == 0 else x * power(n - 1)

    return power(4)


@program(3)
def comprehension(x):
    return tf.add_n([absolute(e) for e in (x, -x, x)])


@program(3, -2)
def in_a_name_scope(x):
    with tf.name_scope("a"):
        if x > 0:
            y = x
        else:
            y = -x
    return y


@program(3)
def finally_runs(x):
    log = []
    for i in range(3):
        try:
            if i == 1:
                continue
            log.append(i)
        finally:
            log.append(10)
    return x + sum(log)


@program(1, 2, 3)
def continue_in_a_try(x):
    c = 0
    n = 0
    while n < 3 and not x >= 100:
        n += 1
        if x > 1:
            try:
                y = x
                if x == 2:
                    continue
            finally:
                c = c % 23
            c -= y
    return c


@program(3, -2)
def array_written_in_a_loop(x):
    array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    for i in tf.range(4):
        if i % 2 == 0 or x > 0:
            array = array.write(array.size(), i * x)
    return array.stack()


@program(3)
def gradient_of_an_array_written_in_a_loop(x):
    x = tf.cast(x, tf.float32)
    array = tf.TensorArray(tf.float32, size=3)
    y = x
    for i in tf.range(3):
        if i != 1:
            y = y * x
        array = array.write(i, y)
    return tf.gradients(array.stack(), x)[0]


@program(3, -2)
def gradients_of_a_while_loop_with_a_break(x):
    x = tf.cast(x, tf.float32)
    y = x
    i = tf.constant(0)
    while i < 5:
        y = y * x if i % 2 == 0 else tf.abs(y) + x
        if y > 50.0:
            break
        i += 1
    return tf.gradients(y, x)[0]


@program(3, -2)
def function_in_a_branch(x):
    @tf.function
    def root(y):
        if y > 2:
            return y * 10
        return y

    if x > 0:
        y = root(x) + root(tf.constant(1))
    else:
        y = root(-x)
    return y


@program(3, -2)
def gradient_of_a_function_in_a_loop(x):
    @tf.function
    def step(y, z):
        return y * z if y < 20.0 else y + z

    x = tf.cast(x, tf.float32)
    y = x
    for i in tf.range(4):
        if i != 2:
            y = step(y, x)
    return tf.gradients(y, x)[0]


@program(3)
def builtins_on_tensors(x):
    v = tf.stack([x, 1, x + 4])
    return len(v) + int(float(x)) + abs(-x) + sorted(v)[0] * 100


@program(3)
def generator(x):
    yield x


@program(3)
def gradient_in_loop(x):
    w = tf.cast(x, tf.float32)
    for _ in tf.range(3):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = w * w if w > 2 else w * 3
        w -= 0.25 * tape.gradient(loss, w)
    return w


@program(3)
def gradient_through_loop(x):
    w = tf.cast(x, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = w
        for _ in tf.range(3):
            if y < 50:
                y = y * w
    return tape.gradient(y, w)
