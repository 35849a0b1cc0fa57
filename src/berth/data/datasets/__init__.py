"""Data sets that programs load by name: MNIST, Fashion-MNIST, CIFAR-10.

Their files are read where TensorFlow and Keras keep them. Nothing is downloaded, and nothing is
unpickled: a missing file is an error that says where it comes from.
"""
