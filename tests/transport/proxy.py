"""A real HTTP proxy on this machine: it tunnels on CONNECT, forwards what names a whole URL, and asks for a password."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.loopback import accepting


@dataclass
class Proxy:
    """`user` and `password` are what it asks for, `tls` is how it is spoken to; `heads` are those of the requests it got."""

    user: str = ""
    password: str = ""
    tls: ssl.SSLContext | None = None
    status: int = 200
    port: int = 0
    heads: list[str] = field(default_factory=list)

    def url(self, *, password: str | None = None) -> str:
        """How a variable names it."""
        who = f"{self.user}:{self.password if password is None else password}@" if self.user else ""
        return f"{'https' if self.tls else 'http'}://{who}127.0.0.1:{self.port}"


@contextlib.contextmanager
def proxying(proxy: Proxy) -> Iterator[Proxy]:
    """The proxy, running."""
    workers: list[threading.Thread] = []

    def serve(accepted: socket.socket) -> None:
        connection = socket.socket(fileno=accepted.detach())
        workers.append(threading.Thread(target=_serve, args=(proxy, connection), daemon=True))
        workers[-1].start()

    with accepting(serve) as url:
        proxy.port = int(url.rpartition(":")[2])
        yield proxy
    for each in workers:
        each.join(10)


def _serve(proxy: Proxy, plain: socket.socket) -> None:
    with plain, contextlib.suppress(OSError), contextlib.ExitStack() as at_the_end:
        connection = plain
        if proxy.tls:
            connection = at_the_end.enter_context(proxy.tls.wrap_socket(plain, server_side=True))
        came = b""
        while b"\r\n\r\n" not in came:
            more = connection.recv(65536)
            if not more:
                return
            came += more
        head, _, rest = came.partition(b"\r\n\r\n")
        proxy.heads.append(head.decode())
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        status = proxy.status
        if proxy.user:
            known = b64encode(f"{proxy.user}:{proxy.password}".encode())
            status = status if b"Proxy-Authorization: Basic " + known in head.split(b"\r\n") else 407
        if status != 200:
            connection.sendall(f"HTTP/1.1 {status} No\r\ncontent-length: 2\r\n\r\nno".encode())
            return
        host, _, path = target.removeprefix("http://").partition("/")
        name, _, port = host.rpartition(":")
        other = at_the_end.enter_context(socket.create_connection((name, int(port))))
        if method == "CONNECT":
            connection.sendall(b"HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n")
        else:
            lines = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(b"proxy-")]
            other.sendall(b"\r\n".join([f"{method} /{path} HTTP/1.1".encode(), *lines, b"", rest]))
        _relay(connection, other)


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
