"""Policies of calls: rate limits, budgets, prices, fallback, answer cache. Each is loaded by the client that uses it."""
