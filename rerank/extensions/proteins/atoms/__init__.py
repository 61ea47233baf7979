"""All heavy atoms of models and natives, and the metrics that need them."""
