"""Features of vectors of questions and candidates."""
