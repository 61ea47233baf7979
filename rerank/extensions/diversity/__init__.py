"""Diversity: lists whose first items differ, and metrics of subtopics."""
