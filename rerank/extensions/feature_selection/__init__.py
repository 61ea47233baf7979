"""Selection of features, before any learner: by filters, boosting, backward elimination and l1."""
