"""One server that speaks every wire, and a simulated vendor behind it.

`exchange` turns an HTTP request into a `Request` and an answer back into HTTP, whatever the wire; `simulator` is the handler
that answers without any vendor; `app` serves it over sockets (extra `server`).
"""
