"""Kernels of structures and sequences of residues."""
