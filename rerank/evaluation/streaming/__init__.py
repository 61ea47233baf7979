"""Evaluation block by block: of each list one value for each metric and system is kept."""
