"""Samples of language models, as evaluation tools write them."""
