"""Predtron: mistake-driven learners for any loss and any representation of predictions (Jain et al. 2015)."""
