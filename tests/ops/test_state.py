"""Writing to parts of variables, and counting, against NumPy.

Texts marked [TF] were read off TensorFlow 2.21.
"""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.gradient import gradient_of
from berth.ops.opdef import CATALOGUE
from berth.ops.state.scatter import SCATTERS
from berth.ops.state.variables import ASSIGNMENTS, COUNT_UP_TO, READ, check_type_of_update
from berth.variables import assignment as writing
from tests.ops.gradient_checks import CPU, GPU, each_type

DTYPES = ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "c8"]
kinds = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
places = pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])

CHANGES = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "mul": lambda old, new: old * new,
    "div": lambda old, new: np.trunc(old / new) if old.dtype.kind in "iu" else old / new,
    "min": np.minimum,
    "max": np.maximum,
}
ROWS = ["update", "add", "sub", "mul", "div", "min", "max"]
ELEMENTS = ["update", "add", "sub", "min", "max"]


@pytest.fixture(autouse=True)
def graph(sim):
    sim("1xT4")
    with tf.Graph().as_default() as graph:
        yield graph


def numbers(dtype, *shape):
    """Make small numbers, none of them 0."""
    size = int(np.prod(shape))
    return (np.arange(7, 7 + size) % 9 + 1).reshape(shape).astype(dtype)


def after(change, start, use_resource=False, place="/cpu:0"):
    """Make a variable, change it, and return what the change and the variable say then."""
    with tf.device(place):
        variable = tf.Variable(start, use_resource=use_resource)
    written = change(variable)
    with tf.Session() as session:
        session.run(variable.initializer)
        returned = session.run(written)
        assert session.placements()[variable.op.name].endswith(place[1:].upper())
        return returned, session.run(variable)


def changed(how, start, where, updates):
    """Change one place after the other, as the definition says."""
    array = start.copy()
    for place, update in zip(where, updates, strict=True):
        with np.errstate(all="ignore"):
            array[place] = CHANGES[how](array[place], update)
    return array


# --- rows -----------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize(
    ("how", "dtype", "device"),
    [
        *((h, t, CPU) for h in ROWS for t in DTYPES if t != "c8" or h not in ("min", "max")),
        *((h, "f4", GPU) for h in ROWS),
    ],
)
def test_rows_change(how, dtype, device, use_resource):
    start, updates = numbers(dtype, 3, 2), numbers(dtype, 4, 2)[::-1].copy()
    indices = [2, 0, 2, 1]  # one row twice
    function = getattr(writing, f"scatter_{how}")
    found = after(lambda v: function(v, indices, updates), start, use_resource, device)
    wanted = changed(how, start, indices, updates)
    for value in found:
        assert value.dtype == wanted.dtype
        np.testing.assert_allclose(value, wanted, rtol=2e-3 if dtype == "f2" else 1e-6)


@kinds
@pytest.mark.parametrize(
    ("shape", "indices", "updates"),
    [
        ((4,), 2, 9.0),
        ((4,), [1, 3], 9.0),
        ((4, 2), [[0, 1], [3, 2]], 9.0),
        ((4, 2), [[0, 1], [3, 2]], np.arange(8.0).reshape(2, 2, 2)),
        ((4, 2), np.array([3], np.int64), [[5.0, 6.0]]),
        ((4, 2), np.zeros(0, np.int32), np.zeros((0, 2))),
        ((4, 0), [1, 2], np.zeros((2, 0))),
    ],
)
def test_rows_have_any_shape(shape, indices, updates, use_resource):
    """As many updates as rows are named, or one number for all."""
    start = numbers("f8", *shape)
    wanted = start.copy()
    wanted[np.asarray(indices)] = updates
    _, found = after(
        lambda v: writing.scatter_update(v, indices, np.asarray(updates)), start, use_resource
    )
    assert found.tolist() == wanted.tolist()


