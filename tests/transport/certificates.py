"""A certificate authority of the tests, and the TLS of servers and clients that use it."""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any

import trustme


@cache
def authority() -> trustme.CA:
    return trustme.CA()


def serving(*names: str, ca: trustme.CA | None = None, **how: Any) -> ssl.SSLContext:
    """The TLS of a server with a certificate for these names, else for 127.0.0.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (ca or authority()).issue_cert(*(names or ("127.0.0.1",)), **how).configure_cert(context)
    return context


def requiring_certificates() -> ssl.SSLContext:
    """The TLS of a server that asks its clients for a certificate."""
    context = serving()
    authority().configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@cache
def trusting() -> ssl.SSLContext:
    """The TLS of a client that trusts the authority."""
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context
