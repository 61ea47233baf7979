"""From lists to a model."""
