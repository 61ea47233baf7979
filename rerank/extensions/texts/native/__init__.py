"""Kernels of features of texts."""
