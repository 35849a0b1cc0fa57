"""Eager tensors: what they hold, print, compare, convert to, and never change."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import CPU_0, GPU_0, GPU_1, Differs, cases, evaluate
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")

NOT_A_TENSOR = "eager tensors are not instances of tf.Tensor"

# --- made from Python and NumPy values, as they print ----------------------------------------

REPRS = {
    "tf.constant([1, 2, 3])": "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>",
    "tf.constant(1.5)": "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>",
    "tf.constant([[1., 2.], [3., 4.]])": "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>",
    "tf.constant([[1., 2.]])": "<tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], dtype=float32)>",
    "tf.constant('abc')": "<tf.Tensor: shape=(), dtype=string, numpy=b'abc'>",
    "tf.constant(['a', 'bc'])": "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'bc'], dtype=object)>",
    "tf.constant(True)": "<tf.Tensor: shape=(), dtype=bool, numpy=True>",
    "tf.constant([True, False])": "<tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>",
    "tf.constant(1+2j)": "<tf.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>",
    "tf.constant([])": "<tf.Tensor: shape=(0,), dtype=float32, numpy=array([], dtype=float32)>",
    "tf.zeros([2, 0, 3])": "<tf.Tensor: shape=(2, 0, 3), dtype=float32, numpy=array([], shape=(2, 0, 3), dtype=float32)>",
    "tf.constant(2, tf.float16)": "<tf.Tensor: shape=(), dtype=float16, numpy=2.0>",
    "tf.constant(np.arange(3))": "<tf.Tensor: shape=(3,), dtype=int64, numpy=array([0, 1, 2])>",
    "tf.constant(np.arange(3.))": "<tf.Tensor: shape=(3,), dtype=float64, numpy=array([0., 1., 2.])>",
    "tf.constant(np.float32(3))": "<tf.Tensor: shape=(), dtype=float32, numpy=3.0>",
    "tf.constant([1, 2.5])": "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>",
    "tf.constant(2**40)": "<tf.Tensor: shape=(), dtype=int64, numpy=1099511627776>",
    "tf.constant([2**40])": "<tf.Tensor: shape=(1,), dtype=int64, numpy=array([1099511627776])>",
    "tf.constant(True, tf.float32)": "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>",
    "tf.constant(True, tf.int32)": "<tf.Tensor: shape=(), dtype=int32, numpy=1>",
    "tf.constant(300, tf.uint8)": "<tf.Tensor: shape=(), dtype=uint8, numpy=44>",
    "tf.constant(np.array([1.5, 2.5]), tf.int32)": "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>",
    "tf.constant(tf.constant([1, 2]))": "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>",
    "tf.constant(7, shape=[2])": "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([7, 7], dtype=int32)>",
    "tf.constant([1, 2], shape=[1, 2])": "<tf.Tensor: shape=(1, 2), dtype=int32, numpy=array([[1, 2]], dtype=int32)>",
}


@pytest.mark.parametrize(("call", "text"), cases(REPRS))
def test_repr_is_tensorflows(call, text):
    assert repr(evaluate(call)) == text


STRS = {
    "str(tf.constant(1))": "tf.Tensor(1, shape=(), dtype=int32)",
    "str(tf.constant([1, 2]))": "tf.Tensor([1 2], shape=(2,), dtype=int32)",
    "str(tf.constant('abc'))": "tf.Tensor(b'abc', shape=(), dtype=string)",
    "str(tf.constant([[1., 2.], [3., 4.]]))": "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)",
    "f'{tf.constant(1.23456):.2f}'": "1.23",
    "f'{tf.constant(3)}'": "3",
    "f'{tf.constant([1, 2])}'": "[1 2]",
}


@pytest.mark.parametrize(("call", "text"), cases(STRS))
def test_text_is_tensorflows(call, text):
    assert evaluate(call) == text


REFUSED = {
    "tf.constant([1, 2, 3], shape=[2, 2])": (
        TypeError,
        "Eager execution of tf.constant with unsupported shape. Tensor [1 2 3] (converted from [1, 2, 3]) has 3 elements, but got `shape` (2, 2) with 4 elements).",
    ),
    "tf.constant([1, [2]])": (
        ValueError,
        "Can't convert Python sequence with mixed types to Tensor.",
    ),
    "tf.constant([[1], [2, 3]])": (
        ValueError,
        "Can't convert non-rectangular Python sequence to Tensor.",
    ),
    "tf.constant(1.5, tf.int32)": (
        TypeError,
        "Cannot convert 1.5 to EagerTensor of dtype int32",
    ),
    "tf.constant('a', tf.int32)": (
        TypeError,
        "Cannot convert 'a' to EagerTensor of dtype int32",
    ),
    "tf.constant(1, tf.bool)": (TypeError, "Cannot convert 1 to EagerTensor of dtype bool"),
    "tf.constant(None)": (
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    ),
    "tf.constant([1, None])": (
        ValueError,
        "Can't convert Python sequence with mixed types to Tensor.",
    ),
    "tf.constant({})": (
        ValueError,
        "Attempt to convert a value ({}) with an unsupported type (<class 'dict'>) to a Tensor.",
    ),
    "tf.constant(2**70)": (
        ValueError,
        "Can't convert Python sequence with out-of-range integer to Tensor.",
    ),
}


@pytest.mark.parametrize(("call", "error"), cases(REFUSED))
def test_values_that_are_refused(call, error):
    kind, message = error
    with pytest.raises(kind) as raised:
        evaluate(call)
    assert first_line(raised.value) == message


# --- numpy() and other ways out ----------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "complex64",
        "complex128",
    ],
)
def test_numpy_keeps_dtype_and_values(dtype):
    values = np.array([[0, 1], [1, 0], [1, 1]], dtype)
    tensor = tf.constant(values)
    assert tensor.dtype == tf.as_dtype(dtype)
    assert tensor.numpy().dtype == np.dtype(dtype)
    assert tensor.numpy().tolist() == values.tolist()
    assert np.array(tensor).tolist() == values.tolist()


def test_numpy_of_scalar_is_numpys_scalar():
    assert type(tf.constant(1.0).numpy()) is np.float32
    assert type(tf.constant(1).numpy()) is np.int32
    assert tf.constant("abc").numpy() == b"abc"
    assert tf.constant(["a"]).numpy().dtype == object


def test_numpy_functions_take_tensors():
    assert np.add(tf.constant([1, 2]), 1).tolist() == [2, 3]
    assert np.asarray(tf.constant([1, 2]), dtype=np.float64).dtype == np.float64
    assert np.mean(tf.constant([1.0, 3.0])) == 2.0


CONVERSIONS = {
    "bool(tf.constant(True))": True,
    "bool(tf.constant(0))": False,
    "bool(tf.constant([1.5]))": True,
    "bool(tf.constant('a'))": True,
    "int(tf.constant(3.7))": 3,
    "float(tf.constant(3))": 3.0,
    "complex(tf.constant(1.5))": 1.5 + 0j,
    "len(tf.constant([[1], [2], [3]]))": 3,
    "len(tf.zeros([0, 3]))": 0,
    "[10, 20, 30][tf.constant(1)]": 20,
    "range(tf.constant(3))": range(3),
    "[int(x) for x in tf.constant([1, 2])]": [1, 2],
    "[x.numpy().tolist() for x in tf.constant([[1, 2], [3, 4]])]": [[1, 2], [3, 4]],
    "[int(x) for x in reversed(tf.constant([1, 2, 3]))]": [3, 2, 1],
    "1 in tf.constant([1, 2])": True,
    "tf.constant([[1, 2], [3, 4]]).ndim": 2,
    "tuple(tf.zeros([2, 3]).shape)": (2, 3),
    "tf.zeros([2, 3]).shape.as_list()": [2, 3],
    "tf.zeros([2, 3]).get_shape() == [2, 3]": True,
    "memoryview(tf.constant([1, 2])).tolist()": Differs(
        [1, 2], "before Python 3.12, only C has the buffer protocol"
    ),
    "isinstance(tf.constant(1), tf.Tensor)": True,
    "isinstance(np.ones(1), tf.Tensor)": False,
    "isinstance(tf.Variable(1), tf.Tensor)": False,
    "tf.executing_eagerly()": True,
}


@pytest.mark.parametrize(("call", "value"), cases(CONVERSIONS))
def test_python_value_of_tensor(call, value):
    assert evaluate(call) == value


CONVERSION_ERRORS = {
    "bool(tf.constant([1, 2]))": ValueError,
    "int(tf.constant([3, 4]))": TypeError,
    "float(tf.constant([3., 4.]))": TypeError,
    "len(tf.constant(3))": TypeError,
    "list(tf.constant(3))": TypeError,
    "[10, 20][tf.constant([0, 1])]": TypeError,
    "tf.constant([1, 2]).__setitem__(0, 5)": AttributeError,
    "tf.constant(1).graph": AttributeError,
    "tf.constant(1).op": AttributeError,
    "tf.constant(1).name": AttributeError,
    "tf.constant(1).eval()": NotImplementedError,
    "tf.constant(1).reshape(1)": AttributeError,
    "tf.constant(1).consumers()": NotImplementedError,
    "tf.constant(1).set_shape([1])": ValueError,
}


@pytest.mark.parametrize(("call", "kind"), cases(CONVERSION_ERRORS))
def test_what_tensors_cannot_become(call, kind):
    with pytest.raises(kind):
        evaluate(call)


EAGER_MESSAGES = {
    "len(tf.constant(3))": "Scalar tensor has no `len()`",
    "list(tf.constant(3))": "Cannot iterate over a scalar tensor.",
    "tf.constant(1).name": "Tensor.name is undefined when eager execution is enabled.",
    "tf.constant(1).op": "Tensor.op is undefined when eager execution is enabled.",
    "tf.constant(1).graph": "Tensor.graph is undefined when eager execution is enabled.",
    "tf.constant(1).eval()": "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?",
    "tf.constant(1).set_shape([1])": "Tensor's shape () is not compatible with supplied shape (1,).",
    "hash(tf.constant(1))": "Tensor is unhashable. Instead, use tensor.ref() as the key.",
    "{tf.constant(1): 2}": "Tensor is unhashable. Instead, use tensor.ref() as the key.",
    "tf.constant(1).gpu()": "GPU:0 unknown device.",
    "tf.constant([1, 2, 3])[1.0]": "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices, got 1.0",
    "bool(tf.constant([1, 2]))": "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
}


@pytest.mark.parametrize(("call", "message"), cases(EAGER_MESSAGES))
def test_eager_messages_are_tensorflows(call, message):
    with pytest.raises(
        (TypeError, AttributeError, NotImplementedError, ValueError, RuntimeError)
    ) as raised:
        evaluate(call)
    assert first_line(raised.value) == message


TWINS = [
    copy.copy,
    copy.deepcopy,
    pytest.param(lambda t: pickle.loads(pickle.dumps(t)), id="pickle"),
]


@pytest.mark.parametrize("twin", TWINS)
def test_copies_and_pickles_hold_the_values(twin):
    assert twin(tf.constant([1, 2])).numpy().tolist() == [1, 2]


# --- operators ---------------------------------------------------------------------------------

OPERATORS = {
    "tf.constant([1, 2]) + 1": [2, 3],
    "1 + tf.constant([1, 2])": [2, 3],
    "tf.constant([1, 2]) + [3, 4]": [4, 6],
    "[3, 4] + tf.constant([1, 2])": [4, 6],
    "tf.constant([1., 2.]) + 1": [2.0, 3.0],
    "tf.constant([1., 2.]) + True": [2.0, 3.0],
    "7 - tf.constant([2, 4])": [5, 3],
    "7 * tf.constant([2, 4])": [14, 28],
    "tf.constant([5, 7]) / 2": [2.5, 3.5],
    "2 / tf.constant([2., 4.])": [1.0, 0.5],
    "tf.constant([5., -5.]) / 0": [np.inf, -np.inf],
    "tf.constant([5, -7]) // 2": [2, -4],
    "7 // tf.constant([2, 4])": [3, 1],
    "tf.constant([5, -7]) % 3": [2, 2],
    "tf.constant([5., -7.]) % 3": [2.0, 2.0],
    "7 % tf.constant([2, 4])": [1, 3],
    "tf.constant([2, 3]) ** 2": [4, 9],
    "2 ** tf.constant([2, 3])": [4, 8],
    "-tf.constant([2, 4])": [-2, -4],
    "abs(tf.constant([-2, 4]))": [2, 4],
    "~tf.constant([True, False])": [False, True],
    "~tf.constant([1, 2])": [-2, -3],
    "tf.constant([True, False]) & tf.constant([True, True])": [True, False],
    "tf.constant([True, False]) | False": [True, False],
    "True ^ tf.constant([True, False])": [False, True],
    "tf.constant([3, 5]) & 1": [1, 1],
    "tf.constant([3, 5]) ^ 1": [2, 4],
    "tf.constant([[1., 2.], [3., 4.]]) @ tf.constant([[1.], [1.]])": [[3.0], [7.0]],
    "[[1., 2.]] @ tf.constant([[1.], [1.]])": [[3.0]],
    "tf.constant([1, 2]) < 2": [True, False],
    "2 >= tf.constant([1, 2, 3])": [True, True, False],
    "tf.constant([1., 2.]) > 1": [False, True],
    "tf.constant([1, 2]) == tf.constant([1, 3])": [True, False],
    "tf.constant([1, 2]) == [1, 3]": [True, False],
    "tf.constant([1, 2]) != 1": [False, True],
    "tf.constant('a') == 'a'": True,
    "1 == tf.constant(1)": True,
    "tf.constant([1, 2]) == tf.constant([1, 2, 3])": False,
    "tf.constant([1, 2]) != tf.constant([1, 2, 3])": True,
    "tf.constant('x') + tf.constant('y')": b"xy",
    "tf.constant(['x', 'z']) + 'y'": [b"xy", b"zy"],
    "'y' + tf.constant([['x'], ['z']])": [[b"yx"], [b"yz"]],
    "tf.add('x', 'y')": b"xy",
    "np.array([1, 2], np.int32) + tf.constant([1, 2])": [2, 4],
    "tf.constant([1, 2]) + np.array([1, 2], np.int32)": [2, 4],
    "np.float32(2) * tf.constant([1., 2.])": [2.0, 4.0],
    "tf.constant([1., 2.]) + np.array([1., 2.])": [2.0, 4.0],
    "np.array([1., 2.]) - tf.constant([1., 1.])": [0.0, 1.0],
}


@pytest.mark.parametrize(("call", "value"), cases(OPERATORS))
def test_operators_make_tensors(call, value):
    result = evaluate(call)
    assert hasattr(result, "numpy")
    assert (
        result.numpy().tolist() == value if isinstance(value, list) else result.numpy() == value
    )


OPERATOR_DTYPES = {
    "tf.constant([1., 2.]) + np.array([1., 2.])": "float32",
    "np.array([1., 2.]) * tf.constant([1., 2.])": "float32",
    "tf.constant(1, tf.int64) + 1": "int64",
    "tf.constant(1, tf.int32) / tf.constant(2, tf.int32)": "float64",
    "tf.constant(1, tf.int16) / tf.constant(2, tf.int16)": "float32",
    "tf.constant(1., tf.float16) * 2": "float16",
}


@pytest.mark.parametrize(("call", "dtype"), cases(OPERATOR_DTYPES))
def test_operators_keep_the_tensors_dtype(call, dtype):
    assert evaluate(call).dtype == tf.as_dtype(dtype)


def test_comparing_with_none_is_python():
    assert (tf.constant([1, 2]) == None) is False  # noqa: E711
    assert (tf.constant([1, 2]) != None) is True  # noqa: E711


OP_ERRORS = {
    "tf.constant([1, 2]) + [1, 2, 3]": "Incompatible shapes: [2] vs. [3] [Op:AddV2] name: ",
    "tf.constant([5, 7]) // 0": "Integer division by zero [Op:FloorDiv] name: ",
    "tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))": "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3] [Op:MatMul] name: ",
    "tf.constant([1, 2]) + tf.constant([1., 2.])": "cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor but is a float tensor [Op:AddV2] name: ",
    "tf.ones([2]) * tf.ones([2], tf.float64)": "cannot compute Mul as input #1(zero-based) was expected to be a float tensor but is a double tensor [Op:Mul] name: ",
    "tf.constant([1., 2.]) @ tf.constant([1., 2.])": "In[0] and In[1] ndims must be == 2: 1 [Op:MatMul] name: ",
    "tf.constant([1, 2, 3])[3]": "slice index 3 of dimension 0 out of bounds. [Op:StridedSlice] name: strided_slice/",
    "tf.constant([1, 2, 3])[0, 0]": "Index out of range using input dim 1; input has only 1 dims [Op:StridedSlice] name: strided_slice/",
    "tf.constant(1)[0]": "Attempting to slice scalar input. [Op:StridedSlice] name: strided_slice/",
    "tf.gather([1, 2, 3], 5)": "indices = 5 is not in [0, 3) [Op:GatherV2]",
    "tf.reshape(tf.zeros([4]), [3])": "Input to reshape is a tensor with 4 values, but the requested shape has 3 [Op:Reshape]",
}


@pytest.mark.parametrize(("call", "message"), cases(OP_ERRORS))
def test_errors_name_the_operation(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        evaluate(call)
    assert first_line(raised.value) == message


MIXING_ERRORS = {
    "1.5 + tf.constant([1, 2])": TypeError,
    "tf.constant([1, 2]) <= 2.5": TypeError,
    "tf.constant([1, 2]) + None": ValueError,
    "+tf.constant(1)": TypeError,
    "tf.constant(1) << 1": TypeError,
    "tf.constant([1, 2]) == 'a'": TypeError,
    "tf.constant([1, 2]) == 1.0": TypeError,
    "tf.constant([1, 2]) == tf.constant([1., 2.])": tf.errors.InvalidArgumentError,
    "tf.constant([1, 2]) == object()": ValueError,
}


@pytest.mark.parametrize(("call", "kind"), cases(MIXING_ERRORS))
def test_operands_that_do_not_mix(call, kind):
    with pytest.raises(kind):
        evaluate(call)


def test_references_stand_for_tensors():
    tensor = tf.constant(1)
    assert tensor.ref() == tensor.ref()
    assert tensor.ref() != tf.constant(1).ref()
    assert tensor.ref().deref() is tensor
    assert {tensor.ref(): "found"}[tensor.ref()] == "found"
    assert repr(tensor.ref()) == f"<Reference wrapping {tensor!r}>"


# --- indexing ----------------------------------------------------------------------------------

INDEXES = {
    "[0]": [1, 2, 3],
    "[-1]": [4, 5, 6],
    "[1:]": [[4, 5, 6]],
    "[::-1]": [[4, 5, 6], [1, 2, 3]],
    "[1, 2]": 6,
    "[:, 0]": [1, 4],
    "[..., 0]": [1, 4],
    "[None, 0]": [[1, 2, 3]],
    "[0, :, None]": [[1], [2], [3]],
    "[:, 1:3]": [[2, 3], [5, 6]],
    "[:, ::2]": [[1, 3], [4, 6]],
    "[:, 5:]": [[], []],
    "[: 1 << 40, 1 << 40 :]": [[], []],
    "[tf.constant(1)]": [4, 5, 6],
    "[np.int64(1)]": [4, 5, 6],
    "[tf.constant(1):]": [[4, 5, 6]],
    "[tf.constant([True, False])]": [[1, 2, 3]],
    "[np.array([False, True])]": [[4, 5, 6]],
    "[[1, 0]]": 4,
}


@pytest.mark.parametrize(("index", "value"), cases(INDEXES))
def test_indexing_follows_tensorflow(index, value):
    matrix = tf.constant([[1, 2, 3], [4, 5, 6]])
    assert evaluate(f"matrix{index}", matrix=matrix).numpy().tolist() == value


def test_negative_index_out_of_range():
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index -1 of dimension 0"):
        tf.constant([1, 2, 3])[-4]


# --- values made of tensors ----------------------------------------------------------------------

MIXTURES = {
    "tf.add([tf.constant(1), 2], [3, 4])": [4, 6],
    "tf.stack([tf.constant(1), 2])": [1, 2],
    "tf.concat([[1, 2], tf.constant([3])], 0)": [1, 2, 3],
    "tf.reduce_sum([tf.constant(1.), tf.Variable(2.)])": 3.0,
    "tf.reshape([1, 2], [tf.constant(2), 1])": [[1], [2]],
    "tf.zeros([tf.constant(2), 1])": [[0.0], [0.0]],
    "tf.fill([tf.Variable(2)], tf.constant(3))": [3, 3],
    "tf.add(np.float32(1), [tf.constant(2.)])": [3.0],
}


@pytest.mark.parametrize(("call", "value"), cases(MIXTURES))
def test_lists_of_tensors_are_values(call, value):
    assert evaluate(call).numpy().tolist() == value


# --- a tensor never changes ----------------------------------------------------------------------

PLACES = ["/cpu:0", "/gpu:0"]
READERS = {
    "read_value": lambda v: v.read_value(),
    "value": lambda v: v.value(),
    "identity": tf.identity,
    "slice": lambda v: v[:],
    "reshape": lambda v: tf.reshape(v, [1, 2]),
    "expand_dims": lambda v: tf.expand_dims(v, 0),
    "squeeze": lambda v: tf.squeeze(v.value()),
    "stop_gradient": tf.stop_gradient,
    "as array": lambda v: tf.constant(v.numpy()),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("reader", READERS)
def test_reads_survive_assignments(sim, place, reader):
    sim("1xT4")
    with tf.device(place):
        variable = tf.Variable([1.0, 2.0])
        before = READERS[reader](variable)
        variable.assign_add([10.0, 10.0])
        variable.assign_sub([1.0, 1.0])
        between = READERS[reader](variable)
        variable.assign([7.0, 7.0])
    assert before.numpy().ravel().tolist() == [1.0, 2.0]
    assert between.numpy().ravel().tolist() == [10.0, 11.0]


@pytest.mark.parametrize("place", PLACES)
def test_assigned_tensors_stay_apart(sim, place):
    sim("1xT4")
    with tf.device(place):
        tensor = tf.constant([1.0, 2.0])
        first, second = tf.Variable(tensor), tf.Variable([0.0, 0.0])
        second.assign(tensor)
        third = tf.Variable(second)
        first.assign_add([1.0, 1.0])
        second.assign_add([2.0, 2.0])
        third.assign_add([3.0, 3.0])
    assert tensor.numpy().tolist() == [1.0, 2.0]
    assert first.numpy().tolist() == [2.0, 3.0]
    assert second.numpy().tolist() == [3.0, 4.0]
    assert third.numpy().tolist() == [4.0, 5.0]


MAKERS = {
    "constant": tf.constant,
    "identity": tf.identity,
    "reshape": lambda a: tf.reshape(a, [-1]),
    "Variable": tf.Variable,
    "function": tf.function(lambda x: x),
    "stop_gradient": tf.stop_gradient,
}


@pytest.mark.parametrize("size", [2, 100_000])
@pytest.mark.parametrize("maker", MAKERS)
def test_array_may_change_afterwards(maker, size):
    array = np.zeros(size)
    made = MAKERS[maker](array)
    array[:] = 9.0
    assert not made.numpy().any()


@pytest.mark.parametrize("size", [2, 100_000])
def test_writing_to_numpy_changes_nothing(size):
    tensor = tf.zeros([size])
    shared = tf.reshape(tensor, [size])
    array = tensor.numpy()
    array[:] = 7.0
    assert not tensor.numpy().any()
    assert not shared.numpy().any()


def test_writing_to_variables_array():
    variable = tf.Variable([1, 2])
    array = variable.numpy()
    array[0] = 9
    assert variable.numpy().tolist() == [1, 2]
    variable.assign([5, 6])
    assert array.tolist() == [9, 2]


def test_tensors_refuse_items():
    tensor = tf.constant([1, 2, 3])
    with pytest.raises(TypeError, match="does not support item assignment"):
        tensor[0] = 5
    with pytest.raises(TypeError, match="support item deletion"):
        del tensor[0]


# --- devices of one tensor -----------------------------------------------------------------------


def test_tensors_say_where_they_are(sim):
    sim("2xT4")
    with tf.device("/gpu:1"):
        tensor = tf.constant([1.0])
    assert (tensor.device, tensor.backing_device) == (GPU_1, GPU_1)
    assert tensor.cpu().device == CPU_0
    assert tensor.gpu().device == GPU_0
    assert tensor.gpu(1).device == GPU_1
    assert tensor.cpu().numpy().tolist() == [1.0]


@pytest.mark.parametrize("ordinal", [2, 7])
def test_copying_to_missing_gpu(sim, ordinal):
    sim("2xT4")
    with pytest.raises(RuntimeError, match=f"GPU:{ordinal} unknown device"):
        tf.constant([1.0]).gpu(ordinal)


# --- DLPack --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8"]
)
def test_numpy_reads_tensors_through_dlpack(dtype):
    tensor = tf.constant(np.array([[1, 2], [3, 4]], dtype))
    array = np.from_dlpack(tensor)
    assert array.dtype == np.dtype(dtype)
    assert array.tolist() == [[1, 2], [3, 4]]
    assert tensor.__dlpack_device__() == (1, 0)


def test_dlpack_views_survive_the_tensor():
    array = np.from_dlpack(tf.constant([1.0, 2.0]) + 1.0)
    assert array.tolist() == [2.0, 3.0]


def test_dlpack_both_ways():
    dlpack = tf.experimental.dlpack
    assert dlpack.from_dlpack(dlpack.to_dlpack(tf.constant([1.0]))).numpy().tolist() == [1.0]
    assert dlpack.from_dlpack(np.arange(3.0).__dlpack__()).numpy().tolist() == [0.0, 1.0, 2.0]


# --- beside graphs -------------------------------------------------------------------------------


def test_graphs_are_not_eager():
    with tf.Graph().as_default():
        symbolic = tf.constant([1.0, 2.0])
        assert not tf.executing_eagerly()
        with tf.init_scope():
            assert not tf.executing_eagerly()
    assert not hasattr(symbolic, "numpy")
    assert tf.executing_eagerly()


def test_symbols_cannot_leave_their_graph():
    with tf.Graph().as_default():
        symbolic = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
        symbolic + 1.0


def test_graphs_refuse_eager_tensors():
    tensor = tf.constant([1.0, 2.0])
    with (
        tf.Graph().as_default(),
        pytest.raises(
            RuntimeError,
            match="Attempting to capture an EagerTensor without building a function",
        ),
    ):
        tensor + 1.0
