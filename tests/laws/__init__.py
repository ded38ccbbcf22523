"""The laws every wire keeps. A wire is held to them by being listed in `llm_rest.WIRES` and having a row in `rows.py`."""
