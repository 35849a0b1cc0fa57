# berth run --sim "2xTesla K20m" --memory 200MiB examples/out_of_memory.py
import tensorflow as tf

images = tf.ones([60, 250, 250, 4])
flipped = tf.reverse(images, axis=[2])
batch = tf.concat([images, flipped], axis=0)
print(batch.shape, "on", batch.device)
