"""Kernels of transductive ranking."""
