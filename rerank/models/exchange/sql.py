"""An SQL expression for SQLite, DuckDB or PostgreSQL, over columns that have the names of the features.

NULL, and NaN if the database has it, is a missing value. All arithmetic is that of doubles. Numbers that
SQLite's own parser of decimals may round are written as exact quotients of whole numbers.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, get_args

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.models.exchange.base import (
    BASE_SCORE,
    COUNTED,
    EXCHANGE,
    LINEAR,
    MIXED,
    STEPS,
    TREES,
    ExchangeFormat,
    ExportOptions,
)
from rerank.models.exchange.portable import BASE, Portable, Term
from rerank.models.exchange.trees import TINY, PortableTree

Dialect = Literal["sqlite", "duckdb", "postgresql"]
_GROUP = 40  # summands between parentheses: databases limit how deep expressions are
_MOST_DIGITS, _MOST_ZEROS = 15, 22  # of decimals whose double is one exact operation away


@EXCHANGE.register("sql")
class Sql(ExchangeFormat):
    """An expression."""

    name = "sql"
    summary = "an expression (--dialect sqlite, duckdb, postgresql)"
    holds = frozenset({LINEAR, STEPS, TREES, COUNTED, BASE_SCORE, MIXED})
    writes = True
    honours = frozenset({"dialect"})

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        dialect = options.dialect or "sqlite"
        if dialect not in get_args(Dialect):
            raise ConfigError(f"--dialect: unknown {dialect!r}; {did_you_mean(dialect, get_args(Dialect))}")
        return _Writer(scorer, dialect).text() + "\n"  # type: ignore[arg-type]


class _Writer:
    """The expression of one scorer in one dialect."""

    def __init__(self, scorer: Portable, dialect: Dialect) -> None:
        self.scorer, self.dialect = scorer, dialect
        if scorer.base_weight is not None and BASE in scorer.inputs:
            raise ConfigError(
                f"a feature is called {BASE!r}, as the column of the first stage's score is: rename it"
            )
        folded = [name.lower() for name in scorer.inputs]
        if len(set(folded)) < len(folded):
            twice = next(n for n, low in zip(scorer.inputs, folded, strict=True) if folded.count(low) > 1)
            raise ConfigError(
                f"columns of SQL have no upper and lower case, and {twice!r} is there in both: --names"
            )

    def text(self) -> str:
        scorer = self.scorer
        terms = []
        for t in scorer.terms:
            x = self.column(t.source)
            there = self.number(t.present) if t.present is not None else self.product(x, t)
            if t.present is not None:
                there = f"CASE WHEN {x} IS NULL THEN NULL ELSE {there} END"
            terms.append(there if np.isnan(t.missing) else f"COALESCE({there}, {self.number(t.missing)})")
        total = self.total(terms)
        if scorer.counted:
            counts = [
                f"CASE WHEN {self.column(j)} IS NULL THEN 0 ELSE 1 END" for j in range(len(scorer.inputs))
            ]
            total = f"({total}) * ({self.total(counts)})"
        parts = [total] if terms else []
        if scorer.steps:
            parts.append(self.total([self.steps(k) for k in range(len(scorer.steps))]))
        if scorer.trees:
            parts.append(self.total([self.tree(tree) for tree in scorer.trees]))
        if scorer.base_weight is not None:
            parts.append(f"{self.number(scorer.base_weight)} * {self.named(BASE)}")
        return "(" + " + ".join(f"({part})" for part in parts or ["0e0"]) + ")"

    def product(self, x: str, term: Term) -> str:
        """The summand of a feature that is not missing."""
        if term.shift != 0.0:
            x = f"({x} - {self.number(term.shift)})"
        if term.divisor != 1.0:
            x = f"{x} / {self.number(term.divisor)}"
        return f"{x} * {self.number(term.weight)}"

    def steps(self, k: int) -> str:
        """The step function number k."""
        steps = self.scorer.steps[k]
        x = self.column(steps.source)
        cases = [f"WHEN {x} IS NULL THEN {self.number(steps.missing)}"]
        for at, value in zip(steps.at.tolist()[::-1], steps.values.tolist()[:0:-1], strict=True):
            cases.append(f"WHEN {x} >= {self.number(at)} THEN {self.number(value)}")
        return f"CASE {' '.join(cases)} ELSE {self.number(float(steps.values[0]))} END"

    def tree(self, tree: PortableTree) -> str:
        """A tree: its leaves from left to right, each behind the splits that it is on the left side of.

        A row that failed all leaves of a left branch is on the right one, so those splits need no condition.
        """
        if not len(tree.feature):
            return self.number(float(tree.leaf[0]))
        cases: list[str] = []
        todo: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        while todo:
            child, conditions = todo.pop()
            if child < 0:
                value = self.number(float(tree.leaf[-1 - child]))
                cases.append(
                    f"WHEN {' AND '.join(conditions)} THEN {value}" if conditions else f"ELSE {value}"
                )
                continue
            todo.append((int(tree.right[child]), conditions))
            todo.append((int(tree.left[child]), (*conditions, self.goes_left(tree, child))))
        return f"CASE {' '.join(cases)} END"

    def goes_left(self, tree: PortableTree, i: int) -> str:
        """The condition of going left at split i; NULL counts as false."""
        x, t = self.column(int(tree.feature[i])), self.number(float(tree.threshold[i]))
        if tree.zero_missing[i]:
            tiny = self.number(TINY)
            zero = f"ABS({x}) <= {tiny}"
            if tree.nan_left[i]:
                return f"({x} IS NULL OR {zero} OR {x} <= {t})"
            return f"({x} <= {t} AND ABS({x}) > {tiny})"
        return f"({x} <= {t} OR {x} IS NULL)" if tree.nan_left[i] else f"{x} <= {t}"

    def total(self, parts: list[str]) -> str:
        """The sum of parts in groups."""
        while len(parts) > _GROUP:
            groups = [parts[i : i + _GROUP] for i in range(0, len(parts), _GROUP)]
            parts = [f"({' + '.join(group)})" for group in groups]
        return " + ".join(parts) or "0e0"

    def column(self, j: int) -> str:
        """A feature as a double, NULL if it is missing."""
        return self.named(self.scorer.inputs[j])

    def named(self, name: str) -> str:
        """A column as a double, NULL for what is missing."""
        if not name or "\0" in name:
            raise ConfigError(f"no column of SQL can be called {name!r}: --names")
        quoted = '"' + name.replace('"', '""') + '"'
        if self.dialect == "sqlite":
            return f"CAST(NULLIF({quoted}, '') AS REAL)"
        if self.dialect == "duckdb":
            return f"NULLIF(CAST({quoted} AS DOUBLE), 'NaN'::DOUBLE)"
        return f"NULLIF(CAST({quoted} AS double precision), 'NaN'::double precision)"

    def number(self, value: float) -> str:
        """A constant that is read back to the same double; NULL for NaN."""
        if np.isnan(value):
            return "NULL"
        text = repr(float(value))
        if "e" not in text:
            text += "e0"
        if self.dialect == "postgresql":
            return f"'{text}'::double precision"
        if self.dialect == "sqlite":
            text = _exact(value, text)
        return f"({text})" if text.startswith("-") else text


def _exact(value: float, text: str) -> str:
    """A constant for SQLite: short decimals as they are, others as m * 2^e, which has one exact value."""
    digits = Decimal(text).as_tuple()
    assert isinstance(digits.exponent, int)
    if len(digits.digits) <= _MOST_DIGITS and abs(digits.exponent) <= _MOST_ZEROS:
        return text
    mantissa, exponent = np.frexp(value)
    whole = int(mantissa * 2.0**53)
    exponent = int(exponent) - 53
    while whole % 2 == 0:
        whole, exponent = whole // 2, exponent + 1
    factors = []
    sign = "*" if exponent > 0 else "/"
    left = abs(exponent)
    while left:  # powers of two up to 2^40 are short decimals
        factors.append(f"{sign}{2 ** min(left, 40)}e0")
        left -= min(left, 40)
    return f"({whole}{''.join(factors)})" if factors else f"{whole}e0"
