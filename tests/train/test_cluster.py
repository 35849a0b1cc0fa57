"""ClusterSpec and replica_device_setter: what TensorFlow 2.21 gives for the same calls."""

from __future__ import annotations

import pytest

import berth as tf2
import berth.compat.v1 as tf

CLUSTER = {"worker": ["a:1", "b:2"], "ps": {1: "c:3"}}


@pytest.fixture
def cluster():
    return tf.train.ClusterSpec(CLUSTER)


def test_cluster_tells_its_jobs_and_tasks(cluster):
    assert tf2.train.ClusterSpec is tf.train.ClusterSpec
    assert repr(cluster) == "ClusterSpec({'ps': {1: 'c:3'}, 'worker': ['a:1', 'b:2']})"
    assert cluster.jobs == ["worker", "ps"]
    assert (cluster.num_tasks("worker"), cluster.num_tasks("ps")) == (2, 1)
    assert cluster.task_indices("ps") == [1]
    assert cluster.task_address("ps", 1) == "c:3"
    assert cluster.job_tasks("ps") == [None, "c:3"]
    assert cluster.as_dict() == CLUSTER
    assert bool(cluster)
    assert not tf.train.ClusterSpec({})


def test_clusters_compare_by_their_tasks(cluster):
    assert cluster == tf.train.ClusterSpec(cluster)
    assert cluster == {"worker": {0: "a:1", 1: "b:2"}, "ps": {1: "c:3"}}
    assert cluster != CLUSTER
    assert cluster != cluster.as_cluster_def()
    assert cluster != tf.train.ClusterSpec({})
    with pytest.raises(TypeError, match="unhashable type: 'ClusterSpec'"):
        hash(cluster)


def test_cluster_becomes_a_message_and_back(cluster):
    message = cluster.as_cluster_def()
    assert [job.name for job in message.job] == ["ps", "worker"]
    assert tf.train.ClusterSpec(message) == cluster
    bytes_of_tensorflow = (
        b"\n\r\n\x02ps\x12\x07\x08\x01\x12\x03c:3"
        b"\n\x1a\n\x06worker\x12\x07\x08\x01\x12\x03b:2\x12\x07\x08\x00\x12\x03a:1"
    )
    assert tf.train.ClusterDef.FromString(bytes_of_tensorflow) == message
    by_hand = tf.train.ClusterDef(job=[tf.train.JobDef(name="w", tasks={0: "a:1", 2: "b:1"})])
    assert repr(tf.train.ClusterSpec(by_hand)) == "ClusterSpec({'w': {0: 'a:1', 2: 'b:1'}})"


NO_CLUSTERS = {
    "5": (
        TypeError,
        "`cluster` must be a dictionary mapping one or more job names to lists of network "
        "addresses, or a `ClusterDef` protocol buffer",
    ),
    "{'a': 5}": (
        TypeError,
        "The tasks for job 'a' must be a list or a dictionary from integers to strings.",
    ),
    "{'a': [1]}": (TypeError, "Task address 1 must be bytes or unicode"),
    "{1: ['a']}": (TypeError, "Job name 1 must be bytes or unicode"),
    "{'a': {'x': 'b'}}": (ValueError, "invalid literal for int() with base 10: 'x'"),
}


@pytest.mark.parametrize(("given", "expected"), NO_CLUSTERS.items(), ids=NO_CLUSTERS)
def test_other_values_are_no_clusters(given, expected):
    with pytest.raises(expected[0]) as caught:
        tf.train.ClusterSpec(eval(given))
    assert str(caught.value) == expected[1]


@pytest.mark.parametrize("ask", ["num_tasks", "task_indices", "job_tasks"])
def test_unknown_job_is_an_error(cluster, ask):
    with pytest.raises(ValueError, match=r"^No such job in cluster: 'x'$"):
        getattr(cluster, ask)("x")
    with pytest.raises(ValueError, match=r"^No task with index 0 in job 'ps'$"):
        cluster.task_address("ps", 0)


# --- replica_device_setter ------------------------------------------------------------------

