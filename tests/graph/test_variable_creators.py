"""`tf.variable_creator_scope`: expected names and calls are TensorFlow's."""

from __future__ import annotations

from typing import Any

import pytest

import berth as tf

V2_ARGUMENTS = {
    *("aggregation", "caching_device", "constraint", "dtype", "import_scope", "initial_value"),
    *("name", "shape", "synchronization", "trainable", "validate_shape", "variable_def"),
}
V1_ARGUMENTS = V2_ARGUMENTS | {"collections", "expected_shape", "use_resource"}


class Creators:
    """An outer creator that takes notes, and an inner one that renames."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def note(self, next_creator: Any, **arguments: Any) -> Any:
        self.calls.append((arguments["name"], arguments["trainable"]))
        return next_creator(**arguments)

    def rename(self, next_creator: Any, **arguments: Any) -> Any:
        self.calls.append(set(arguments))
        return next_creator(**{**arguments, "name": "renamed"})


@pytest.fixture
def creators() -> Creators:
    return Creators()


@pytest.mark.usefixtures("eager")
def test_innermost_creator_is_called_first(creators: Creators) -> None:
    with tf.variable_creator_scope(creators.note), tf.variable_creator_scope(creators.rename):
        made = tf.Variable(1.0, trainable=False, name="a")
    assert creators.calls == [V2_ARGUMENTS, ("renamed", False)]
    assert (made.name, made.trainable) == ("renamed:0", False)


def test_variables_of_graphs_have_creators(creators: Creators) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.variable_creator_scope(creators.rename):
        names = [v1.get_variable("g", [2]).name, v1.Variable(1.0).name]
    assert creators.calls == [V1_ARGUMENTS, V1_ARGUMENTS]
    assert names == ["renamed:0", "renamed_1:0"]


@pytest.mark.usefixtures("eager")
def test_scope_ends_with_its_block(creators: Creators) -> None:
    with pytest.raises(KeyError), tf.variable_creator_scope(creators.rename):
        raise KeyError
    assert tf.Variable(1.0).name == "Variable:0"


@pytest.mark.usefixtures("eager")
def test_creator_may_return_another_object() -> None:
    with tf.variable_creator_scope(
        lambda next_creator, **arguments: arguments["initial_value"]
    ):
        assert tf.Variable(5) == 5
