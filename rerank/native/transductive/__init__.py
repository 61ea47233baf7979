"""Kernels of transductive methods."""