# The arguments; then the devices of three variables, the initializer of the second, a
# resource variable and its initializer, a variable of another job, one on /cpu:1, a sum.
SETTERS = {
    "ps_tasks=2": (
        "/job:ps/task:0, /job:ps/task:1, /job:ps/task:0, /job:ps/task:1, /job:ps/task:1, "
        "/job:ps/task:1, /job:moo/task:5/device:CPU:0, /job:ps/task:0/device:CPU:1, /job:worker"
    ),
    "cluster={'ps': 'abc'.split()}": (
        "/job:ps/task:0, /job:ps/task:0, /job:ps/task:0, /job:ps/task:0, /job:ps/task:0, "
        "/job:ps/task:0, /job:moo/task:5/device:CPU:0, /job:ps/task:0/device:CPU:1, /job:worker"
    ),
    "ps_tasks=2, merge_devices=False": (
        "/job:ps/task:0, /job:ps/task:1, /job:ps/task:0, /job:ps/task:1, /job:ps/task:1, "
        "/job:ps/task:1, /job:moo/task:5/device:CPU:0, /device:CPU:1, /job:worker"
    ),
    "ps_tasks=2, ps_device='/job:ps/cpu:0', worker_device='/job:worker/gpu:0'": (
        "/job:ps/task:0/device:CPU:0, /job:ps/task:1/device:CPU:0, "
        "/job:ps/task:0/device:CPU:0, /job:ps/task:1/device:CPU:0, "
        "/job:ps/task:1/device:CPU:0, /job:ps/task:1/device:CPU:0, "
        "/job:moo/task:5/device:CPU:0, /job:ps/task:0/device:CPU:1, /job:worker/device:GPU:0"
    ),
    "ps_tasks=2, ps_strategy=lambda op: 1": (
        "/job:ps/task:1, /job:ps/task:1, /job:ps/task:1, /job:ps/task:1, /job:ps/task:1, "
        "/job:ps/task:1, /job:moo/task:5/device:CPU:0, /job:ps/task:1/device:CPU:1, /job:worker"
    ),
    "ps_tasks=2, ps_ops=['Const']": (
        "/job:worker, /job:worker, /job:worker, /job:worker, /job:worker, /job:worker, "
        "/job:moo/task:5/device:CPU:0, /job:worker/device:CPU:1, /job:worker"
    ),
    "ps_tasks=3, ps_device=None": (
        "/job:worker, /job:worker, /job:worker, /job:worker, /job:worker, /job:worker, "
        "/job:moo/task:5/device:CPU:0, /job:worker/device:CPU:1, /job:worker"
    ),
    "ps_tasks=2, ps_device='/cpu:0'": (
        "/device:CPU:0, /device:CPU:0, /device:CPU:0, /device:CPU:0, /device:CPU:0, "
        "/device:CPU:0, /job:moo/task:5/device:CPU:0, /device:CPU:1, /job:worker"
    ),
    "ps_tasks=1, worker_device=None": (
        "/job:ps/task:0, /job:ps/task:0, /job:ps/task:0, /job:ps/task:0, /job:ps/task:0, "
        "/job:ps/task:0, /job:moo/task:5/device:CPU:0, /job:ps/task:0/device:CPU:1, "
    ),
}


@pytest.mark.parametrize(("arguments", "devices"), SETTERS.items(), ids=SETTERS)
def test_variables_go_to_the_servers(arguments, devices):
    choose = eval(f"tf.train.replica_device_setter({arguments})")
    with tf.Graph().as_default(), tf.device(choose):
        variables = [tf.Variable(1.0, use_resource=False) for _ in range(3)]
        resource = tf.Variable(1.0, use_resource=True)
        with tf.device("/job:moo/task:5/cpu:0"):
            other = tf.Variable(1.0, use_resource=False)
        with tf.device("/cpu:1"):
            local = tf.Variable(1.0, use_resource=False)
        total = variables[0] + variables[1]
    made = [*variables, variables[1].initializer, resource, resource.initializer]
    assert ", ".join(each.device for each in [*made, other, local, total]) == devices


def test_without_servers_there_is_no_function():
    setter = tf.train.replica_device_setter
    assert setter() is None
    assert setter(cluster={"worker": ["a"]}) is None
    assert setter(cluster={"ps": ["a"]}, ps_device="/gpu:0") is None
    with pytest.raises(TypeError, match=r"^ps_strategy must be callable$"):
        setter(ps_tasks=2, ps_strategy=5)
    with tf.Graph().as_default(), tf.device(setter(ps_tasks=0)):
        assert tf.constant(1.0).device == ""
