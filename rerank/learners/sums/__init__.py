"""Sums over parts of the training lists: what a learner needs to train where the parts are."""
