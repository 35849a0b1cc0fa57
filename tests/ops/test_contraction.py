"""Sums of products: einsum and tensordot against NumPy's, with gradients."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.linalg import gemm
from berth.ops.linalg.einsum import cross, einsum, matvec, tensordot
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import bind
from tests.ops.everywhere import RANK, compute, shape_of
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import close, complex_normal, normal

SIZES = {"a": 2, "b": 2, "c": 3, "d": 2, "i": 2, "j": 3, "k": 4, "l": 5}
EQUATIONS = [
    "ij,jk->ik",
    "ij,kj->ik",
    "ij,jk->ki",
    "ji,jk->ik",
    "ij,jk",
    "bij,bjk->bik",
    "bij,bjk->bki",
    "ibj,jbk->ibk",
    "ijb,jkb->ikb",
    "ij,ij->ij",
    "ij,ij->i",
    "ij,ij->",
    "i,j->ij",
    "i,j->ji",
    "ij,j->i",
    "ij,ji->",
    "abc,bd->acd",
    "abcd,bd->ca",
    "aijb,ijk->kab",
    "ii->i",
    "ii",
    "iij->ji",
    "ij->ji",
    "ij->j",
    "ij->",
    "ijk->ki",
    "i->i",
    "iij,jk->k",
    "ijk,kl,lj->i",
    "ij,jk,kl,li->",
    "i,i,i->i",
]
WITH_DOTS = [
    ("...ij,...jk->...ik", [(2,), (2,)]),
    ("...ij,...jk", [(2,), (3, 2)]),
    ("...ij,jk->...ik", [(3, 2), ()]),
    ("...ij,jk->...ik", [(), ()]),
    ("i...j,jk->ik...", [(3, 2), ()]),
    ("...i,...i->...", [(2, 3), (1, 3)]),
    ("...i->i...", [(2, 3)]),
    ("ij...,j->...i", [(2, 2), ()]),
    ("...,...", [(2, 3), (2, 1)]),
    ("...ij->...", [(2,)]),
    ("b...i,b...j->b...ij", [(3,), (3,)]),
    ("...i,...ij,...j->...", [(2,), (1,), (2,)]),
]


def operands(equation, dots=(), make=normal):
    arrays = []
    for position, text in enumerate(equation.partition("->")[0].split(",")):
        before, found, after = text.partition("...")
        middle = dots[position] if found else ()
        arrays.append(make(*(SIZES[x] for x in before), *middle, *(SIZES[x] for x in after)))
    return arrays


def contraction(equation):
    return lambda *tensors: einsum(equation, *tensors)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations_are_computed(equation):
    arrays = operands(equation)
    actual = compute(contraction(equation), *arrays, exact=False)
    expected = np.einsum(equation, *arrays)
    assert actual.shape == expected.shape
    close(actual, expected)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations_have_gradients(equation):
    check_gradient(contraction(equation), *operands(equation))


@pytest.mark.parametrize("equation", ["ij,jk->ki", "iij->ji", "i,i,i->i", "ij,j->i"])
def test_equations_have_second_gradients(equation):
    check_gradient(contraction(equation), *operands(equation), order=2)


@pytest.mark.parametrize(("equation", "dots"), WITH_DOTS)
def test_dots_stand_for_axes_that_broadcast(equation, dots):
    arrays = operands(equation, dots)
    close(compute(contraction(equation), *arrays, exact=False), np.einsum(equation, *arrays))
    check_gradient(contraction(equation), *arrays)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,ij->ji", "iij->ji", "ij,kj->"])
def test_complex_numbers_are_not_conjugated(equation):
    arrays = operands(equation, make=complex_normal)
    close(compute(contraction(equation), *arrays, exact=False), np.einsum(equation, *arrays))
    check_gradient(contraction(equation), *arrays)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64"])
@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,ij->ij", "ij,ij->i", "ij->j"])
def test_types_are_kept(equation, dtype):
    arrays = [(array * 3).astype(dtype) for array in operands(equation)]
    actual = compute(contraction(equation), *arrays, exact=False)
    assert actual.dtype == dtype
    close(actual, np.einsum(equation, *arrays), 2e-2)


@pytest.mark.parametrize("shapes", [[(2, 0), (0, 3)], [(0, 2), (2, 3)], [(2, 3), (3, 0)]])
def test_sums_of_nothing_are_0(shapes):
    actual = compute(contraction("ij,jk->ik"), *(np.ones(shape) for shape in shapes))
    np.testing.assert_array_equal(actual, np.zeros((shapes[0][0], shapes[1][1])))


def test_products_are_made_in_place():
    a, b = normal(256, 200), normal(200, 256)
    for equation, inputs in (
        ("ij,jk->ik", (a, b)),
        ("ij,jk->ki", (a, b)),
        ("ij,ij->ij", (a, a)),
    ):
        (function, arguments), outputs = bind(
            CATALOGUE["Einsum"], inputs, {"equation": equation}
        )
        tracemalloc.start()
        try:
            function(*arguments)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2**16
        close(outputs[0], np.einsum(equation, *inputs))


def test_small_products_are_made_first():
    with tf.Graph().as_default() as graph:
        a, b, c = (tf.placeholder(tf.float32, s) for s in ([50, 2], [2, 50], [50, 1]))
        assert einsum("ij,jk,kl->il", a, b, c).shape == [50, 1]
        shapes = [op.outputs[0].shape for op in graph.get_operations() if op.type == "Einsum"]
    assert shapes[0] == [2, 1]


def test_spaces_and_keywords_are_ignored():
    x = normal(2, 3)
    close(compute(lambda x: einsum("i j -> j i", x, optimize="greedy", name="turn"), x), x.T)
    with pytest.raises(TypeError, match="Invalid keyword arguments for einsum: other"):
        shape_of(lambda x: einsum("ij->ji", x, other=1), (2, 3))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (2, 3)], "Dimensions must be equal, but are 3 and 2"),
        ("ij,jk->ik", [(2, 3)], 'Got 1 inputs for equation "ij,jk->ik", expecting 2'),
        ("ij->k", [(2, 3)], "Output subscripts contain the label k not present in the input"),
        ("i1->i", [(2, 3)], "Subscripts have incorrect format: i1->i"),
        ("i->ii", [(2,)], "Output subscripts contain a label appearing more than once: i->ii"),
        (
            "ijk->i",
            [(2, 3)],
            "Shape must be rank 3 but is rank 2\n\t for 0th input and equation: ijk->i",
        ),
        ("i...->i", [(2, 3)], "no ellipsis"),
    ],
)
def test_wrong_equations_are_refused(equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        shape_of(contraction(equation), *shapes)


def test_shapes_are_known_in_part():
    assert shape_of(contraction("ij,jk->ki"), (None, 3), (None, 4)) == (4, None)
    assert shape_of(contraction("ij,jk"), None, (None, 4)) == (None, 4)
    assert shape_of(contraction("...ij,jk->...ik"), (None, 2, 3), (3, 4)) == (None, 2, 4)
    assert shape_of(contraction("...ij,jk->...ik"), None, (3, 4)) is None


# --- tensordot ----------------------------------------------------------------------------

DOTS = [
    ((2, 3), (3, 4), 1),
    ((2,), (3,), 0),
    ((5, 2, 3), (2, 3, 4), 2),
    ((3, 2), (4, 3), [[0], [1]]),
    ((2, 3, 4), (3, 5, 2), [[1, 0], [0, 2]]),
    ((2, 3), (3, 4), [1, 0]),
    ((2, 3), (3, 4), [[-1], [0]]),
    ((3,), (3,), 1),
]


@pytest.mark.parametrize(("shape_a", "shape_b", "axes"), DOTS, ids=str)
def test_dots_of_tensors_are_those_of_numpy(shape_a, shape_b, axes):
    a, b = normal(*shape_a), normal(*shape_b)
    without = () if isinstance(axes, int) else [RANK]
    actual = compute(lambda a, b: tensordot(a, b, axes), a, b, without=without, exact=False)
    expected = np.tensordot(a, b, axes)
    assert actual.shape == expected.shape
    close(actual, expected)
    check_gradient(lambda a, b: tensordot(a, b, axes), a, b)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (5, "`axes` must not be larger than the number of dimensions"),
        (-1, "`axes` must be at least 0. Received: -1."),
        ([[1], [0, 1]], "Different number of contraction axes `a` and `b`, 1 != 2."),
        ([1, 0, 2], "`axes` must be an integer or have length 2"),
    ],
)
def test_wrong_axes_are_refused(axes, message):
    with pytest.raises(ValueError, match=message):
        shape_of(lambda a, b: tensordot(a, b, axes), (2, 3), (3, 4))


# --- vectors ------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [{}, {"transpose_a": True}, {"adjoint_a": True}])
def test_matrices_multiply_vectors(turn):
    a, b = complex_normal(2, 3, 3), complex_normal(2, 3)
    turned = a.swapaxes(-1, -2) if turn else a
    turned = turned.conj() if "adjoint_a" in turn else turned
    actual = compute(lambda a, b: matvec(a, b, **turn), a, b)
    close(actual, np.einsum("bij,bj->bi", turned, b))
    check_gradient(lambda a, b: matvec(a, b, **turn), normal(2, 3, 3), normal(2, 3), order=2)


def test_cross_products_are_those_of_numpy():
    a, b = normal(4, 3), normal(4, 3)[::-1].copy()
    close(compute(cross, a, b), np.cross(a, b))
    check_gradient(cross, a, b, order=2)
    assert shape_of(cross, (None, 3), (4, None)) == (4, 3)
    with pytest.raises(
        ValueError, match="Cross-products are only defined for 3-element vectors"
    ):
        shape_of(cross, (2,), (2,))


# --- large products -----------------------------------------------------------------------


@pytest.mark.parametrize("large", [0, 2**30])
@pytest.mark.parametrize(("dims", "other"), [((5, 4), (4, 3)), ((2, 5, 4), (1, 4, 3))])
def test_products_are_divided_by_rows(dims, other, large, monkeypatch):
    for name, limit in {"SMALL": 0, "LARGE_IN_STACK": 0, "WORTH_A_THREAD": large}.items():
        monkeypatch.setattr(gemm, name, limit)
    a, b = (
        np.random.default_rng(n).integers(-9, 9, size) for n, size in enumerate((dims, other))
    )
    op = CATALOGUE["MatMul" if len(dims) == 2 else "BatchMatMulV2"]
    names = ("transpose_a", "transpose_b") if len(dims) == 2 else ("adj_x", "adj_y")
    for is_turned in (False, True):
        first = a.swapaxes(-1, -2).copy() if is_turned else a
        for n_threads in (1, 2, 4, 9):
            attrs = {names[0]: is_turned, names[1]: False}
            (function, arguments), [found] = bind(
                op, [first.astype("f4"), b.astype("f4")], attrs, n_threads
            )
            function(*arguments)
            assert np.array_equal(found, a @ b)
