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
        ANY,
        "TypeError, not InvalidArgumentError",
        "the types of kernels are known while the graph is built; TensorFlow looks in the run",
    ),
    Known(BACK, ANY, "a value, not ", "TensorFlow cannot differentiate this"),
    Known(
        "second",
        "tf.nn.relu|tf.nn.leaky_relu|tf.nn.crelu|tf.nn.max_pool",
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
        FORWARD,
        "tf.argmax(of([1.0, np.nan|tf.argmin(of([1.0, np.nan|tf.searchsorted(of([1.0, np.nan",
        "1 of 1 differ",
        "NaN is the largest and the smallest, as in NumPy; TensorFlow passes over it",
    ),
    Known(
        "eager unknown",
        "tf.nn.conv2d(f32(1, 2, 2|tf.nn.max_pool|tf.nn.avg_pool",
        "InvalidArgumentError, not a value",
        "no window fits in; TensorFlow minds only in graphs, and returns nothing otherwise",
    ),
    Known(
        FORWARD,
        "tf.nn.depthwise_conv2d(|tf.nn.convolution(|tf.nn.atrous_conv2d(|"
        "tf.nn.local_response_normalization(f64|tf.math.angle(i32|tf.where(True)|"
        "tf.linalg.tensor_diag(f32())|tf.argmax(f32())|tf.argmin(f32())|tf.einsum(|"
        "tf.meshgrid(|tf.shape_n(|tf.nn.sufficient_statistics(|tf.reverse_sequence(|"
        "tf.scatter_nd(of([0]",
        "a value, not ",
        "TensorFlow refuses what has an answer",
    ),
    Known(
        "unknown",
        "tf.foldl(|tf.foldr(|tf.scan(|tf.math.scalar_mul(|tf.stack(|"
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
)

OPEN = (
    Known(
        f"eager {BACK}",
        ANY,
        "TypeError, not InvalidArgumentError",
        "types that an operation does not take are refused as in graphs",
    ),
    Known(
        "eager",
        ANY,
        "TypeError, not NotFoundError",
        "types without a kernel are refused as types that an operation does not take",
    ),
    Known(
        "eager",
        ANY,
        "ValueError, not InvalidArgumentError",
        "attributes and sizes that cannot be are refused as in graphs",
    ),
    Known(TRACED, ANY, "traced as ", "less is known of the shape than in TensorFlow"),
    Known(
        "unknown",
        "tf.linspace(|tf.repeat(|tf.sort(|tf.argsort(|tf.tensordot(|tf.gather(|tf.norm(|"
        "tf.nn.softmax_cross_entropy_with_logits(",
        "ValueError, not ",
        "the rank must be known",
    ),
    Known(
        "unknown",
        "tf.zeros(of(3|tf.ones(of(3|f32(2, 3) == f32(4)|"
        "tf.nn.sigmoid_cross_entropy_with_logits(",
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
        "tf.math.segment_mean(c64|tf.scatter_nd(of([[0]]",
        "TypeError, not a value",
        "complex means, and scattered texts, are missing",
    ),
    Known(
        FORWARD,
        "tf.histogram_fixed_width(",
        "a value, not InvalidArgumentError",
        "a range that is none, and NaN, are not noticed",
    ),
    Known("eager", "tf.fill(2", "InvalidArgumentError, not a value", "a size may be a number"),
    Known("eager", "tf.add_n(f32", "ValueError, not a value", "rows of a tensor can be added"),
    Known(
        FORWARD,
        "tf.convert_to_tensor([1], dtype_hint",
        "dtype ",
        "dtype_hint is followed only by what has no type",
    ),
    Known(TRACED, "tf.constant(", ANY, "constants in graphs follow TensorFlow 1"),
    Known(
        FORWARD + " session",
        "tf.constant(1e300|tf.cast(f32(2), tf.string|tf.reverse_sequence(|tf.linalg.cross(|"
        "tf.gradients(|tf.foldl(|tf.scan(|tf.searchsorted(|tf.add_n(f32|tf.linalg.tensor_diag|"
        "tf.convert_to_tensor(tf|tf.dynamic_partition(|tf.nn.softmax(|tf.nn.log_softmax(|"
        "tf.nn.sigmoid_cross|tf.nn.atrous_conv2d(|tf.get_static_value(|"
        "(tf.assert_rank(f32(2, 3), f32())|tf.tuple([])|tf.assert_near(",
        ANY,
        "another class of error, or none",
    ),
    Known("session", "tf.div(i32", ANY, "TensorFlow 1 divides integers as Python 2 did"),
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
        "(lambda x: tf.gradients(tf.gather(",
        "TypeError, not a value",
        "IndexedSlices cannot be fetched",
    ),
)

LOOSER: tuple[Looser, ...] = ()
