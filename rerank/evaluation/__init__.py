"""Evaluation: significance, resampling, comparison of systems, variance."""
