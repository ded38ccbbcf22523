"""Helpers that several areas of the tests share; nothing here is a test."""
