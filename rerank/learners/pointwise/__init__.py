"""Regression and classification of single items."""
