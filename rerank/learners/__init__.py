"""Learners, one file each. They import no metric and no format: a Judge reaches them from outside."""
