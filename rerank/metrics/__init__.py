"""Measures by name, judges made of them, significance, and evaluations that join the two.

A family of measures is one file here that registers itself (``base.FAMILIES``).
"""
