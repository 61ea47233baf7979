"""Conjunctions of indicators made during boosting: candidates, gains, the learner and its models."""
