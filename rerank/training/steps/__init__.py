"""The steps around a learner; see ``rerank.training.steps.base``."""
