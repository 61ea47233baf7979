"""Perceptrons for ranking (Shen & Joshi 2005)."""
