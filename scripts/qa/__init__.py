"""Question-answering data as JSON Lines of this package."""
