"""Attributes of TensorFlow's objects in a program's text: fields and methods.

Which class an expression has is known for calls of classes (``tf.ConfigProto()``), for names
that are bound to such a call and nothing else, and for message fields. Of anything else nothing
is said: a check that guesses would be wrong too often.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, get_type_hints

from berth.dtypes import DType
from berth.errors import did_you_mean
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.ops.operators import Tensor
from berth.ops.shape import TensorShape
from berth.proto.fields import MessageField
from berth.proto.message import Message
from berth.tools.run.names import find, module_at

PathOf = Callable[[ast.expr], str | None]
_CLASSES = (Message, Operation, Tensor, Graph, DType, TensorShape)
Found = tuple[int, str, str]
"""A line, what it asks for, and a hint."""


def check(nodes: Sequence[ast.AST], path_of: PathOf) -> Iterator[Found]:
    """List attributes, fields and statements that berth does not have, in order."""
    reader = _Reader(nodes, path_of)
    found = {*reader.missing_attributes(), *reader.missing_keywords()}
    return iter(sorted(found))


@cache
def _class_at(path: str) -> type | None:
    """Return the class of a name, in whichever API has it."""
    for api in ("v1", "v2"):
        place = find(api, path)
        if place.is_there and place.name == path:
            module = module_at(api, path.rpartition(".")[0])
            value = getattr(module, path.rpartition(".")[2], None)
            return value if isinstance(value, type) else _returned(value)
    return None


def _returned(function: Any) -> type | None:
    """Return the class that a function says it returns, of those whose attributes are known."""
    try:
        hint = get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        return None
    return hint if isinstance(hint, type) and issubclass(hint, _CLASSES) else None


@cache
def _attributes_of(cls: Any) -> set[str]:
    """List the attributes of an object, those that its methods assign too.

    What a class further down adds is among them: a function may return any of these.
    """
    names = set(dir(cls)).union(*map(_attributes_of, cls.__subclasses__()))
    for base in cls.__mro__[:-1]:
        names.update(getattr(base, "__annotations__", ()), getattr(base, "__slots__", ()))
        try:
            names.update(re.findall(r"\bself\.(\w+)\b[^=\n]*=[^=]", inspect.getsource(base)))
        except (OSError, TypeError):
            continue
    return names


class _Reader:
    """Reads one module's uses of TensorFlow's objects."""

    def __init__(self, nodes: Sequence[ast.AST], path_of: PathOf) -> None:
        self._nodes, self._path_of = nodes, path_of
        self._parameters = {id(inner) for node in nodes for inner in _uses_of_parameters(node)}
        self._bound: dict[str, type | None] = {}
        """The class of each name; None if it has several meanings, or an unknown one."""
        self._results: set[str] = set()
        """Names that are bound to results of TensorFlow's functions."""
        read = {id(target) for target in map(self._read_binding, nodes) if target}
        for node in nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store()) if id(node) not in read:
                    self._bound[name] = None
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self._bound[name] = None

    def _read_binding(self, node: ast.AST) -> ast.Name | None:
        """Read ``name = call()`` or ``with call() as name``; return the node of the name."""
        match node:
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.withitem(context_expr=value, optional_vars=ast.Name() as target)
            ):
                self._bind(target.id, self._class_of_call(value))
                if self._is_result(value):
                    self._results.add(target.id)
                return target
        return None

    def _bind(self, name: str, cls: type | None) -> None:
        before = self._bound.setdefault(name, cls)
        if before is not cls:
            self._bound[name] = None

    def _class_of_call(self, node: ast.expr) -> type | None:
        if not isinstance(node, ast.Call) or not _is_named(node.func):
            return None
        path = self._path_of(node.func)
        return _class_at(path) if path else None

    def _class_of(self, node: ast.expr) -> type | None:
        """Return the class of an expression, if it is known."""
        if isinstance(node, ast.Name):
            return None if id(node) in self._parameters else self._bound.get(node.id)
        if isinstance(node, ast.Call):
            return self._class_of_call(node)
        if isinstance(node, ast.Attribute):
            owner = self._class_of(node.value)
            if owner is None and node.attr == "op" and self._is_result(node.value):
                return Operation
            return None if owner is None else _class_of_attribute(owner, node.attr)
        return None

    def _is_result(self, node: ast.expr) -> bool:
        """Tell whether an expression is the result of one of TensorFlow's functions."""
        if isinstance(node, ast.Name):
            is_parameter = id(node) in self._parameters
            return node.id in self._results and not is_parameter
        if not isinstance(node, ast.Call) or not _is_named(node.func):
            return False
        return bool(self._path_of(node.func))

    def missing_attributes(self) -> Iterator[Found]:
        """Find ``config.gpu_options.alow_growth``, ``session.partial``."""
        for node in self._nodes:
            if not isinstance(node, ast.Attribute) or node.attr.startswith("__"):
                continue
            cls = self._class_of(node.value)
            if cls is not None and node.attr not in (known := _names_of(cls)):
                near = did_you_mean(node.attr, sorted(known - set(dir(object))))
                yield node.lineno, f"{cls.__name__}.{node.attr}", near

    def missing_keywords(self) -> Iterator[Found]:
        """Find ``tf.GPUOptions(alow_growth=True)``."""
        for node in self._nodes:
            cls = self._class_of_call(node) if isinstance(node, ast.Call) else None
            if cls is None or not issubclass(cls, Message):
                continue
            assert isinstance(node, ast.Call)
            for keyword in node.keywords:
                if keyword.arg is not None and keyword.arg not in cls._fields:
                    near = did_you_mean(keyword.arg, cls._fields)
                    yield node.lineno, f"{cls.__name__}({keyword.arg}=)", near


def _uses_of_parameters(node: ast.AST) -> Iterator[ast.Name]:
    """Find the names in a function that are its parameters, of which nothing is known."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        parameters = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in parameters:
                yield inner


def _is_named(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute | ast.Name)


def _class_of_attribute(owner: type, name: str) -> type | None:
    """Return the class of a field of a message, or of a property."""
    if issubclass(owner, Message):
        is_message = isinstance(owner._fields.get(name), MessageField)
        return type(getattr(owner(), name)) if is_message else None
    found = inspect.getattr_static(owner, name, None)
    return _returned(found.fget) if isinstance(found, property) else None


def _names_of(cls: Any) -> set[str]:
    return {*cls._fields, *dir(cls)} if issubclass(cls, Message) else _attributes_of(cls)


def _is_value(node: ast.expr, names: set[str]) -> bool:
    """Tell whether an expression is computed from a tensor's values: not from its shape."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.BinOp(left=left, right=right):
            return _is_value(left, names) or _is_value(right, names)
        case ast.UnaryOp(operand=operand) | ast.Subscript(value=operand):
            return _is_value(operand, names)
    return False
