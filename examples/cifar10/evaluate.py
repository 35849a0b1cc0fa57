# berth run --sim 1xT4 examples/cifar10/evaluate.py
"""Say how many of CIFAR-10's test images the last checkpoint knows.

The moving averages of the variables are used, which know more than their last values.
"""

import numpy as np
import tensorflow.compat.v1 as tf

import cifar10_input
import cifar10_model

flags = tf.app.flags
flags.DEFINE_string("data_dir", "cifar10_data", "where test_batch.bin is")
flags.DEFINE_string("train_dir", "cifar10_train", "where the checkpoints are")
flags.DEFINE_integer("batch_size", 128, "images in a step")
FLAGS = flags.FLAGS


def count_right(session, checkpoint, size, images):
    """Return how many images the model of a checkpoint tells the class of."""
    pixels = tf.placeholder(tf.float32, [None, size.image_size, size.image_size, 3])
    logits, _ = cifar10_model.inference(pixels, size)
    answers = tf.argmax(logits, axis=1)
    averages = cifar10_model.moving_averages(tf.train.get_or_create_global_step())
    tf.train.Saver(averages.variables_to_restore()).restore(session, checkpoint)
    n_right = 0
    for batch, labels in cifar10_input.test_batches(images, FLAGS.batch_size, size.image_size):
        n_right += int(np.sum(session.run(answers, {pixels: batch}) == labels))
    return n_right


def main(_):
    checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
    if checkpoint is None:
        raise SystemExit(f"There is no checkpoint in {FLAGS.train_dir!r}. Run train.py first.")
    images = cifar10_input.read_folder(FLAGS.data_dir, cifar10_input.TEST_FILES)
    size = cifar10_model.Size.of_checkpoint(checkpoint)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        n_right = count_right(session, checkpoint, size, images)
    step, n_images = checkpoint.rpartition("-")[2], len(images.labels)
    print(f"step {step}: {n_right} of {n_images} images, accuracy {n_right / n_images:.3f}")


if __name__ == "__main__":
    tf.disable_v2_behavior()
    tf.app.run()
