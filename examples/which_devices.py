# berth run --sim "4xTesla K20m" examples/which_devices.py
import tensorflow as tf

for device in tf.config.list_physical_devices():
  details = tf.config.experimental.get_device_details(device)
  print(device.name, details.get('device_name', ''))

product = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
print(product.numpy(), "was computed on", product.device)
