"""The tables of judged systems: systems by row, pairs of systems, experiments over folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rerank.core.tables.table import (
    DETAIL,
    RECORD,
    USUAL,
    Column,
    Group,
    Row,
    Scalar,
    Table,
    gap_text,
    interval_text,
    lists_text,
    p_text,
    plain,
    signed_interval,
    signed_text,
    value_text,
)
from rerank.core.tables.text import WIDTH, Drawing, Part, beside, block, table_drawings
from rerank.core.text import count
from rerank.evaluation.bootstrap import Test
from rerank.evaluation.results import FIRST_BEST, MetricResults, Results
from rerank.evaluation.significance import POWER

SIGNIFICANT = 0.05
REFERENCES = (FIRST_BEST, "random", "oracle")
GAP = "gap: share of the way from first-best to oracle that is closed"
WILCOXON = (
    "p Wilcoxon: signed-rank test of the lists' values against the same system, two-sided, not corrected"
)
WON = "won/tied/lost: lists on which the system is better than it, equal, worse"
SWITCHED = "switched: lists whose choice differs from first-best (by text if items have texts)"
P_VALUES = {  # by key: head and explanation
    "p_bootstrap": ("p bootstrap", "p bootstrap: paired bootstrap, which draws lists with replacement"),
    "holm": ("p Holm", ""),
    "p_randomisation": (
        "p random.",
        "p random.: approximate randomisation, which swaps the systems list by list",
    ),
    "p_wilcoxon": ("p Wilcoxon", "p Wilcoxon: signed-rank test of the lists' values"),
    "p_t": ("p t-test", "p t-test: paired t-test of the lists' values"),
    "p_mcnemar": ("p McNemar", "p McNemar: exact test of the lists won and lost, as each value is 0 or 1"),
}
# Records of values, one for each.
VALUE = ("set", "metric", "row", "share", "fold", "seed", "value", "low", "high", "sd_seeds")
TEST = ("against", "difference", "difference_low", "difference_high", "p", "holm", "wilcoxon", "mcnemar")
KEYS = (*VALUE, *TEST, "wins", "ties", "losses")


def spelled(name: str) -> str:
    """Return the name of a system or a reference as tables have it."""
    return "first-best" if name == FIRST_BEST else name


def named(results: Results) -> list[str]:
    """Return the systems, with a remark at the baseline."""
    return [f"{name} (baseline)" if name == results.against else name for name in results.runs]


def group_of(metric: MetricResults) -> Group:
    """Return the heading of a metric: its name as typed, with a remark if lower values are better."""
    return Group(metric.name, metric.typed if metric.better > 0 else f"{metric.typed} (lower is better)")


def signatures(results: Results) -> tuple[str, ...]:
    """Return the signatures of the metrics."""
    return tuple(metric.signature for metric in results.metrics.values())


def starred(test: Test | None) -> bool:
    """Return whether a difference is significant after Holm's correction."""
    return test is not None and test.holm is not None and test.holm < SIGNIFICANT


def _won(test: Test | None) -> tuple[int, int, int] | None:
    return None if test is None else (test.wins, test.ties, test.losses)


def _percent(results: Results) -> str:
    return f"{100 * results.judging.level:.6g}%"


def _size(results: Results) -> str:
    size = f"{count(results.n_lists, 'list')}, {count(results.n_items, 'item')}"
    n = results.unjudged
    return f"{size}; {count(n, 'list')} without a judged item left out" if n else size


def _resamples(results: Results, within: str = "") -> str:
    return f"{results.judging.samples} resamples of the lists{within}, seed {results.judging.seed}"


def _rows(results: Results, cells: Sequence[Sequence[Any]], dim: int, *, tested: bool = True) -> list[Row]:
    """Rows from columns of cells: ``dim`` references, then the systems with stars by metric."""
    stars = [
        frozenset(
            key
            for key, metric in results.metrics.items()
            if tested and name is not None and starred(metric.against(name, results.against))
        )
        for name in [*[None] * dim, *results.runs]
    ]
    return [
        Row(values, i < dim, own)
        for i, (values, own) in enumerate(zip(zip(*cells, strict=True), stars, strict=True))
    ]


# Systems by row, as ``rerank eval`` prints them.


