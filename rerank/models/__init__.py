"""Models: what a learner returns; score, save, load, explain."""
