"""Learners on folds of judged lists: settings chosen on dev lists, judged on test lists; for two tables."""
