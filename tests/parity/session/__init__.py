"""Sections 1, 6, 7 and 8: graphs and sessions.

Texts marked [TF] are not in the reference, and were read off TensorFlow 2.21, run with
`tensorflow.compat.v1` and `disable_v2_behavior()`.
"""
