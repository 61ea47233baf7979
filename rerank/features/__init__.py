"""Features computed from what candidates are: their parse trees."""
