"""Kernels of diversity."""
