"""Ranking SVM: pair losses without pairs, minimiser, learner."""
