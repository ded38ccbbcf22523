"""Vendors and models as data: base URLs, dialects, credentials, capabilities.

A new vendor is a row in `rows.py`; what distinguishes it from others of its wire is a dialect in `dialects.py`.
"""
