"""The differences that are known, and the numbers that may be less exact, with reasons.

What is `MEANT` stays as it is. What is `OPEN` would be better as in TensorFlow; a line that
no longer finds a difference is to be deleted, and ``make parity`` says so.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """Differences of the cases that begin with some text, in some modes."""

    modes: str
    case: str
    """How the cases begin: several beginnings are separated by ``|``."""
    found: str
    """How the difference begins, as it is printed."""
    reason: str

    def covers(self, mode: str, case: str, found: str) -> bool:
        is_such = case.startswith(tuple(self.case.split("|"))) and found.startswith(self.found)
        return is_such and mode in self.modes.split()


class Looser(NamedTuple):
    """How many times the usual error is right, too, for cases that begin with some text."""

    case: str
    times: float
    reason: str


TRACED = "function unknown"
FORWARD = "eager function unknown"
BACK = "gradient second"
ANY = ""

NO_KERNEL = (
    "tf.math.reciprocal(i32|tf.round(c|tf.math.floordiv(c|tf.realdiv(i32|"
    "tf.tensor_scatter_nd_add(b|tf.tensor_scatter_nd_sub(b|tf.tensor_scatter_nd_max(b|"
    "tf.tensor_scatter_nd_min(b|tf.random.categorical(i"
)
"""TensorFlow's operation takes the type, and no device has a kernel for it."""

