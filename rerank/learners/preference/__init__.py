"""Preference SVM: pairs of items under any kernel on items, solver, learner."""
