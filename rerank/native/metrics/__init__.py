"""Kernels of metrics."""
