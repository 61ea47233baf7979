"""N-best parses with gold trees."""
