"""Arguments of operations: their names and types, as ``"a:T shape:int32 inputs:T*"`` says."""

from __future__ import annotations

from typing import NamedTuple

from berth.dtypes import DType, as_dtype


class Argument(NamedTuple):
    """One input: its name, and a type or the name of a type variable."""

    name: str
    type: DType | str
    is_list: bool = False


def read_arguments(text: str) -> tuple[Argument, ...]:
    """Read ``"a:T shape:int32 inputs:T*"``.

    >>> read_arguments("values:T* axis:int32")[1]
    Argument(name='axis', type=tf.int32, is_list=False)
    """
    arguments = []
    for word in text.split():
        name, _, type_name = word.partition(":")
        is_list = type_name.endswith("*")
        type_name = type_name.rstrip("*")
        is_variable = type_name[0].isupper()
        arguments.append(
            Argument(name, type_name if is_variable else as_dtype(type_name), is_list)
        )
    return tuple(arguments)
