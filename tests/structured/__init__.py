"""Typed output: types and schemas as questions, answers as values."""
