"""Moses' N-best lists."""
