"""Policies of calls: rate limits, budgets, prices, fallback, caching of answers. Each is loaded by the client that uses it."""
