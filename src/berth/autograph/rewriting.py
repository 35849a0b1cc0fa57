"""Rewriting of blocks: an `if` or loop becomes functions, and a call of an operator.

    if test:                def ag__main():             The functions bind the variables of
        y = 1       →           nonlocal y              the function around, as the blocks did.
                                y = 1                   So where the test is a value of Python
                            def ag__else():             the operator calls one of them, and all
                                pass                    is as it was; where it is a tensor, it
                            ag__.if_stmt(...)           traces both.

Runs after `liveness.annotate`; expressions are rewritten by `expressions.Expressions`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import count
from typing import Any

from berth.autograph.expressions import Expressions, is_python_bool
from berth.autograph.jumps import JumpLowering, is_endless
from berth.autograph.liveness import Flow, annotate
from berth.autograph.scopes import Scope, contains, names_in
from berth.autograph.syntax import (
    call_operator,
    constant,
    function,
    load,
    located,
    text_tuple,
    thunk,
)

ITEM = "ag__item"


def is_generator(node: ast.AST) -> bool:
    """Tell whether a function is a generator or a coroutine."""
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
    return isinstance(node, ast.AsyncFunctionDef) or any(
        contains(part, *kinds) for part in body
    )


def rewrite_function(node: ast.FunctionDef, features: frozenset[str]) -> ast.FunctionDef:
    """Rewrite a function, and the functions inside of it."""
    scope = Scope(node)
    taken = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    docstring = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
    body = node.body[len(docstring) :] or [located(ast.Pass(), node)]
    node.body = JumpLowering(taken | set(scope.own)).function(body)
    scope = Scope(node)
    annotate(node, scope)
    blocks = _Blocks(scope, features)
    statements = blocks.block(node.body)
    bound = [name for name in scope.own if name not in scope.parameters]
    declared = [located(part, node) for part in _declaration(bound)]
    kept = [part for part in statements if isinstance(part, ast.Global | ast.Nonlocal)]
    others = [part for part in statements if part not in kept]
    node.body = [*docstring, *kept, *declared, *others]
    return node


def _declaration(names: Sequence[str]) -> list[ast.stmt]:
    """Bind variables in code that never runs: then they are the function's own."""
    if not names:
        return []
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return [ast.If(constant(False), [ast.Assign(targets, constant(None))], [])]


