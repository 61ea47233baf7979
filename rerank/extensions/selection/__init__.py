"""Selective reranking: whether to use a system's choice for a list, and how sure that is."""