def system_table(results: Results) -> Table:
    """Return references and systems by row, the columns of each metric in a group."""
    columns = [Column("", ("system",), partial(_marked, baseline=results.against), left=True)]
    cells: list[Sequence[Any]] = [[*map(spelled, REFERENCES), *results.runs]]
    for metric in results.metrics.values():
        of_metric = _system_columns(results, metric)
        columns += of_metric
        cells += of_metric.values()
    rows = _rows(results, cells, len(REFERENCES))
    return Table(tuple(columns), tuple(rows), notes=tuple(_notes(results)), signatures=signatures(results))


def _marked(name: str, baseline: str | None) -> str:
    return f"{name} (baseline)" if name == baseline else name


def _system_columns(results: Results, metric: MetricResults) -> dict[Column, list[Any]]:
    """The columns of one metric with their cells: the references, then the systems."""
    rows = [of_system[metric.name] for of_system in results.systems.values()]
    tests = [row.test for row in rows]
    group, digits = group_of(metric), metric.digits
    columns: dict[Column, list[Any]] = {}

    def add(head: str, keys: str, shown: Any, cells: Sequence[Any], **settings: Any) -> None:
        blank = [""] * (len(REFERENCES) + len(rows) - len(cells))
        columns[Column(head, tuple(keys.split()), shown, group, **settings)] = [*blank, *cells]

    def p_values(key: str) -> list[float | None]:
        return [getattr(test, key, None) for test in tests]

    values = [metric.first_best, metric.random, metric.oracle, *(row.value for row in rows)]
    value = partial(value_text, digits=digits)
    add("value", "value", value, values, star="paper", better=metric.better)
    if not rows:
        return columns
    percent = _percent(results)
    settings = {"narrow": f"{percent}\ninterval", "bracketed": True}
    settings["note"] = f"{percent} interval: percentile interval of {_resamples(results)}"
    interval = partial(interval_text, digits=digits)
    add(f"{percent} interval", "low high", interval, [row.ci for row in rows], **settings)
    if metric.first_best is not None:
        gaps = [row.gap for row in rows]
        add("gap closed", "gap", gap_text, gaps, narrow="gap", level=USUAL, note=GAP)
    if results.against is not None:
        p = {"narrow": "p\nboot.", "star": "text", "level": USUAL}
        add("p bootstrap", "p_bootstrap", p_text, p_values("p_bootstrap"), **p)
        wilcoxon = {"narrow": "p\nWilcoxon", "level": DETAIL, "note": WILCOXON}
        add("p Wilcoxon", "p_wilcoxon", p_text, p_values("p_wilcoxon"), **wilcoxon)
        won = list(map(_won, tests))
        add("won/tied/lost", "wins ties losses", lists_text, won, level=DETAIL, note=WON)
    switched = [row.switched for row in rows]
    if None not in switched:
        add("switched", "switched", plain, switched, level=DETAIL, note=SWITCHED)
    return columns


def _notes(results: Results) -> list[str]:
    """On the size of the set and on the test."""
    tested = len(results.runs) - (results.against in results.runs)
    if results.against is None or not tested:
        return [_size(results)]
    many = f" after Holm's correction for {tested} systems" if tested > 1 else ""
    against = f"p: paired bootstrap against {spelled(results.against)}, two-sided"
    return [_size(results), f"{against}; * p < {SIGNIFICANT}{many}"]


# Pairs of systems, as ``rerank compare`` prints them.


def comparison_table(results: Results) -> Table:
    """Return pairs by row, the values and tests of each metric in a group."""
    of_interval = f"{_percent(results)} percentile interval of {_resamples(results)}"
    notes = (_size(results), f"interval of A - B: {of_interval}")
    metrics = list(results.metrics.values())
    groups = {metric.name: Group(metric.name, metric.typed) for metric in metrics}
    return pair_table(metrics, groups, notes, signatures(results))


def detectable_note(level: float) -> str:
    """Return what the column of detectable differences is."""
    tests = f"tests of these lists at {1 - level:.6g}"
    return f"detectable: smallest difference that {tests} find in {POWER:.0%} of samples"


def pair_table(
    metrics: Sequence[MetricResults],
    groups: Mapping[str, Group],
    notes: tuple[str, ...] = (),
    signatures: tuple[str, ...] = (),
) -> Table:
    """Return the tests of the same pairs by several metrics, whose headings are ``groups``."""
    pairs = metrics[0].pairs
    columns = [Column("A", ("a",), left=True), Column("B", ("b",), left=True)]
    cells: list[Sequence[Any]] = [[test.a for test in pairs], [test.b for test in pairs]]
    for metric in metrics:
        of_metric = _pair_columns(groups[metric.name], metric)
        columns += of_metric
        cells += of_metric.values()
    rows = tuple(
        Row(row, stars=frozenset(metric.name for metric in metrics if starred(metric.pairs[i])))
        for i, row in enumerate(zip(*cells, strict=True))
    )
    of_holm = f"p Holm: p bootstrap corrected for {count(len(pairs), 'pair')}; * p < {SIGNIFICANT}"
    notes = (*notes, "p: two-sided", of_holm)
    return Table(tuple(columns), rows, notes=notes, signatures=signatures, together=False)


