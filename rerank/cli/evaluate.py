"""``rerank eval`` and ``rerank compare``: metrics of systems, in numbers that can be cited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from msgspec.structs import replace

from rerank.cli.detail import Detailed
from rerank.cli.frame import OUTPUTS, TESTS, Output, Verb, verb, write
from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.data.reading import Reading


@contextmanager
def with_page(
    html: str | None, data: str, reading: Reading, systems: Sequence[str], outputs: Mapping[str, str | None]
) -> Iterator[Callable[..., None]]:
    """Check outputs before long work, and place all or none; the block gets what writes the page."""
    from rerank.formats.sources import all_or_none, check_outputs, inputs_of

    paths = {option: path for option, path in {**outputs, "--html": html}.items() if path not in (None, "-")}
    if paths:
        check_outputs(paths, inputs_of(data, reading, *systems))
    if html is None:
        yield lambda found, *sections: None
        return
    from rerank.report.page import check_page, write_page

    check_page(html)
    with all_or_none():
        yield lambda found, *sections: write_page(found, html, sections)


class Paged(Settings):
    """The page that eval and compare write."""

    html: str | None = setting(
        None,
        "write a page of tables, figures and single lists (needs rerank[report])",
        metavar="FILE",
        group=OUTPUTS,
    )


class Evaluate(Detailed, Paged, Output, Verb):
    """Options of ``rerank eval``."""

    reads: ClassVar = True
    judges: ClassVar = ()

    data: str = setting(
        ..., "judged lists, or judgements (qrels); - is standard input", argument=True, metavar="DATA"
    )
    systems: tuple[str, ...] = setting(
        (),
        "score files (a number per item line), runs, tables of scores by ids, DATA:FEATURE, "
        "TABLE:FEATURE, or predicted classes",
        argument=True,
        metavar="SYSTEMS",
    )
    replicas: bool = setting(
        False,
        "the score files are runs of one system with different seeds: report their variance",
        group=TESTS,
    )
    curve_n: int | None = setting(
        None,
        "values of 1, 2, 4, ... N samples, and from which number on more do not gain; metrics are named "
        "without @k: best, maj, wmaj, pass",
        metavar="N",
        group=TESTS,
    )
    per_list: str | None = setting(None, "write the values of each list (TSV)", metavar="FILE", group=OUTPUTS)
    by_list: bool = setting(
        False,
        "print a row for each list too: its items, its best label, what each system chose, and its "
        "values. CSV has these rows alone",
        group=OUTPUTS,
    )


@verb(Evaluate)
def evaluate(given: Evaluate) -> None:
    """Evaluate systems on judged lists against first-best, random and oracle, with significance.

    \b
    rerank eval test.txt scores.txt --metric AP --metric nDCG@10
    rerank eval qrels.txt a.run b.run --metric AP
    rerank eval test.csv scores.txt test.csv:bm25 --metric AP
    """
    from rerank.evaluation.evaluate import evaluate_files

    if given.html is not None and given.replicas:
        raise ConfigError("--html shows each score file as a system of its own; leave out --replicas")
    judging, curve = given.detailed(dict(given.judging)), None
    if given.curve_n is not None:
        from rerank.extensions.selection.samples import SampleCurve, by_sizes

        if given.by_list or given.replicas:
            raise ConfigError(f"--curve-n: not used with {'--by-list' if given.by_list else '--replicas'}")
        judging["metrics"] = by_sizes(judging.get("metrics", ()), given.curve_n)
    names = [*(given.systems or []), *filter(None, [given.judging.get("baseline")])]
    files = {"--per-list": given.per_list, "--out": given.out}
    with with_page(given.html, given.data, given.reading, names, files) as show:
        others = given.others("data", "systems", "html", "by_list", "as_", "out", "curve_n", "detail")
        in_blocks = not (given.html or given.by_list or given.curve_n)
        result = evaluate_files(given.data, given.systems or [], in_blocks=in_blocks, **others, **judging)
        if given.curve_n is not None:
            curve = SampleCurve(result, given.judging["metrics"], given.curve_n)
        show(result, *([] if curve is None else [curve.section]))
    notes = [line for line in result.variance_lines() if line]
    if curve is not None:
        write(given.as_, curve.lines, curve.as_json, curve.tables, notes=notes, out=given.out)
        return
    if not given.by_list:
        write(given.as_, result.print, result.as_json, result.tables, notes=notes, out=given.out)
        return
    from rerank.core.tables.text import text_lines

    by_list = result.by_list()
    table = replace(by_list.table(), signatures=())  # the evaluation has them

    def text() -> list[str]:
        result.print()
        return ["", *text_lines(table)]

    write(
        given.as_,
        text,
        lambda: result.as_json() | {"by_list": list(by_list.records())},
        lambda: [*result.tables(), table],
        data=lambda: by_list.table(totals=False),
        notes=notes,
        out=given.out,
    )


class Compare(Paged, Output, Verb):
    """Options of ``rerank compare``."""

    reads: ClassVar = True
    judges: ClassVar = ("baseline",)

    data: str = setting(
        ..., "judged lists, or judgements (qrels); - is standard input", argument=True, metavar="DATA"
    )
    systems: tuple[str, ...] = setting(
        ...,
        "two or more, as for 'rerank eval'. A run that is DATA is one of them",
        argument=True,
        metavar="SYSTEMS",
    )


@verb(Compare)
def compare(given: Compare) -> None:
    """Test every two systems: bootstrap, randomisation, Wilcoxon, t, McNemar, Holm's correction.

    \b
    rerank compare test.txt a.scores b.scores c.scores --metric AP
    rerank compare a.run b.run --qrels qrels.txt --metric AP
    """
    from rerank.evaluation.evaluate import compare_files

    with with_page(given.html, given.data, given.reading, given.systems, {"--out": given.out}) as show:
        found = compare_files(given.data, given.systems, reading=given.reading, **given.judging)
        show(found)
    write(given.as_, found.print, found.as_json, found.tables, out=given.out)
