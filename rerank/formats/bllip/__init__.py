"""Feature files of BLLIP's reranker."""
