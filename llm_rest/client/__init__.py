"""The client: calls, streaming, typed output, tool runs, replies, and further endpoints.

`Client` and `AsyncClient` are in `client.py`; this package imports nothing by itself, so that importing a converter stays cheap.
"""
