# berth run --sim 2xT4 examples/cifar10/train.py --num_gpus 2
"""Train on CIFAR-10 with one tower per GPU.

Each GPU computes the gradients of its part of every batch. The variables are on the CPU, and
so is the optimizer, which applies the mean of the gradients, once a step. With as many images
in a step the losses are the same on any number of GPUs.

A run that finds a checkpoint in --train_dir goes on from there.
"""

import os
import time
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

import cifar10_input
import cifar10_model

flags = tf.app.flags
flags.DEFINE_integer("num_gpus", 1, "how many GPUs, each with a tower")
flags.DEFINE_integer("steps", 1000, "train until so many steps are done")
flags.DEFINE_integer("batch_size", 128, "images in a step, on all GPUs together")
flags.DEFINE_float("learning_rate", 0.01, "at first; a tenth after each 350 epochs")
flags.DEFINE_string("data_dir", "cifar10_data", "where the .bin files are")
flags.DEFINE_string("train_dir", "cifar10_train", "for checkpoints and summaries")
flags.DEFINE_integer("checkpoint_every", 100, "steps from one checkpoint to the next")
flags.DEFINE_integer("summary_every", 10, "steps from one summary to the next")
flags.DEFINE_integer("image_size", 24, "rows and columns that are cut out of each image")
flags.DEFINE_integer("filters", 64, "features of each convolution")
flags.DEFINE_integer("units", 384, "features of the first local layer")
flags.DEFINE_integer("seed", 1, "of the order and the distortion of the images")
flags.DEFINE_boolean("log_device_placement", False, "print where each operation runs")
FLAGS = flags.FLAGS

EPOCHS_PER_DECAY = 350.0
DECAY_FACTOR = 0.1
MOMENTUM = 0.9


class Training(NamedTuple):
    """What a step is given, what it runs, and what it computes."""

    images: Any
    labels: Any
    step: Any
    train_op: Any
    loss: Any
    summaries: Any


def average_gradients(towers):
    """Return each variable with the mean of its gradients in all towers."""
    means = []
    for pairs in zip(*towers, strict=True):
        gradients = [gradient for gradient, _ in pairs]
        means.append((tf.add_n(gradients) / float(len(towers)), pairs[0][1]))
    return means


def build_towers(optimizer, images, labels, size):
    """Build the model on each GPU; return the gradients and the loss of each."""
    n_gpus = FLAGS.num_gpus
    parts = zip(tf.split(images, n_gpus), tf.split(labels, n_gpus), strict=True)
    gradients, losses = [], []
    for k, (some_images, some_labels) in enumerate(parts):
        # All towers but the first find the variables that are there.
        sharing = tf.variable_scope(tf.get_variable_scope(), reuse=k > 0)
        with sharing, tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"):
            logits, penalties = cifar10_model.inference(some_images, size)
            loss = cifar10_model.total_loss(logits, some_labels, penalties)
            gradients.append(optimizer.compute_gradients(loss))
            losses.append(loss)
    return gradients, losses


def build(size, n_images):
    """Build the graph of a training step."""
    with tf.device("/cpu:0"):
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(
            FLAGS.learning_rate,
            step,
            int(n_images / FLAGS.batch_size * EPOCHS_PER_DECAY),
            DECAY_FACTOR,
            staircase=True,
        )
        optimizer = tf.train.MomentumOptimizer(rate, MOMENTUM)
        shape = [FLAGS.batch_size, size.image_size, size.image_size, 3]
        images = tf.placeholder(tf.float32, shape, name="images")
        labels = tf.placeholder(tf.int32, [FLAGS.batch_size], name="labels")
        gradients, losses = build_towers(optimizer, images, labels, size)
        means = average_gradients(gradients)
        apply = optimizer.apply_gradients(means, global_step=step)
        with tf.control_dependencies([apply]):
            train_op = cifar10_model.moving_averages(step).apply(tf.trainable_variables())
        loss = tf.add_n(losses) / float(len(losses))
        tf.summary.scalar("loss", loss)
        tf.summary.scalar("learning_rate", rate)
        for each in tf.trainable_variables():
            tf.summary.histogram(each.op.name, each)
        return Training(images, labels, step, train_op, loss, tf.summary.merge_all())


def start(session, saver):
    """Initialize the variables, or read them from the last checkpoint."""
    checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
    if checkpoint is None:
        session.run(tf.global_variables_initializer())
    else:
        saver.restore(session, checkpoint)
    return checkpoint


def run(session, training, batches):
    """Train to the last step, with checkpoints and summaries on the way."""
    saver = tf.train.Saver(max_to_keep=3)
    is_new = start(session, saver) is None
    first = int(session.run(training.step))
    if not is_new:
        print(f"Going on from the checkpoint of step {first}.", flush=True)
    path = os.path.join(FLAGS.train_dir, "model.ckpt")
    graph = session.graph if is_new else None
    started = time.perf_counter()
    with tf.summary.FileWriter(FLAGS.train_dir, graph) as writer:
        for step in range(first, FLAGS.steps):
            pixels, labels = batches.of_step(step)
            feed = {training.images: pixels, training.labels: labels}
            is_last = step == FLAGS.steps - 1
            if step % FLAGS.summary_every == 0 or is_last:
                fetches = [training.train_op, training.loss, training.summaries]
                _, loss, summaries = session.run(fetches, feed)
                writer.add_summary(summaries, step)
                print(f"step {step}: loss {loss:.3f}", flush=True)
            else:
                session.run(training.train_op, feed)
            if (step + 1) % FLAGS.checkpoint_every == 0 or is_last:
                saver.save(session, path, global_step=step + 1)
                writer.flush()
    seconds = time.perf_counter() - started
    print(f"{max(0, FLAGS.steps - first)} steps took {seconds:.1f} s.")


def warn_of_missing_gpus(session):
    names = [device.name for device in session.list_devices()]
    n_there = sum("GPU:" in name for name in names)
    if n_there < FLAGS.num_gpus:
        print(f"GPUs: {n_there}, towers: {FLAGS.num_gpus}. Those without a GPU are on the CPU.")


def main(_):
    size = cifar10_model.Size(FLAGS.image_size, FLAGS.filters, FLAGS.units)
    size.check()
    if FLAGS.batch_size % FLAGS.num_gpus:
        raise ValueError(f"{FLAGS.batch_size} images are not a whole part for each GPU.")
    images = cifar10_input.read_folder(FLAGS.data_dir, cifar10_input.TRAINING_FILES)
    batches = cifar10_input.TrainingBatches(
        images, FLAGS.batch_size, size.image_size, FLAGS.seed
    )
    tf.set_random_seed(FLAGS.seed)
    training = build(size, len(images.labels))
    config = tf.ConfigProto(allow_soft_placement=True)
    if FLAGS.log_device_placement:
        config.log_device_placement = True
    with tf.Session(config=config) as session:
        warn_of_missing_gpus(session)
        run(session, training, batches)


if __name__ == "__main__":
    tf.disable_v2_behavior()
    tf.app.run()
