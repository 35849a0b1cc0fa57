"""tf.Module and tracking: values and messages are TensorFlow 2.21's."""

from __future__ import annotations

import copy
import pickle

import pytest

import berth as tf
from berth.trackable.base import Trackable, no_automatic_dependency_tracking
from berth.trackable.data_structures import AutoTrackable, ListWrapper, NoDependency

pytestmark = pytest.mark.usefixtures("eager")


class Example(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.b = tf.Variable(1.0, name="b")
        self.a = tf.Variable(2.0, trainable=False)
        self.parts = {"y": [tf.Variable(3.0, name="y")], "x": (tf.Variable(4.0, name="x"), 5)}
        self.sub = tf.Module(name="inner")
        self.sub.w = tf.Variable(6.0, name="w")
        self.again = self.b

    @tf.Module.with_name_scope
    def make(self):
        return tf.Variable(1.0, name="v").name


def names(variables):
    return [variable.name for variable in variables]


def test_variables_are_found_in_attributes():
    module = Example()
    assert names(module.variables) == ["Variable:0", "b:0", "x:0", "y:0", "w:0"]
    assert names(module.trainable_variables) == ["b:0", "x:0", "y:0", "w:0"]
    assert names(module.non_trainable_variables) == ["Variable:0"]
    assert module.submodules == (module.sub,)


def test_names_and_scopes_of_modules():
    assert Example().name == "example"
    assert Example().make() == "example/v:0"
    assert Example("other").make() == "other/v:0"
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the whole message is compared
        tf.Module(name="9x")
    assert str(raised.value) == (
        "'9x' is not a valid module name. Module names must be valid Python identifiers (e.g. a "
        "valid class name)."
    )


def test_lists_and_dicts_are_shared_with_what_was_set():
    module = tf.Module()
    values, table = [1], {"x": [tf.Variable(1.0)]}
    module.values, module.table = values, table
    values.append(2)
    module.values.append(3)
    assert values == [1, 2, 3] == module.values
    assert repr(module.values) == "ListWrapper([1, 2, 3])"
    assert isinstance(module.values, list)
    assert type(module.values + module.values) is list
    assert type(module.values[:1]) is list
    assert type(module.values.copy()) is ListWrapper
    assert isinstance(module.table, dict)
    assert repr(module.table).startswith("{'x': ListWrapper([<tf.Variable")
    table["y"] = 2
    assert module.table["y"] == 2
    assert list(module.table) == ["x", "y"]


LIST_CALLS = {
    "insert": lambda v: v.insert(0, 9),
    "set": lambda v: v.__setitem__(0, 9),
    "set slice": lambda v: v.__setitem__(slice(0, 2), [7, 8, 9]),
    "delete": lambda v: v.__delitem__(0),
    "extend": lambda v: v.extend([4, 5]),
    "pop": lambda v: v.pop(),
    "reverse": lambda v: v.reverse(),
    "sort": lambda v: v.sort(reverse=True),
    "clear": lambda v: v.clear(),
    "remove": lambda v: v.remove(2),
}


@pytest.mark.parametrize("call", LIST_CALLS.values(), ids=LIST_CALLS)
def test_wrapped_list_changes_as_a_list(call):
    plain, inside = [1, 2, 3], [1, 2, 3]
    call(plain)
    call(ListWrapper(inside))
    assert inside == plain


def test_wrappers_compare_copy_and_pickle():
    values = ListWrapper([1, 2])
    assert (values == [1, 2], values != [1], values < [2], values >= [1, 2]) == (True,) * 4
    assert values + values == values * 2 == [1, 2, 1, 2]
    for other in (copy.copy(values), copy.deepcopy(values), pickle.loads(pickle.dumps(values))):
        assert type(other) is ListWrapper
        assert other == values
        assert other is not values


def test_children_are_tracked_by_name():
    thing = AutoTrackable()
    thing.child, thing.number = tf.Module(), 3
    thing.hidden = NoDependency(tf.Module())
    assert thing._trackable_children() == {"child": thing.child}
    assert isinstance(thing.hidden, tf.Module)
    assert isinstance(tf.Variable(1.0), Trackable)
    del thing.child
    assert thing._trackable_children() == {}


def test_tracking_by_hand_is_checked():
    thing = AutoTrackable()
    thing.a = tf.Module()
    with pytest.raises(TypeError) as raised:
        thing._track_trackable(3, "x")
    assert str(raised.value) == (
        "Trackable._track_trackable() can only be used to track objects of type Trackable. Got "
        "type <class 'int'>."
    )
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the whole message is compared
        thing._track_trackable(tf.Variable(1.0), "a")
    assert str(raised.value) == (
        "Called Trackable._track_trackable() with name='a', but a Trackable with this name is "
        "already declared as a dependency. Names must be unique (or overwrite=True)."
    )


def test_a_method_may_set_attributes_untracked():
    class Thing(AutoTrackable):
        @no_automatic_dependency_tracking
        def fill(self):
            self.values = [1]

    thing = Thing()
    thing.fill()
    assert type(thing.values) is list
    thing.more = [1]
    assert type(thing.more) is ListWrapper
