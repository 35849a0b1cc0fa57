# berth run --sim "lab=2xTesla K20m" --gpus 1 examples/share_a_server.py
import tensorflow as tf

x = tf.ones([1024, 1024])
y = tf.matmul(x, x)
print(y.shape, "on", y.device)
input("Press Enter to end. ")
