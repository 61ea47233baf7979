"""The metrics of one ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rerank.core.tables.display import Display
from rerank.metrics.judges import ReportJudge


class Values(dict[str, float], Display):
    """Metrics of one ranking: a dictionary of names as typed and values.

    Attributes
    ----------
    signatures : mapping of str to str
        What was measured, by name as typed.
    digits : mapping of str to int
        Decimals to show.
    """

    def __init__(self, values: Mapping[str, float], judges: Iterable[ReportJudge] = ()) -> None:
        super().__init__(values)
        made = dict(zip(values, judges, strict=False))
        self.signatures = {name: judge.signature for name, judge in made.items()}
        self.digits = {name: judge.digits for name, judge in made.items()}

    @classmethod
    def described(
        cls,
        values: Iterable[tuple[str, float]],
        signatures: Mapping[str, str],
        digits: Mapping[str, int],
    ) -> Values:
        """Return values with what judges would state of them."""
        made = cls.__new__(cls)
        made.update(values)
        made.signatures, made.digits = dict(signatures), dict(digits)
        return made

    __repr__ = dict.__repr__
