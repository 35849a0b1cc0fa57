"""Operators: what converted code calls. `ag__` in it is an object of this class.

There is one for each set of optional features (TensorFlow's `Feature`), which functions that
are called from converted code are converted with as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from berth.autograph import conditionals, loops
from berth.autograph.allowlist import is_left_alone, is_own
from berth.autograph.builtins import OVERLOADS, PRINT
from berth.autograph.conversion import conversion_of, is_converted, make_function
from berth.autograph.messages import log, warn_not_converted
from berth.autograph.state import NOTHING_RETURNED, AttributeVariable, ItemVariable
from berth.autograph.values import is_staged
from berth.ops.flow.control import Assert


class Operators:
    """What converted code calls, for a set of optional features."""

    NOTHING_RETURNED = NOTHING_RETURNED
    if_stmt = staticmethod(conditionals.if_stmt)
    if_exp = staticmethod(conditionals.if_exp)
    and_ = staticmethod(conditionals.and_)
    or_ = staticmethod(conditionals.or_)
    not_ = staticmethod(conditionals.not_)
    compare = staticmethod(conditionals.compare)
    returned = staticmethod(conditionals.returned)
    while_stmt = staticmethod(loops.while_stmt)
    for_stmt = staticmethod(loops.for_stmt)
    attribute = AttributeVariable
    item = ItemVariable

    def __init__(self, features: frozenset[str]) -> None:
        self.features = features
        prints = features & {"ALL", "BUILTIN_FUNCTIONS"}
        self._overloads = {**OVERLOADS, **(PRINT if prints else {})}

    @staticmethod
    def loop_options(function: Any) -> Callable[..., Any]:
        """Return what `set_loop_options` gives to the loop around it."""
        if getattr(function, "is_loop_directive", False):
            return dict
        return function  # type: ignore[no-any-return]

    @staticmethod
    def assert_stmt(test: Any, message: Callable[[], Any]) -> None:
        """Evaluate `assert`; on a tensor, when the function is called."""
        if not is_staged(test):
            assert test, message()
            return
        Assert(test, [message()])

    def callee(self, function: Any) -> Any:
        """Return what is called in the place of a function: that, as far as it is the user's.

        Functions, methods, partial objects and callable objects are converted; classes are
        not, since Python calls their methods itself.
        """
        return self.converted(function, requested=False)

    def converted(self, function: Any, requested: bool = True) -> Any:
        """Convert a function; one that was asked for also if its package is left alone."""
        kind = type(function)
        if kind is FunctionType:
            return self._converted_function(function, requested)
        if kind is MethodType:
            return self._converted_method(function, requested)
        if kind is functools.partial:
            inner = self.converted(function.func, requested)
            is_same = inner is function.func
            made = functools.partial(inner, *function.args, **function.keywords)
            return function if is_same else made
        if kind is BuiltinFunctionType or isinstance(function, type):
            return self._overload(function)
        return self._converted_object(function)

    def _overload(self, function: Any) -> Any:
        try:
            return self._overloads.get(function, function)
        except TypeError:  # a method of an object that cannot be hashed
            return function

    def _converted_object(self, thing: Any) -> Any:
        """Convert the method by which an object is called."""
        call = getattr(type(thing), "__call__", None)  # noqa: B004 - what is converted
        if type(call) is not FunctionType:
            return thing
        made = self._converted_function(call, requested=False)
        return thing if made is call else MethodType(made, thing)

    def _converted_method(self, method: MethodType, requested: bool) -> Any:
        function = method.__func__
        if type(function) is not FunctionType:
            return method
        made = self._converted_function(function, requested)
        return method if made is function else MethodType(made, method.__self__)

    def _converted_function(self, function: FunctionType, requested: bool) -> FunctionType:
        code = function.__code__
        if is_converted(code) or is_own(code):
            return function
        if not requested and is_left_alone(function):
            return function
        conversion = conversion_of(function, self.features)
        log(1, "AutoGraph calls %s converted", function)
        if conversion.code is None:
            if conversion.cause is not None and function.__module__ != "builtins":
                warn_not_converted(function, conversion.cause)
            return function
        return make_function(conversion.code, function, self)


@functools.cache
def operators_for(features: frozenset[str] = frozenset()) -> Operators:
    """Return the operators for a set of optional features."""
    return Operators(features)
