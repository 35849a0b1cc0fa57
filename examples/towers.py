"""A tower on each of two GPUs, their sum on the CPU: where it ran, why, and what it took."""

import berth
import berth.compat.v1 as tf

berth.simulate("4xTesla K20m")  # or, from outside: BERTH_SIM="4xTesla K20m"

towers = []
for device in ["/device:GPU:2", "/device:GPU:3"]:
    with tf.device(device):
        a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
        b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
        towers.append(tf.matmul(a, b))
with tf.device("/cpu:0"):
    total = tf.add_n(towers)

config = tf.ConfigProto(log_device_placement=True)
config.gpu_options.allow_growth = True
with tf.Session(config=config) as sess:
    print(sess.run(total))
    print()
    print(sess.plan(total).explain())
    print(tf.config.memory_report())
