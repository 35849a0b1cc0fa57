# berth run --sim "4xTesla K20m" examples/choose_by_environment.py
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "2"
import tensorflow as tf

sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
