"""Importance weighting: training samples count more the more they look like those of one test list."""
