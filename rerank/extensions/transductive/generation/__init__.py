"""Feature generation: kernel PCA on the items of a list, and rankers of original and generated features."""
