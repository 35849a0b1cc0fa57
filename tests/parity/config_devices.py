"""The devices that the tests of tf.config name."""

from __future__ import annotations

import berth as tf

CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
GPU = [tf.config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU") for index in range(4)]
PART = tf.config.LogicalDeviceConfiguration


def names(devices):
    return [device.name for device in devices]
