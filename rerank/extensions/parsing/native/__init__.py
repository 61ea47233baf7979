"""Kernels of parses and of their features."""
