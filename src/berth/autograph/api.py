"""`tf.autograph`: converting functions by hand, and leaving functions out."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

from berth.autograph.conversion import conversion_of, make_function, rewritten_tree
from berth.autograph.errors import ConversionError, SourceNotFound, Unsupported, as_unbound
from berth.autograph.operators import Operators, operators_for
from berth.control_flow.callbacks import converting, is_disabled
from berth.public import public, public_v1, public_v2


@public("autograph.experimental.Feature")
class Feature(enum.Enum):
    """Optional conversions, for `experimental_optional_features` and `tf.function`."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Return a tuple that enables all options."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """Return a tuple that enables all but some options."""
        left_out = exclude if isinstance(exclude, list | tuple | set) else (exclude,)
        return tuple(set(cls.all()) - {*left_out, cls.ALL})


def features_of(options: Any) -> frozenset[str]:
    """Return the names of optional features: of one, several, or None."""
    if options is None:
        return frozenset()
    given: Iterable[Any] = options if isinstance(options, list | tuple | set) else (options,)
    names = {getattr(each, "value", str(each)) for each in given}
    return frozenset(names | {each.value for each in Feature} if "ALL" in names else names)


def call_converted(function: Any, options: Any, arguments: Any, keywords: Any) -> Any:
    """Call a function that is traced, converted as `tf.function` does by default."""
    return _called(operators_for(features_of(options)), True, function, arguments, keywords)


def call_callback(function: Any, *arguments: Any) -> Any:
    """Call a function that was given to tf.data, converted unless the code around is not."""
    if is_disabled():
        return function(*arguments)
    return _called(operators_for(), False, function, arguments, {})


def _called(
    operators: Operators, requested: bool, function: Any, arguments: Any, keywords: Any
) -> Any:
    with converting(operators.callee):
        try:
            return operators.converted(function, requested)(*arguments, **keywords)
        except NameError as error:
            found = as_unbound(error)
            if found is error:
                raise
            raise found.with_traceback(error.__traceback__) from None


@public("autograph.experimental.do_not_convert")
def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Decorate a function that AutoGraph is to leave as it is.

    >>> @do_not_convert
    ... def double(x):
    ...     return x + x
    >>> double(2)
    4
    """
    if func is None:
        return do_not_convert

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with converting(None):
            return func(*args, **kwargs)

    if inspect.isfunction(func) or inspect.ismethod(func):
        wrapper = functools.update_wrapper(wrapper, func)
        wrapper.__signature__ = inspect.signature(func)  # type: ignore[attr-defined]
    return wrapper


@public("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Set options of the loop that this stands in, as its first statement.

    ``shape_invariants`` are pairs of a loop variable and its shape: ``[(x, [None])]``. Outside
    of a converted loop it does nothing.
    """


set_loop_options.is_loop_directive = True  # type: ignore[attr-defined]


def _code_of(entity: Any) -> FunctionType:
    """Return the function behind something that is to be converted."""
    function = entity.__func__ if isinstance(entity, MethodType) else entity
    if not isinstance(function, FunctionType):
        raise ConversionError(
            f"converting {entity}: ValueError: Cannot apply autograph to a function that "
            "doesn't expose a __code__ object. If this is a @tf.function, try passing "
            "f.python_function instead."
        )
    return function


@public_v2("autograph.to_graph")
def to_graph(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> Any:
    """Convert a function by AutoGraph; it runs eagerly, or in a graph that is built.

    >>> import berth as tf
    >>> def sign(x):
    ...     return "positive" if x > 0 else "negative"
    >>> to_graph(sign)(tf.constant(2))
    'positive'
    """
    function = _code_of(entity)
    features = features_of(experimental_optional_features)
    conversion = conversion_of(function, features)
    if conversion.code is None:
        raise _not_converted(entity, conversion.cause)
    made = make_function(conversion.code, function, operators_for(features))
    return MethodType(made, entity.__self__) if isinstance(entity, MethodType) else made


def _not_converted(entity: Any, cause: Exception | None) -> ConversionError:
    kind = "InaccessibleSourceCodeError" if isinstance(cause, SourceNotFound) else "ValueError"
    if isinstance(cause, Unsupported):
        kind = "NotImplementedError"
    return ConversionError(f"converting {entity}: {kind}: {cause}")


@public_v1("autograph.to_graph")
def to_graph_v1(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:
    """Convert a function by AutoGraph, with TensorFlow 1's argument names."""
    return to_graph(entity, recursive, experimental_optional_features)


@public_v2("autograph.to_code")
def to_code(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> str:
    """Return the source code of a function as AutoGraph converts it.

    >>> def double(x):
    ...     return x + x
    >>> print(to_code(double))
    def double(x):
        return x + x
    """
    function = _code_of(entity)
    try:
        tree = rewritten_tree(function, features_of(experimental_optional_features))
    except (SourceNotFound, Unsupported) as cause:
        raise _not_converted(entity, cause) from cause
    return ast.unparse(tree)


@public_v1("autograph.to_code")
def to_code_v1(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Return the source code of a converted function, with TensorFlow 1's argument names."""
    return to_code(entity, recursive, experimental_optional_features)
