"""Columns of lists beyond numbers: strings, ragged arrays, forests."""
