"""Kernels of columns, matrices and text shared by the packages above."""