def _pair_columns(group: Group, metric: MetricResults) -> dict[Column, Sequence[Any]]:
    """The columns of one metric with their cells."""
    value = partial(value_text, digits=metric.digits)
    interval = partial(signed_interval, digits=metric.digits)
    outcomes = any(test.p_mcnemar is not None for test in metric.pairs)
    columns: dict[Column, Sequence[Any]] = {}

    def add(head: str, key: str, shown: Callable[[Any], str], keys: str = "", **settings: Any) -> None:
        of_tests = [_won(test) if key == "won" else getattr(test, key) for test in metric.pairs]
        columns[Column(head, tuple((keys or key).split()), shown, group, **settings)] = of_tests

    add("value A", "value_a", value)
    add("value B", "value_b", value)
    add("A - B", "difference", partial(signed_text, digits=metric.digits))
    add("interval", "ci", interval, "low high", bracketed=True)
    for key, (head, note) in P_VALUES.items():
        if key != "p_mcnemar" or outcomes:
            star = "both" if key == "holm" else ""
            add(head, key, p_text, narrow=head.replace(" ", "\n"), star=star, note=note)
    add("p sacrebleu", "p_sacrebleu", p_text, level=RECORD)
    add("won/tied/lost", "won", lists_text, "wins ties losses")
    add("detectable", "detectable", value, note=detectable_note(metric.results.judging.level))
    if outcomes:
        add("by McNemar", "detectable_mcnemar", value)
    return columns


# Experiments over folds, seeds and fractions of the training lists, as ``rerank report`` prints them.


def heading(results: Results) -> str:
    """Return the name of an experiment and the size of its test lists."""
    n, unjudged = len(results.parts), results.unjudged
    parts = [count(n, "fold")] * (n > 1)
    parts += [count(results.n_lists, "test list"), count(results.n_items, "item")]
    text = f"{results.name}: {', '.join(parts)}"
    return f"{text}; {count(unjudged, 'list')} without a judged item left out" if unjudged else text


def fold_tables(results: Results, *, tests: bool) -> list[Table]:
    """Return values by system and metric at each fraction, and ``tests`` of two systems in further tables."""
    metrics = list(results.metrics.values())
    others = [one for one in results.fractions if one != results.fraction]
    tables = [_value_table(results, metrics, fraction) for fraction in [results.fraction, *others]]
    if tests and any(metric.pairs for metric in metrics):
        tables.append(pair_table(metrics, {metric.name: group_of(metric) for metric in metrics}))
    return tables


def _value_table(results: Results, metrics: Sequence[MetricResults], fraction: int) -> Table:
    """References and systems with their values and intervals at a fraction of the training lists."""
    references = [name for name in REFERENCES if name in metrics[0].references]
    columns = [Column("", ("row",), left=True)]
    cells: list[Sequence[Any]] = [[*map(spelled, references), *named(results)]]
    for metric in metrics:
        group = group_of(metric)
        rows = [of.get(fraction) for of in metric.rows.values()]
        shown = partial(value_text, digits=metric.digits)
        columns.append(Column("value", ("value",), shown, group, star="paper", better=metric.better))
        values = [None if row is None else row.value for row in rows]
        cells.append([*(getattr(metric, name) for name in references), *values])
        interval = partial(interval_text, digits=metric.digits)
        columns.append(
            Column(f"{_percent(results)} interval", ("low", "high"), interval, group, bracketed=True)
        )
        cells.append([*[""] * len(references), *(None if row is None else row.ci for row in rows)])
    at = f"{fraction} % of the training lists" if len(results.fractions) > 1 else ""
    return Table(
        tuple(columns),
        tuple(_rows(results, cells, len(references), tested=fraction == results.fraction)),
        title=". ".join(filter(None, [heading(results), at])),
        notes=(*caption_lines(results), *(f"note: {text}" for text in results.remarks())),
        signatures=signatures(results),
    )


