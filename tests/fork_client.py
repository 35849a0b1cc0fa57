"""The command `python` of lines of shell in tests: passes its words on to the fork server.

It imports nothing but what it needs, since it has to start quickly.
"""

import json
import os
import socket
import sys
from collections.abc import Sequence


def connect(address: str, request: str, streams: Sequence[int]) -> socket.socket:
    """Send a request and the standard streams of its program to a server."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    body = request.encode()
    socket.send_fds(connection, [len(body).to_bytes(4, "big")], streams)
    connection.sendall(body)
    return connection


def receive(connection: socket.socket, size: int) -> bytes:
    """Receive so many bytes."""
    body = b""
    while len(body) < size:
        body += connection.recv(size - len(body))
    return body


def main() -> None:
    _, address, *words = sys.argv
    connection = connect(address, json.dumps([words, dict(os.environ), os.getcwd()]), [0, 1, 2])
    _, code = connection.makefile()
    if int(code) < 0:
        os.kill(os.getpid(), -int(code))
    sys.exit(int(code))


if __name__ == "__main__":
    main()