@kinds
@pytest.mark.parametrize(
    ("start", "update"), [([b"a", b"b"], b"x"), ([False, False], True)], ids=["string", "bool"]
)
def test_rows_of_any_type_are_replaced(start, update, use_resource):
    _, found = after(lambda v: writing.scatter_update(v, [1], [update]), start, use_resource)
    assert found.tolist() == [start[0], update]


@kinds
def test_integers_are_divided_towards_zero(use_resource):
    """[TF]."""
    start = np.array([[7, -7], [9, 8]], np.int32)
    _, found = after(
        lambda v: writing.scatter_div(v, [0, 1], [[4, 2], [-2, 3]]), start, use_resource
    )
    assert found.tolist() == [[1, -3], [-4, 2]]


# --- elements -------------------------------------------------------------------------------


@kinds
@each_type(["f2", "f4", "i4", "i8", "u1"])
@pytest.mark.parametrize("how", ELEMENTS)
def test_elements_change(how, dtype, device, use_resource):
    start, updates = numbers(dtype, 3, 2), numbers(dtype, 4)[::-1].copy()
    indices = [[2, 0], [0, 1], [2, 0], [1, 1]]  # one element twice
    found = after(
        lambda v: v.write(f"scatter_nd_{how}", (indices, updates)), start, use_resource, device
    )
    wanted = changed(how, start, [tuple(index) for index in indices], updates)
    for value in found:
        assert value.dtype == wanted.dtype
        assert value.tolist() == wanted.tolist()


@kinds
@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((3, 2), [[1], [2]]),
        ((3, 2, 2), [[1, 0], [2, 1]]),
        ((3, 2), [[[1, 0]], [[2, 1]]]),
        ((3, 2), np.array([[1, 1]], np.int64)),
        ((3,), [2]),
        ((3, 2), np.zeros((0, 2), np.int32)),
        ((3, 2), np.zeros((1, 0), np.int32)),
    ],
)
def test_elements_have_any_shape(shape, indices, use_resource):
    start, indices = numbers("f8", *shape), np.asarray(indices)
    updates = numbers("f8", *indices.shape[:-1], *shape[indices.shape[-1] :]) * 10
    wanted = start.copy()
    for position in np.ndindex(indices.shape[:-1]):
        wanted[tuple(indices[position])] = updates[position]
    _, found = after(
        lambda v: writing.scatter_nd_update(v, indices, updates), start, use_resource
    )
    assert found.tolist() == wanted.tolist()


@kinds
def test_each_part_of_batch_changes(use_resource):
    start = np.zeros((2, 3, 2))
    indices, updates = [[0, 2], [1, 0]], np.arange(1.0, 9.0).reshape(2, 2, 2)
    wanted = start.copy()
    for part in range(2):
        wanted[part, indices[part]] = updates[part]
    for change in (
        lambda v: writing.batch_scatter_update(v, indices, updates),
        lambda v: v.batch_scatter_update(IndexedSlices(tf.constant(updates), indices)),
    ):
        _, found = after(change, start, use_resource)
        assert found.tolist() == wanted.tolist()


# --- methods --------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("how", ROWS)
def test_methods_take_slices(how, use_resource):
    start, updates = numbers("f4", 3, 2), numbers("f4", 2, 2)
    slices = IndexedSlices(tf.constant(updates), tf.constant([2, 0]))
    found, _ = after(lambda v: getattr(v, f"scatter_{how}")(slices), start, use_resource)
    np.testing.assert_allclose(found, changed(how, start, [2, 0], updates), rtol=1e-6)


@kinds
@pytest.mark.parametrize("how", ELEMENTS)
def test_methods_take_coordinates(how, use_resource):
    start = numbers("f4", 3, 2)
    found, _ = after(
        lambda v: getattr(v, f"scatter_nd_{how}")([[2, 1]], [4.0]), start, use_resource
    )
    assert found.tolist() == changed(how, start, [(2, 1)], [np.float32(4.0)]).tolist()