def fold_parts(results: Results) -> list[Part]:
    """Return tables, paragraphs and notes of one experiment, with empty lines between them.

    If there are several metrics, a table of all values comes first.
    """
    out: list[Part] = [heading(results), ""]
    metrics = list(results.metrics.values())
    references = [name for name in REFERENCES if name in metrics[0].references]
    if len(metrics) > 1:
        out += [_overview(results, metrics, references), ""]
    for metric in metrics:
        out += [_details(results, metric, references), ""]
        if results.all_pairs and metric.pairs:
            out += [*table_drawings(pair_table([metric], {metric.name: group_of(metric)}), WIDTH)[0], ""]
        if len(results.fractions) > 1:
            out += [f"{metric.typed} by share of the training lists", _by_fraction(results, metric), ""]
    notes = (f"note: {text}" for text in results.remarks())
    return [*out, *_explanations(results), *signatures(results), *notes]


def _overview(results: Results, metrics: Sequence[MetricResults], references: Sequence[str]) -> Drawing:
    """Values and intervals of all metrics."""
    titles, blocks = [""], [_names(results, references)]
    for metric in metrics:
        rows = [[value_text(getattr(metric, name), metric.digits), ""] for name in references]
        for name, of in metric.rows.items():
            row, star = of[results.fraction], " *"[starred(metric.against(name, results.against))]
            rows.append([value_text(row.value, metric.digits) + star, interval_text(row.ci, metric.digits)])
        titles.append(group_of(metric).title)
        blocks.append(block(["value ", _interval_head(results)], rows, dim=len(references)))
    return beside(titles, blocks)


def _interval_head(results: Results) -> str:
    return f"{100 * results.judging.level:.4g}% int."


def _names(results: Results, references: Sequence[str]) -> Drawing:
    names = [*map(spelled, references), *named(results)]
    return block([" "], [[name] for name in names], left=1, dim=len(references))


def _details(results: Results, metric: MetricResults, references: Sequence[str]) -> Drawing:
    """One metric: values with their spread, and differences from the baseline."""
    titles, blocks = ["", group_of(metric).title], [_names(results, references)]
    tables = [_value_columns(results, metric, references)]
    if results.against is not None:
        tests = [metric.against(name, results.against) for name in results.runs]
        columns = _difference_columns(metric, tests)
        tables.append({head: [*[""] * len(references), *cells] for head, cells in columns.items()})
        titles.append(f"difference from {spelled(results.against)}")
    for columns in tables:
        blocks.append(block(list(columns), list(zip(*columns.values(), strict=True)), dim=len(references)))
    return beside(titles, blocks)


def _value_columns(
    results: Results, metric: MetricResults, references: Sequence[str]
) -> dict[str, list[str]]:
    digits, blank = metric.digits, [""] * len(references)
    rows = [of[results.fraction] for of in metric.rows.values()]
    values = [*(getattr(metric, name) for name in references), *(row.value for row in rows)]
    columns = {"value": [value_text(value, digits) for value in values]}
    columns[_interval_head(results)] = [*blank, *(interval_text(row.ci, digits) for row in rows)]
    if len(results.parts) > 1:
        spreads = [*(metric.references[name] for name in references), *(row.by_fold for row in rows)]
        columns["folds"] = [_spread(values, digits) for values in spreads]
    if any(row.sd_seeds is not None for row in rows):
        columns["seeds"] = [*blank, *(str(len(row.seeds)) for row in rows)]
        columns["sd"] = [*blank, *(value_text(row.sd_seeds, digits) for row in rows)]
    if metric.first_best is not None:
        columns["gap"] = [*blank, *(gap_text(row.gap) for row in rows)]
    return columns


def _spread(values: Sequence[float], digits: int) -> str:
    """The smallest and the largest value over folds."""
    known = [value for value in values if value == value]
    return interval_text((min(known), max(known)), digits) if known else "-"


def _difference_columns(metric: MetricResults, tests: Sequence[Test | None]) -> dict[str, list[str]]:
    digits = metric.digits

    def cells(key: str, shown: Callable[[Any], str]) -> list[str]:
        return [shown(getattr(test, key, None)) for test in tests]

    holm = zip(cells("holm", p_text), tests, strict=True)
    columns = {
        "value": cells("difference", partial(signed_text, digits=digits)),
        "interval": cells("ci", partial(signed_interval, digits=digits)),
        "p": cells("p_bootstrap", p_text),
        "Holm": [p + " *"[starred(test)] for p, test in holm],
        "Wilcoxon": cells("p_wilcoxon", p_text),
    }
    if any(test is not None and test.p_mcnemar is not None for test in tests):
        columns["McNemar"] = cells("p_mcnemar", p_text)
    columns["won/tied/lost"] = [lists_text(_won(test)) for test in tests]
    columns["detectable"] = cells("detectable", partial(value_text, digits=digits))
    return columns