class _Blocks(ast.NodeTransformer):
    """Rewrites the statements of one function."""

    def __init__(self, scope: Scope, features: frozenset[str]) -> None:
        self._scope = scope
        self._features = features
        self._numbers = count(1)
        first = next(iter(scope.parameters), None)
        self._expressions = Expressions(features, first)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the statements of a block."""
        made: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new]
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rewrite the blocks and expressions within other statements."""
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self._expressions.visit(value))
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
            elif isinstance(value, list) and value:
                setattr(node, field, self._list(value))
        return node

    def _list(self, values: list[Any]) -> list[Any]:
        if values and isinstance(values[0], ast.stmt):
            return self.block(values)
        return [
            self._expressions.visit(value)
            if isinstance(value, ast.expr)
            else self.visit(value)
            if isinstance(value, ast.AST)
            else value
            for value in values
        ]

    # --- definitions ---------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = self._list(node.decorator_list)
        self._defaults(node.args)
        return node if is_generator(node) else rewrite_function(node, self._features)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Rewrite the methods of a class, and nothing else of it."""
        node.body = [
            self.visit(part) if isinstance(part, ast.FunctionDef) else part
            for part in node.body
        ]
        return node

    def _defaults(self, given: ast.arguments) -> None:
        given.defaults = self._list(given.defaults)
        given.kw_defaults = [
            None if value is None else self._expressions.visit(value)
            for value in given.kw_defaults
        ]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Leave the annotation out: a variable of the function around cannot have one."""
        if node.value is None:
            return located(ast.Pass(), node)
        value = self._expressions.visit(node.value)
        target = self._expressions.visit(node.target)
        return located(ast.Assign([target], value), node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if "ASSERT_STATEMENTS" not in self._features or contains(node, ast.NamedExpr):
            return self.generic_visit(node)  # type: ignore[return-value]
        test = self._expressions.visit(node.test)
        message = self._expressions.visit(node.msg or located(constant(""), node))
        call = call_operator("assert_stmt", [test, thunk(message)])
        return located(ast.Expr(call), node)

    # --- control flow --------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        if is_python_bool(node.test):
            return self.generic_visit(node)  # type: ignore[return-value]
        flow: Flow = node.flow  # type: ignore[attr-defined]
        test = self._expressions.visit(node.test)
        main = self._function("main", node.body, node)
        other = self._function("else", node.orelse or [ast.Pass()], node)
        arguments = [test, load(main.name), load(other.name)]
        return [main, other, self._call("if_stmt", arguments, flow, node)]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        options, body = self._options(node.body)
        flow: Flow = node.flow  # type: ignore[attr-defined]
        stops = self._stop_tests(node)
        tests = stops if stops and is_endless(node) else [*stops, node.test]
        joined = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        again = self._function("test", [ast.Return(joined)], node.test)
        repeated = self._function("body", body, node)
        binds = constant(bool(names_in(node.test).binds))
        arguments = [load(again.name), load(repeated.name), binds]
        call = self._call("while_stmt", arguments, flow, node, options)
        return [again, repeated, call]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        options, body = self._options(node.body)
        flow: Flow = node.flow  # type: ignore[attr-defined]
        start = located(ast.Assign([node.target], load(ITEM)), node.target)
        repeated = self._function("body", [start, *body], node, [ITEM])
        made: list[ast.stmt] = [repeated]
        more: ast.expr = constant(None)
        stops = self._stop_tests(node)
        if stops:
            joined = stops[0] if len(stops) == 1 else ast.BoolOp(ast.And(), stops)
            again = self._function("more", [ast.Return(joined)], node)
            made.append(again)
            more = load(again.name)
        arguments = [self._expressions.visit(node.iter), load(repeated.name), more]
        return [*made, self._call("for_stmt", arguments, flow, node, options)]

    def _stop_tests(self, node: ast.For | ast.While) -> list[ast.expr]:
        flags: list[str] = node.stops  # type: ignore[union-attr]
        return [ast.UnaryOp(ast.Not(), load(flag)) for flag in flags]

    def _options(self, body: list[ast.stmt]) -> tuple[ast.expr | None, list[ast.stmt]]:
        """Take `set_loop_options(...)` out of the body of a loop."""
        for position, node in enumerate(body):
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and _last_name(call.func) == "set_loop_options":
                callee = call_operator("loop_options", [call.func])
                options = ast.Call(callee, call.args, call.keywords)
                rest = [*body[:position], *body[position + 1 :]]
                return located(options, node), rest or [located(ast.Pass(), node)]
        return None, body

    def _function(
        self, role: str, body: Sequence[ast.stmt], at: ast.AST, given: Sequence[str] = ()
    ) -> ast.FunctionDef:
        """Make a function of a block."""
        block = [located(part, at) if not hasattr(part, "lineno") else part for part in body]
        binds = names_in(*block).binds
        statements = self.block(block)
        scope = self._scope
        declared: list[ast.stmt] = []
        own = [n for n in binds if n in scope.own or n in scope.nonlocals]
        shared = [name for name in binds if name in scope.globals]
        declared += [ast.Nonlocal(own)] if own else []
        declared += [ast.Global(shared)] if shared else []
        name = f"ag__{role}_{next(self._numbers)}"
        return function(name, given, [*declared, *statements], at)

    def _call(
        self,
        operator: str,
        arguments: list[ast.expr],
        flow: Flow,
        at: ast.AST,
        options: ast.expr | None = None,
    ) -> ast.stmt:
        live = [name for name in flow.binds if name in flow.live]
        keywords = [
            ast.keyword("composites", ast.Tuple(_composites(flow), ast.Load())),
            ast.keyword("options", options or constant(None)),
        ]
        used = [keyword for keyword in keywords if not _is_empty(keyword.value)]
        names = [text_tuple(flow.binds), text_tuple(live)]
        call = call_operator(operator, [*arguments, *names], used)
        return located(ast.Expr(call), at)


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return not node.elts
    return isinstance(node, ast.Constant) and node.value is None


def _composites(flow: Flow) -> list[ast.expr]:
    """Return what finds the attributes and items that a block assigns."""
    made = []
    for text, target in flow.composites.items():
        owner: Any = target
        if isinstance(target, ast.Attribute):
            found = [thunk(_loaded(target.value)), constant(target.attr)]
            made.append(call_operator("attribute", [constant(text), *found]))
        else:
            found = [thunk(_loaded(owner.value)), thunk(_loaded(owner.slice))]
            made.append(call_operator("item", [constant(text), *found]))
    return made


def _loaded(node: ast.expr) -> ast.expr:
    """Return a copy of an expression."""
    return ast.parse(ast.unparse(node), mode="eval").body


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
