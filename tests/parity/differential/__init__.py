"""The same expressions in berth and in TensorFlow, compared: ``make parity``.

The expressions are lines of ``cases/``. Two processes evaluate them, one with each library;
`compare` looks at what they wrote down, and `known` lists the differences that are meant.
`op_list` makes a list of all public functions of it, in docs/tf-parity.md.
"""
