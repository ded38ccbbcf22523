"""Policies of calls: rate limits, budgets, prices. Each is loaded by the call that uses it."""
