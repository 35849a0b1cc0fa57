"""Protocol buffers without the library: messages, their wire format and their text format.

`kinds` has the scalar types, `fields` what a class of messages is made of, `message` the
messages themselves, `text` protobuf's text format. The messages that TensorFlow defines stand
beside the code that uses them.
"""
