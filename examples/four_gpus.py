"""A four-GPU server on any computer: see the GPUs, choose two, bound their memory."""

import berth as tf

tf.simulate("4xTesla K20m")  # or, from outside: BERTH_SIM="4xTesla K20m"

gpus = tf.config.list_physical_devices("GPU")
print(len(gpus), "physical GPUs, for example", gpus[0])
print(tf.config.experimental.get_device_details(gpus[0]))

# Use the last two cards only, and split the first of them.
tf.config.set_visible_devices(gpus[2:], "GPU")
tf.config.set_logical_device_configuration(
    gpus[2],
    [
        tf.config.LogicalDeviceConfiguration(memory_limit=1024),
        tf.config.LogicalDeviceConfiguration(memory_limit=2048),
    ],
)

for device in tf.config.list_logical_devices():
    print(device)

# Everything is settled now, and berth says where that happened.
try:
    tf.config.set_visible_devices(gpus, "GPU")
except RuntimeError as error:
    print("RuntimeError:", error)
