"""The tool loop at work: `Run` for sync callers, `AsyncRun` on asyncio and trio.

What happens next is decided by the pure step of `turns/`; both do what it says (`engine.py`) and differ only in where the
jobs run (`threads.py`, `tasks.py`). They get "something that answers a request" and know no vendor.
"""
