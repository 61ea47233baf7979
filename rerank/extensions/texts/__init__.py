"""Features of questions and texts."""
