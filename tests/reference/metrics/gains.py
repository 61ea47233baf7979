"""nDCG: see ranking.py."""

from reference.metrics.ranking import value

__all__ = ["value"]
