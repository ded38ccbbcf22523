"""Attacks on a server that is really there: a table, raw sockets, and what must be true after each."""
