"""The client: calls, streaming, typed output, tool runs, replies, and further endpoints.

One call, in the order in which it runs: `client.py` (the methods), `generate.py` (a whole reply) or `stream.py`, `call.py` with
`options.py`, `inputs.py` and `target.py` (options and input become a request), `send.py` (attempts), `answer.py` (what came
back), `reply.py`. Beside it: `structured.py` and `typed.py` (typed output), `run.py` (the tool loop), `endpoints.py` (stored
responses, models), `hooks.py` (events). This package imports nothing by itself, so that importing a converter stays cheap.
"""
