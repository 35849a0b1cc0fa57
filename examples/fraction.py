# berth run --sim "2xTesla K20m" --report examples/fraction.py
import tensorflow as tf

config = tf.ConfigProto()
config.gpu_options.per_process_gpu_memory_fraction = 0.4
session = tf.Session(config=config)

x = tf.ones([1024, 1024])
print(session.run(tf.reduce_mean(x)))
