"""Typed output: a type or a schema as a question to a model, and its answer as a value of that type. Pure."""
