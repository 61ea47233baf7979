"""Cython kernels. They check nothing, allocate little and import nothing from rerank."""
