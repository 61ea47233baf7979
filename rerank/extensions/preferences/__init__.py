"""Preferences: systems and candidates rated by comparisons of two or more."""
