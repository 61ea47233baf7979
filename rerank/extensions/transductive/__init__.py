"""Transductive ranking: one ranker per test list, from its own unlabelled items."""