MEANT = (
    Known(
        TRACED + " session",
        ANY,
        "ValueError, not InvalidArgumentError",
        "what is wrong is found while the graph is built; TensorFlow finds it in the run",
    ),
    Known(
        TRACED,
        ANY,
        "InvalidArgumentError, not ValueError",
        "what is wrong is found in the run; TensorFlow finds it while the graph is built",
    ),
    Known(
        TRACED,
        f"{NO_KERNEL}|tf.cond(of(1, ",
        "TypeError, not InvalidArgumentError",
        "the types of kernels are known while the graph is built; TensorFlow looks in the run",
    ),
    Known(
        "eager",
        NO_KERNEL,
        "InvalidArgumentError, not NotFoundError",
        "a type without a kernel is one that the operation does not take",
    ),
    Known(
        BACK,
        "tf.transpose(f32(2, 3), [-1|tf.sort(f32(0|tf.unique(|tf.truncatemod(|tf.bitcast(c|"
        "tf.gather_nd(f32(3|tf.nn.conv1d(|tf.nn.conv2d(|tf.nn.convolution(|tf.math.softsign(|"
        "tf.nn.softsign(|tf.nn.max_pool_with_argmax(|tf.nn.max_pool2d(f32(1, 4, 4, 1), 2, 2, [|"
        "tf.nn.softmax_cross_entropy_with_logits(f32(2, 1|tf.math.bincount(|"
        "tf.linalg.lstsq(f64(4, 2), f64(4, 3), fast|tf.linalg.lstsq(f64(2, 4), f64(2, 3), fast|"
        "tf.nn.max_pool3d(f32(0|tf.nn.max_pool(f32(2, 4, 3, 5|tf.nn.avg_pool(f32(2, 4, 3, 5",
        "a value, not ",
        "TensorFlow cannot differentiate this",
    ),
    Known(
        "unknown",
        "tf.nn.atrous_conv2d_transpose(",
        "a value, not TypeError",
        "filters may have a shape that only a run knows",
    ),
    Known(
        "second",
        "tf.nn.relu|tf.nn.leaky_relu|tf.nn.crelu|tf.nn.max_pool|tf.nn.pool(",
        "[0] None, not zeros",
        "the second derivative is 0 everywhere, and not computed",
    ),
    Known(
        "gradient",
        "tf.math.multiply_no_nan(c|tf.math.xdivy(c|tf.math.xlogy(c|tf.math.xlog1py(c|"
        "tf.math.cumprod(c|tf.math.segment_prod(c|tf.math.unsorted_segment_prod(c|"
        "tf.linalg.det(c",
        "[0] ",
        "TensorFlow does not conjugate these derivatives, as it does others",
    ),
    Known(
        "gradient", "tf.math.cumprod(of(", "[0] ", "where a factor is 0, TensorFlow's is wrong"
    ),
    Known(
        "second",
        "tf.reduce_prod(of([2.0, 0|tf.reduce_prod(of([0|tf.reduce_prod(of([[1|"
        "tf.math.cumprod(of([1.0",
        "[0] ",
        "where a factor is 0, TensorFlow's is wrong",
    ),
    Known(
        "second",
        "tf.nn.softmax_cross_entropy_with_logits(",
        "[0] ",
        "TensorFlow forgets that the gradient of the logits depends on the labels",
    ),
    Known(
        f"{FORWARD} {BACK}",
        "tf.nn.leaky_relu(f64|tf.nn.gelu(f64",
        ANY,
        "TensorFlow has the slope, and the root of 2, in single precision only",
    ),
    Known(
        f"{FORWARD} {BACK}",
        "tf.linalg.expm(of([[30.0",
        ANY,
        "exp(30) is nearer to the truth than TensorFlow's",
    ),
    Known(
        FORWARD,
        "tf.saturate_cast(of([-2e20",
        "1 of 3 differ",
        "a large number becomes the largest there is; TensorFlow's becomes the smallest",
    ),
    Known("second", "tf.linalg.expm(f32(0", "[0] python", "of nothing there are no gradients"),
    Known(
        FORWARD,
        "tf.argmax(of([1.0, np.nan|tf.argmin(of([1.0, np.nan|tf.searchsorted(of([1.0, np.nan",
        "1 of 1 differ",
        "NaN is the largest and the smallest, as in NumPy; TensorFlow passes over it",
    ),
    Known(
        BACK,
        'tf.nn.max_pool2d(f32(1, 2, 2, 1), 3, 1, "VALID")|'
        'tf.nn.max_pool1d(f32(1, 2, 1), 3, 1, "VALID")',
        "",
        "no window fits in, so the gradient is 0; TensorFlow's is memory that it did not write",
    ),
    Known(
        FORWARD,
        "tf.nn.depthwise_conv2d(|tf.nn.convolution(|tf.nn.atrous_conv2d(|"
        "tf.nn.local_response_normalization(f64|tf.math.angle(i32|tf.where(True)|"
        "tf.linalg.tensor_diag(f32())|tf.meshgrid(f32(2), i32|tf.shape_n(|"
        "tf.nn.sufficient_statistics(|tf.reverse_sequence(f32(2, 3, 2|tf.scatter_nd(of([0]|"
        "tf.linalg.pinv(c|tf.linalg.matrix_rank(c|tf.math.unsorted_segment_mean(c|tf.math.unsorted_segment_sqrt_n(c|tf.nn.softmax(|"
        "tf.nn.log_softmax(|tf.repeat(",
        "a value, not ",
        "TensorFlow refuses what has an answer",
    ),
    Known(
        "unknown",
        "tf.foldl(|tf.foldr(|tf.scan(|tf.math.scalar_mul(|tf.stack(|"
        "tf.linspace(f32(2), f32(2), 3, axis=3|"
        "tf.nn.sparse_softmax_cross_entropy_with_logits(",
        "a value, not ",
        "what is not known yet is taken to fit; TensorFlow refuses it",
    ),
    Known(
        FORWARD,
        "tf.truncatediv(|tf.truncatemod(",
        "InvalidArgumentError, not InternalError",
        "a division by 0 is the caller's mistake, as that of tf.math.floordiv",
    ),
    Known(
        FORWARD,
        "tf.case(",
        "InvalidArgumentError, not a value",
        "exclusive=True is checked; TensorFlow does not notice, though it says that it does",
    ),
    Known(
        TRACED,
        "tf.cond(",
        "TypeError, not AssertionError",
        "branches of different structures are an error of the caller, not of TensorFlow's",
    ),
    Known(
        TRACED,
        "tf.constant(300, tf.uint8)|tf.constant(-1, tf.uint8)|tf.constant(True, tf.int32)",
        "TypeError, not a value",
        "in graphs, a number has to fit into its type",
    ),
    Known(
        "eager function",
        "tf.foldl(lambda a, x: a + x, f32()|tf.scan(lambda a, x: a + x, f32()",
        "ValueError, not IndexError",
        "a scalar has nothing to go over",
    ),
    Known(
        "eager unknown",
        "tf.linalg.cross(f32(2)",
        "InvalidArgumentError, not FailedPreconditionError",
        "a shape that does not fit is the caller's mistake",
    ),
    Known(
        "eager unknown",
        "tf.linalg.tensor_diag_part(f32()",
        "InvalidArgumentError, not a value",
        "a scalar has no diagonal; TensorFlow minds only in graphs",
    ),
    Known(
        "eager",
        "tf.concat([], 0)",
        "ValueError, not InvalidArgumentError",
        "there is nothing to join; TensorFlow complains of a missing type",
    ),
    Known(
        "unknown",
        "tf.nn.softmax(f32(2), axis=2|tf.nn.log_softmax(f32(2), axis=2",
        "InvalidArgumentError, not TypeError",
        "there is no such axis; TensorFlow takes 1 from a rank that is not known",
    ),
)

