"""Random programs for AutoGraph: functions of an integer, of statements on a few variables."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

VARIABLES = ("a", "b", "c", "box.v", "d['k']")
ARGUMENTS = (0, 3, -2, 8)
_HEAD = '''"""Programs made by tests/autograph/generated.py."""


class Box:
    v = 1

'''


def text_of_programs(n_programs: int, seed: int) -> str:
    """Return the text of a file of programs; the first of a longer one are the same."""
    parts = [_Program(seed * 100_000 + number, number).text() for number in range(n_programs)]
    return _HEAD + "\n\n".join(parts)


class _Program:
    def __init__(self, seed: int, number: int) -> None:
        self._random = Random(seed)
        self._name = f"generated_{number}"
        self._n_names = 0
        self._fresh: list[str] = []
        """Variables that some branch or loop may have defined."""

    def text(self) -> str:
        first = self._random.choice(["1", "x * 2", "tf.constant(4)"])
        lines = [
            f"@program{ARGUMENTS}",
            f"def {self._name}(x):",
            f"    a, b, c = {first}, x + 1, 0",
            "    box, d = Box(), {'k': 2}",
        ]
        lines += self._block(depth=0, loop="", size=self._random.randint(2, 5))
        total = " + ".join(f"{name} * {10**k}" for k, name in enumerate(VARIABLES))
        return "\n".join([*lines, f"    return ({total}) % 100003", ""])

    # --- expressions ---------------------------------------------------------------------

    def _value(self, depth: int = 0) -> str:
        pick = self._random.random()
        if depth > 1 or pick < 0.4:
            fresh = self._fresh if self._random.random() < 0.25 else []
            return self._random.choice([*VARIABLES, "x", *fresh])
        if pick < 0.55:
            return str(self._random.randint(-3, 5))
        left, right = self._value(depth + 1), self._value(depth + 1)
        if pick < 0.8:
            return f"({left} {self._random.choice('+-*')} {right}) % 13"
        if pick < 0.9:
            return f"({left} if {self._test(1)} else {right})"
        if pick < 0.95:
            return f"(lambda t: t + {left} if t > {right} else t)({self._value(depth + 1)})"
        return f"abs({left})"

    def _test(self, depth: int = 0) -> str:
        pick = self._random.random()
        sign = self._random.choice(["<", ">", "<=", ">=", "==", "!="])
        if depth > 1 or pick < 0.6:
            return f"{self._value(2)} {sign} {self._value(2)}"
        if pick < 0.7:
            return f"{self._value(2)} <= {self._value(2)} < {self._value(2)}"
        if pick < 0.8:
            return f"not ({self._test(depth + 1)})"
        word = self._random.choice(["and", "or"])
        return f"({self._test(depth + 1)} {word} {self._test(depth + 1)})"

    # --- statements ----------------------------------------------------------------------

    def _block(self, depth: int, loop: str, size: int) -> list[str]:
        lines = [line for _ in range(size) for line in self._statement(depth, loop)]
        return [f"    {line}" for line in lines]

    def _statement(self, depth: int, loop: str) -> Iterator[str]:
        pick = self._random.random()
        if depth < 3 and pick < 0.22:
            yield from self._if(depth, loop)
        elif depth < 2 and pick < 0.34:
            yield from self._for(depth)
        elif depth < 2 and pick < 0.42:
            yield from self._while(depth)
        elif pick < 0.47:
            yield from self._around(depth, loop)
        elif loop and pick < 0.55:
            yield f"if {self._test()}:"
            yield f"    {self._random.choice(['break', 'continue'])}"
        elif not loop and depth == 0 and pick < 0.5:
            yield f"if {self._test()}:"
            yield f"    return {self._value()}"
        elif pick < 0.6:
            yield from self._function()
        else:
            yield self._assignment()

    def _assignment(self) -> str:
        pick = self._random.random()
        target = self._random.choice(VARIABLES)
        if pick < 0.15:
            self._n_names += 1
            target = f"t{self._n_names}"
            self._fresh.append(target)
        elif pick < 0.25:
            return "a, b = b, a"
        elif pick < 0.5:
            return f"{target} {self._random.choice(['+=', '-='])} {self._value()}"
        return f"{target} = {self._value()}"

    def _if(self, depth: int, loop: str) -> Iterator[str]:
        yield f"if {self._test()}:"
        yield from self._block(depth + 1, loop, self._random.randint(1, 2))
        if self._random.random() < 0.3:
            yield f"elif {self._test()}:"
            yield from self._block(depth + 1, loop, 1)
        if self._random.random() < 0.6:
            yield "else:"
            yield from self._block(depth + 1, loop, self._random.randint(1, 2))

    def _for(self, depth: int) -> Iterator[str]:
        self._n_names += 1
        name = f"i{self._n_names}"
        over = self._random.choice(
            [
                f"tf.range(abs({self._value(2)}) % 5)",
                f"tf.stack([{self._value(2)}, x, {self._value(2)}])",
                "range(3)",
                f"range(abs({self._value(2)}) % 4)",
                "(1, x, 2)",
            ]
        )
        yield f"for {name} in {over}:"
        yield f"    c = (c + {name}) % 17"
        yield from self._block(depth + 1, "for", self._random.randint(1, 3))

    def _while(self, depth: int) -> Iterator[str]:
        self._n_names += 1
        name = f"n{self._n_names}"
        yield f"{name} = {self._random.choice(['0', 'x * 0'])}"
        bound = self._random.choice(["3", "x % 4", "abs(x) + 1"])
        extra = f" and {self._test(1)}" if self._random.random() < 0.3 else ""
        yield f"while {name} < {bound}{extra}:"
        yield f"    {name} += 1"
        yield from self._block(depth + 1, "while", self._random.randint(1, 3))

    def _around(self, depth: int, loop: str) -> Iterator[str]:
        is_try = self._random.random() < 0.5
        yield "try:" if is_try else "with tf.name_scope('scope'):"
        yield from self._block(depth + 1, loop, self._random.randint(1, 2))
        if is_try:
            yield "finally:"
            yield "    box.v = box.v % 23"

    def _function(self) -> Iterator[str]:
        self._n_names += 1
        name = f"f{self._n_names}"
        yield f"def {name}(p, q={self._random.randint(0, 3)}):"
        yield f"    if {self._test(1)}:"
        yield f"        return p + {self._value(2)}"
        yield "    return q - p"
        yield f"{self._random.choice(VARIABLES)} = {name}({self._value(2)}) % 19"
