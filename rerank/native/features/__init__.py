"""Kernels of parse-tree features."""
