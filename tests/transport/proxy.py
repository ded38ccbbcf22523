"""What an HTTP proxy does with a request: it tunnels on CONNECT, forwards a request for a whole URL, and requires a password."""

from __future__ import annotations

import select
import socket
import ssl
from base64 import b64encode

from tests.loopback import Act, Loopback, http


def proxying(user: str = "", password: str = "", status: int = 200) -> Act:
    """`user` and `password` are what it requires; another status than 200 is its answer to every request."""
    required = b"Proxy-Authorization: Basic " + b64encode(f"{user}:{password}".encode())

    def act(connection: socket.socket, server: Loopback) -> bool:
        first, *headers = server.heads[-1].split(b"\r\n")
        method, target, _ = first.decode().split(" ")
        code = 407 if user and required not in headers else status
        if code != 200:
            connection.sendall(http(b"no", f"{code} No"))
            return False
        host, _, path = target.removeprefix("http://").partition("/")
        name, _, port = host.rpartition(":")
        with socket.create_connection((name, int(port))) as other:
            if method == "CONNECT":
                connection.sendall(b"HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n")
            else:
                kept = [line for line in headers if not line.lower().startswith(b"proxy-")]
                other.sendall(b"\r\n".join([f"{method} /{path} HTTP/1.1".encode(), *kept, b"", server.bodies[-1]]))
            _relay(connection, other)
        return False

    return act


def _relay(one: socket.socket, two: socket.socket) -> None:
    """Pass bytes on in both directions until one side ends."""
    while True:
        waiting = isinstance(one, ssl.SSLSocket) and one.pending()
        readable = [one] if waiting else select.select([one, two], [], [], 10)[0]
        for each in readable:
            data = each.recv(65536)
            if not data:
                return
            (two if each is one else one).sendall(data)
        if not readable:
            return
