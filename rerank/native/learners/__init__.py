"""Kernels of learners."""
