"""Boosting: feature selection by the exponential and the logistic loss."""
