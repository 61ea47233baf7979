"""The steps around a learner, one file each; see ``rerank.training.steps.base``."""
