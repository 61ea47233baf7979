"""Kernels of utilities."""
