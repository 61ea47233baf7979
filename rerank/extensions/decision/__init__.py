"""Decisions by expected gain (minimum Bayes risk), ensembles of models, and consensus features."""
