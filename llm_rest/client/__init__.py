"""The client: one call step by step, streaming, typed output, replies, and the methods beside calls.

`Client` and `AsyncClient` are in `client.py`; this package imports nothing by itself, so that a converter stays light.
"""
