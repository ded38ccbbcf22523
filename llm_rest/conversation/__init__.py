"""Conversations: items, history limits, stores, and chats with a model.

`conversation.py` is the data, `limits.py` truncates and compacts it for requests, `store.py` stores it, `chat.py` runs its
turns, and `tools.py` has tools for the model.
"""
