"""Bulk runs: ten thousand to ten million requests with a journal, so that every row is answered exactly once (resumable).

`rows` reads the input, `engine` schedules and calls, `journal` stores progress, `output` writes a row's line, `run` is the
Python API (`Bulk`, `AsyncBulk`). Before changing this package, know the order of steps: a row is marked as sent and committed,
then sent; its answer is committed, then written to the output from the journal. Resuming a run depends on this order.
"""
