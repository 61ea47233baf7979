"""Fusion of rankings: by scores, ranks, votes, tuned weights and estimated probabilities."""
