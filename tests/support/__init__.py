"""Helpers that several areas of the tests share; nothing here is a test."""

from llm_rest import wires

WIRES = tuple(name for name in wires.NAMES if hasattr(wires.load(name), "encode_response"))
