"""Kernels of feature selection."""
