"""Kernels of conjunctions."""
