"""TREC runs and judgements."""