def _by_fraction(results: Results, metric: MetricResults) -> Drawing:
    """Values and intervals of each fraction of the training lists."""
    blocks = [block([" "], [[name] for name in results.runs], left=1)]
    for fraction in results.fractions:
        rows = [of.get(fraction) for of in metric.rows.values()]
        cells = [
            [
                value_text(None if row is None else row.value, metric.digits),
                interval_text(None if row is None else row.ci, metric.digits),
            ]
            for row in rows
        ]
        blocks.append(block(["value", "interval"], cells))
    return beside(["", *(f"{fraction} %" for fraction in results.fractions)], blocks)


def _several_seeds(results: Results) -> bool:
    return any(len(folds[0]) > 1 for of in results.runs.values() for folds in of.values())


def caption_lines(results: Results) -> list[str]:
    """Return what the columns of values and tests mean."""
    several = len(results.parts) > 1
    tests = max(len(metric.pairs) for metric in results.metrics.values())
    lines = []
    if several:
        lines.append("value: mean over folds")
    if _several_seeds(results):
        lines.append("rows with several seeds: mean over seeds")
    how = _resamples(results, " within each fold" * several)
    lines.append(f"interval: {_percent(results)} percentile interval of {how}")
    if tests:
        against = "" if results.against is None else f" against {spelled(results.against)}"
        many = f" after Holm's correction for {count(tests, 'test')} of the metric" if tests > 1 else ""
        lines.append(f"p: paired bootstrap{against}, two-sided; * p < {SIGNIFICANT}{many}")
    if len(results.fractions) > 1:
        lines.append(f"rows are tested at {results.fraction} % of the training lists")
    return lines


def _explanations(results: Results) -> list[str]:
    """Return explanations of the columns of text."""
    lines, metrics = caption_lines(results), results.metrics.values()
    several = len(results.parts) > 1
    if several:
        lines.append("folds: smallest and largest value of a fold")
    if _several_seeds(results):
        lines.append("sd: standard deviation over seeds")
    if any(metric.first_best is not None for metric in metrics):
        lines.append("gap: share of the way from first-best to oracle")
    if any(metric.pairs for metric in metrics):
        if several:
            lines.append("Wilcoxon, McNemar, won/tied/lost: over the lists of all folds")
        lines.append(detectable_note(results.judging.level))
    return lines


def records(results: Results) -> Iterator[dict[str, Scalar]]:
    """Yield a record for each value, with some of ``KEYS``.

    Records without a fold and a seed have the value over all of them, its interval, and the test against
    the baseline; if all pairs are tested, each test has a record without a value. References are rows without
    a share.
    """
    folds = [part.name for part in results.parts]
    for metric in results.metrics.values():
        own: dict[str, Scalar] = {"set": results.name, "metric": metric.name}
        for name, by_fold in metric.references.items():
            yield own | {"row": name, "value": getattr(metric, name)}
            for fold, value in zip(folds, by_fold, strict=True):
                yield own | {"row": name, "fold": fold, "value": value}
        for name, fractions in metric.rows.items():
            for fraction, row in fractions.items():
                of = own | {"row": name, "share": fraction}
                low, high = row.ci or (None, None)
                whole = {"value": row.value, "low": low, "high": high, "sd_seeds": row.sd_seeds}
                yield of | whole | _test_record(row.test if fraction == results.fraction else None)
                for fold, values in zip(folds, row.values, strict=True):
                    for seed, value in zip(row.seeds, values, strict=True):
                        yield of | {"fold": fold, "seed": seed, "value": value}
        for test in metric.pairs if results.all_pairs else ():
            yield own | {"row": test.a, "share": results.fraction} | _test_record(test)


def _test_record(test: Test | None) -> dict[str, Scalar]:
    if test is None:
        return {}
    low, high = test.ci or (None, None)
    found = (test.b, test.difference, low, high, test.p_bootstrap, test.holm, test.p_wilcoxon, test.p_mcnemar)
    won = {"wins": test.wins, "ties": test.ties, "losses": test.losses}
    return dict(zip(TEST, found, strict=True)) | won
