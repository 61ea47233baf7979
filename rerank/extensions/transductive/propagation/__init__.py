"""Ranker propagation: rankers of training lists are carried over to similar lists."""
