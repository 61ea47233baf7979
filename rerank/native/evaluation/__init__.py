"""Kernels of resampling."""
