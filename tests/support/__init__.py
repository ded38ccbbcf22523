"""Helpers that several areas of the tests share; nothing here is a test."""

from llm_rest import wires

WIRES = wires.NAMES
"""Every wire there is: each is held to the same laws."""