def test_methods_refuse_what_is_no_slices():
    """[TF]."""
    with pytest.raises(TypeError, match=r"must be a `tf\.IndexedSlices`\. Received arg: \[0\]"):
        tf.Variable([1.0]).scatter_add([0])


def test_references_can_be_written_again():
    variable = tf.Variable([1.0, 2.0])
    written = writing.scatter_add(writing.scatter_mul(variable, [0], [5.0]), [0], [2.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(written).tolist() == [7.0, 2.0]


def test_tensor_cannot_be_written():
    with pytest.raises(TypeError, match=r"tf.scatter_add needs a variable"):
        writing.scatter_add(tf.constant([1.0]), [0], [1.0])


# --- errors ---------------------------------------------------------------------------------

OUTSIDE = {  # [TF]
    "scatter_update": ([0, 5], [[1.0, 2.0]] * 2, "indices[1] = 5 is not in [0, 3)"),
    "scatter_add": ([[0], [-1]], [[[1.0, 2.0]]] * 2, "indices[1,0] = -1 is not in [0, 3)"),
    "scatter_max": (9, [1.0, 2.0], "indices = 9 is not in [0, 3)"),
    "scatter_nd_update": (
        [[0], [7]],
        [[1.0, 2.0]] * 2,
        "indices[1] = [7] does not index into shape [3,2]",
    ),
    "scatter_nd_add": (
        [[0, 1], [-1, 0]],
        [1.0, 2.0],
        "indices[1] = [-1, 0] does not index into shape [3,2]",
    ),
}


@kinds
@places
@pytest.mark.parametrize("verb", OUTSIDE)
def test_indices_must_be_inside(verb, place, use_resource):
    indices, updates, message = OUTSIDE[verb]
    with tf.device(place):
        variable = tf.Variable(np.zeros((3, 2), np.float32), use_resource=use_resource)
    written = variable.write(verb, (indices, updates))
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(written)
        assert str(caught.value).split("\n")[0] == message
        assert session.run(variable).tolist() == np.zeros((3, 2)).tolist()


MISFITS = {  # [TF]
    ("scatter_update", (2,), (1,), (1, 1)): "Shapes must be equal rank, but are 2 and 1",
    ("scatter_add", (2,), (1,), (2,)): "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2] and [1].",
    ("scatter_nd_update", (2,), (1, 1), (2,)): "Dimensions [0,1) of indices[shape=[1,1]] = [1] must match dimensions [0,1) of updates[shape=[2]] = [2]: Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are [1] and [2].",
    ("scatter_nd_add", (2,), (1,), (1,)): "Dimensions [1,1) of input[shape=[2]] = [] must match dimensions [0,1) of updates[shape=[1]] = [1]: Shapes must be equal rank, but are 0 and 1",
    ("scatter_nd_sub", (2,), (), ()): "Shape must be at least rank 1 but is rank 0",
}  # fmt: skip


@kinds
@pytest.mark.parametrize("case", MISFITS, ids=lambda case: "-".join(map(str, case)))
def test_shapes_must_fit(case, use_resource):
    verb, held, indices, updates = case
    variable = tf.Variable(np.zeros(held, np.float32), use_resource=use_resource)
    with pytest.raises(ValueError, match=r"hape|imension") as caught:
        variable.write(verb, (np.zeros(indices, np.int32), np.zeros(updates, np.float32)))
    assert str(caught.value).startswith(MISFITS[case])


@kinds
@pytest.mark.parametrize(
    ("verb", "updates", "message"),
    [
        ("scatter_add", (2, 3), "Must have updates.shape = indices.shape + params.shape[1:]"),
        ("scatter_nd_add", (3,), "Dimensions [0,1) of indices[shape=[2,1]] must match"),
    ],
)
def test_shapes_are_checked_in_runs(verb, updates, message, use_resource):
    """A graph may not know them."""
    variable = tf.Variable(np.zeros((4, 2), np.float32), use_resource=use_resource)
    given = tf.placeholder(tf.float32)
    indices = [[0], [1]] if "nd" in verb else [0, 1]
    written = variable.write(verb, (indices, given))
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(written, {given: np.zeros(updates)})
        assert str(caught.value).startswith(message)
        session.run(written, {given: np.ones((2, 2))})
        assert session.run(variable).sum() == 4.0


def test_scalars_have_no_rows():
    """[TF]: noticed in a run."""
    variable = tf.Variable(1.0)
    written = writing.scatter_update(variable, [0], [1.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be at least 1-D"):
            session.run(written)


def test_too_many_coordinates_are_refused():
    variable = tf.Variable([1.0, 2.0])
    written = writing.scatter_nd_update(variable, [[0, 1]], [1.0])
    message = r"^Dimensions \[2,1\) of input\[shape=\[2\]\] must match dimensions "
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(written)


def test_division_by_zero_is_refused():
    variable = tf.Variable([4, 5])
    written = writing.scatter_div(variable, [0], [0])
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
            session.run(written)


@kinds
def test_types_must_fit(use_resource):
    variable = tf.Variable([1.0], use_resource=use_resource)
    with pytest.raises((TypeError, ValueError), match="int32"):
        writing.scatter_add(variable, [0], tf.constant([1]))


def test_handle_knows_its_type():
    variable = tf.Variable([1.0], use_resource=True)
    with pytest.raises(
        ValueError, match="Trying to assign a int32 to a variable of type float32"
    ):
        check_type_of_update(variable.handle, tf.constant([1]))


# --- shapes ---------------------------------------------------------------------------------


def test_writes_keep_the_shape():
    variable = tf.Variable(np.zeros((3, 2), np.float32))
    unknown = tf.placeholder(tf.int32)
    updates = tf.placeholder(tf.float32, [None, 2])
    assert writing.scatter_add(variable, unknown, updates).dims == (3, 2)
    assert writing.scatter_nd_add(variable, [[1]], updates).dims == (3, 2)
    assert writing.assign(variable, tf.placeholder(tf.float32)).dims == (3, 2)
    with pytest.raises(ValueError, match="must be equal"):
        writing.scatter_add(variable, [0], tf.placeholder(tf.float32, [None, 3]))


# --- counting -------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_counting_stops_at_limit(dtype, use_resource):
    """[TF]: it returns what was there before. Only the CPU counts."""
    variable = tf.Variable(np.array(1, dtype), use_resource=use_resource)
    number = variable.count_up_to(3)
    assert (number.dtype.name, number.dims) == (variable.dtype.base_dtype.name, ())
    with tf.Session() as session:
        session.run(variable.initializer)
        assert [session.run([number, number + 10]) for _ in range(2)] == [[1, 11], [2, 12]]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 3"):
            session.run(number)
        assert session.run(variable) == 3


def test_counting_by_function():
    variable = tf.Variable(1)
    number = writing.count_up_to(variable, 5, name="n")
    assert number.name == "n:0"
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run([number, variable.initializer])[0] in (1, 2)


@pytest.mark.parametrize(("start", "error"), [([1, 2], ValueError), (1.0, TypeError)])
def test_only_one_integer_counts(start, error):
    with pytest.raises(error, match=r"rank|not in list of allowed values: int32, int64"):
        tf.Variable(start).count_up_to(3)


# --- gradients ------------------------------------------------------------------------------


def test_nothing_goes_back_through_writes(graph):
    variable = tf.Variable([1.0])
    ops = [op for write in (*ASSIGNMENTS.values(), *SCATTERS.values()) for op in write]
    for definition in (*ops, *COUNT_UP_TO):
        assert CATALOGUE[definition.name] is definition
        op = type("RecordedOp", (), {"definition": definition})
        assert gradient_of(op) is None
    read = type("RecordedOp", (), {"definition": READ})
    assert gradient_of(read) is not None
    assert variable.graph is graph
