"""Conversations: their items, limits of what is sent, stores, and chats that talk to a model.

`conversation.py` is the data, `limits.py` what of it a request holds, `store.py` where it is kept, `chat.py` the talking, and
`tools.py` what a model may do with it.
"""
