"""Layouts of feature matrices; rerank/data/matrix.py offers them."""
