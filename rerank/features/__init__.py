"""Features computed from the candidates: of their parse trees, and of the other candidates of the list."""