OPEN = (
    Known(
        TRACED,
        "tf.broadcast_to(f32(3), of(|tf.dynamic_stitch([of([[0, 1|tf.gather_nd(|tf.tile(i32(3), [0|"
        "tf.nn.embedding_lookup([|tf.nn.conv2d_transpose(|tf.nn.conv1d_transpose(|"
        "tf.nn.sparse_softmax_cross_entropy_with_logits(1|tf.random.stateless_",
        "traced as ",
        "less is known of the shape than in TensorFlow",
    ),
    Known(
        "unknown",
        'tf.gather(f32(2, 3), of([[0], [1]], "int32"), batch_dims=-1|tf.norm(f32(3, 3), ord=2',
        "ValueError, not a value",
        "the rank must be known",
    ),
    Known(
        "unknown",
        "tf.nn.conv3d(|tf.nn.conv3d_transpose(|tf.nn.conv_transpose(f32(2, 2, 3, 2, 3)",
        "ValueError, not ",
        "the filters' depth must be known",
    ),
    Known(
        "unknown",
        "f32(2, 3) == f32(4)|tf.nn.sigmoid_cross_entropy_with_logits(labels=f32(2, 1",
        "InvalidArgumentError, not a value",
        "a shape that is not known yet is taken to fit, and does not",
    ),
    Known(
        BACK,
        "tf.abs(tf.linalg.svd(|tf.abs(tf.linalg.qr(|tf.linalg.qr(",
        "NotImplementedError, not a value",
        "gradients of complex and of full decompositions, and of wide matrices' QR",
    ),
    Known(
        "second", "tf.math.cumprod(of([3.0", "[0] ", "where two factors are 0, both are wrong"
    ),
    Known(BACK, "tf.reduce_prod(of([1.0, np.nan", "[0] ", "NaN spreads to its own gradient"),
    Known(
        FORWARD,
        "tf.nn.conv2d(f32(2, 1, 4",
        ANY,
        "a batch may have several axes in TensorFlow",
    ),
    Known(
        FORWARD,
        'tf.scatter_nd(of([[0]], "int32"), of(["a"]',
        ANY,
        "scattered texts are missing",
    ),
    Known(
        FORWARD,
        "tf.convert_to_tensor([1], dtype_hint",
        "dtype ",
        "dtype_hint is followed only by what has no type",
    ),
    Known(
        FORWARD,
        "tf.constant(1e300)",
        ANY,
        "a number that is too large for its type becomes infinite",
    ),
    Known(
        TRACED,
        "tf.convert_to_tensor(tf.TensorShape([None",
        "TypeError, not ValueError",
        "a shape that is not known is no list of numbers",
    ),
    Known(
        "eager",
        "tf.nn.atrous_conv2d(",
        "InvalidArgumentError, not ValueError",
        "filters that do not fit are found by conv2d",
    ),
    Known(FORWARD, "tf.get_static_value(3.0)", "python ", "plain values are not converted"),
    Known(
        "eager",
        "tf.gradients(",
        "TypeError, not RuntimeError",
        "another class of the same error",
    ),
    Known("eager", "tf.tuple([])", "ValueError, not a value", "an empty list is refused"),
    Known(
        "function",
        "tf.add_n(f32",
        "a value, not OperatorNotAllowedInGraphError",
        "the rows of a tensor of known size can be added in functions, too",
    ),
    Known(
        "session",
        "tf.assert_near(f32(2), f64",
        "TypeError, not ValueError",
        "another class of the same error",
    ),
    Known(
        "session",
        "tf.assign(",
        "ValueError, not a value",
        "validate_shape=False is for values whose shape is not known",
    ),
    Known(
        "session",
        "tf.while_loop(",
        "kind list, not tuple",
        "TensorFlow 1 packs the results as the body does, not as the loop's variables",
    ),
    Known(
        "session",
        "tf.convert_to_tensor([1, 2], preferred_dtype",
        "dtype ",
        "preferred_dtype is followed only by what has no type",
    ),
    Known(
        FORWARD,
        "(tf.debugging.assert_near(f32(2), f64|"
        '(tf.debugging.assert_rank_at_least(f32(2), of(2, "int32"',
        ANY,
        "another class of the same error",
    ),
    Known(
        FORWARD,
        "(tf.debugging.assert_rank_at_least(f32(2), [1]|"
        "(tf.debugging.assert_rank_in(f32(2), ([1]",
        "a value, not ValueError",
        "a rank may also be a list of one number",
    ),
    Known(
        "eager function",
        "tf.debugging.assert_scalar(",
        "python -, not None",
        "the scalar is returned, as in TensorFlow 1",
    ),
    Known(
        "unknown",
        "tf.debugging.assert_scalar(|(tf.debugging.assert_scalar(",
        "a value, not ValueError",
        "a rank that is not known is taken to fit",
    ),
    Known(
        TRACED,
        '(tf.debugging.assert_greater_equal("a"',
        "InvalidArgumentError, not TypeError",
        "in graphs, texts are compared, too",
    ),
    Known(
        TRACED,
        "(tf.debugging.assert_near(c",
        "TypeError, not InvalidArgumentError",
        "complex numbers are refused in graphs",
    ),
)

LOOSER: tuple[Looser, ...] = ()
