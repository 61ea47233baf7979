"""Log-linear models of lists: targets, likelihood, minimiser, learner."""
