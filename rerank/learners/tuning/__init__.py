"""Tuners of a handful of weights: MERT, MIRA, PRO."""
