"""Comparisons of learners that can be killed, resumed and spread: ``rerank run``."""
