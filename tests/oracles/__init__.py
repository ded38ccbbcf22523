"""What the vendors' own clients and published schemas say about the documents we write. Needed for development only."""
