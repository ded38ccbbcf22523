"""Vendors and models as data: base URLs, dialects, credentials, capabilities.

A new vendor is a row in `rows.py`; its deviations from the wire are a dialect in `dialects.py`.
"""
