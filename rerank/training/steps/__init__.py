"""What happens around a learner: one step a file, see ``rerank.training.steps.base``."""
