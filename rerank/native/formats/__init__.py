"""Kernels that read and write files."""
