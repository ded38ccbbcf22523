"""What the transport promises, over real sockets, in three ways to call: sync, asyncio and trio."""
