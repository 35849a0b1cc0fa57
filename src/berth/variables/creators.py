"""``tf.variable_creator_scope``: functions that create the variables of a block."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from berth.blocks import FunctionBlock, Stack, Use
from berth.graph.graph import Graph
from berth.ops import builder
from berth.public import public

Creator = Callable[..., Any]
"""Called with `next_creator` and the arguments of a variable; returns the variable."""


class _Creators(threading.local):
    def __init__(self) -> None:
        self.blocks: Stack[tuple[Creator, ...]] = Stack()
        """What each open block creates variables by, the innermost last."""


_creators = _Creators()


@public("variable_creator_scope")
def variable_creator_scope(variable_creator: Creator) -> FunctionBlock[None]:
    """Create the variables of a block by a function.

    It is called with `next_creator`, which creates the variable, and with all arguments of the
    variable by name. The innermost one is called first.
    """
    return FunctionBlock(enter_creator, variable_creator)


def enter_creator(use: Use, creator: Creator) -> None:
    """Create variables by a function, in a block."""
    set_creators(use, (*open_creators(), creator))


def set_creators(use: Use, creators: tuple[Creator, ...]) -> None:
    """Create variables by some functions only, in a block."""
    use.set(_creators.blocks, creators)


def open_creators() -> tuple[Creator, ...]:
    """Return the functions that create variables in this thread, the innermost last."""
    return _creators.blocks.innermost if _creators.blocks else ()


def makes_eager_variables() -> bool:
    """Tell whether new variables have a value from the start: outside graphs of sessions."""
    graph = builder.current()
    return not isinstance(graph, Graph) or graph.outermost.is_function


class CreatedVariable(type):
    """Metaclass of variables: calling the class calls the open creators, if there are any."""

    make_eagerly: Creator | None = None
    """What makes a variable in place of the class, where variables are eager."""

    if not TYPE_CHECKING:  # to a checker, calling the class makes an object of it

        def __call__(cls, *arguments: Any, **options: Any) -> Any:
            """Create a variable."""
            create: Callable[..., Any] = super().__call__
            if (make_eagerly := vars(cls).get("make_eagerly")) and makes_eager_variables():
                create = make_eagerly
            if not _creators.blocks or not vars(cls).get("has_creators"):
                return create(*arguments, **options)
            bound = inspect.signature(cls.__init__).bind(None, *arguments, **options)
            bound.apply_defaults()
            named = {name: value for name, value in bound.arguments.items() if name != "self"}
            next_creator = create
            for creator in open_creators():
                next_creator = partial(creator, next_creator)
            return next_creator(**named)
