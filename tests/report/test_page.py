"""The page: its sections, what an assistive program reads, hostile names, the same bytes, its size."""

import re
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from msgspec import structs

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from small_judging import every_pair, of_systems, part_of
from small_judging import results as results_
from small_pages import HOSTILE, Page, experiment, folds_of, outcome, scored

from rerank.core.errors import ConfigError, RerankError
from rerank.data.columns.strings import StringColumn
from rerank.evaluation.results import Run
from rerank.report.page import check_page, page_text, write_page

SECTIONS = {
    "results": "Results",
    "share": "Value by share of the training lists",
    "differences": "Differences by list",
    "sizes": "Lists by size of the difference",
    "groups": "Gain by length and difficulty",
    "depth": "Value by number of candidates",
    "recall": "Precision and recall",
    "curves": "Learning curves",
    "weights": "Weights",
    "lists": "Lists that gained and lost most",
}


def titles(page):
    return [text for level, text in page.headings if level > 1]


@pytest.fixture(scope="module")
def whole():
    return page_text(experiment())


def test_a_whole_experiment_has_every_section(whole):
    page = Page(whole)
    assert titles(page) == list(SECTIONS.values())
    assert [link for link in page.links if link.startswith("#set")] == [f"#set1-{name}" for name in SECTIONS]
    # For each metric values, shares, two systems' differences, sizes, two gains and N; then recall, curves,
    # weights.
    assert len(page.figures()) == 2 * (1 + 1 + 2 + 1 + 2 + 1) + 1 + 3 + 3


def test_it_needs_nothing_else_and_can_be_read_aloud(whole):
    check_structure(whole)


def check_structure(text):
    """What holds for every page."""
    page = Page(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert [id for id, n in page.ids.items() if n > 1] == []
    for link in page.links:
        assert link == "data:," or (link.startswith("#") and page.ids[link[1:]] == 1), link
    for target in re.findall(r"url\(#([^)]*)\)", text):
        assert page.ids[target] == 1
    assert "url(" not in re.sub(r"url\(#", "", text)
    for key in ("onclick", "onerror", "onload", "style='", "@import"):
        assert not any(key in found for _, found in page.attributes)
    assert page.tags["script"] == page.tags["style"] == page.tags["main"] == page.tags["h1"] == 1
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(len(label) > 20 and re.search(r"\d", label) for label in page.figures())
    assert page.tags["figure"] == len(page.figures()) == page.tags["figcaption"]
    assert page.tags["table"] == page.tags["caption"]
    assert all(found["scope"] in ("row", "col") for found in page.of("th"))
    columns = [found for found in page.of("th") if found["scope"] == "col"]
    assert {found["aria-sort"] for found in columns} <= {"none"}
    assert page.tags["button"] == len(columns)
    return page


def test_the_script_is_the_only_one_that_may_run(whole):
    import base64
    import hashlib

    script = re.search(r"<script>(.*?)</script>", whole, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [found["content"] for found in Page(whole).of("meta") if "http-equiv" in found]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_the_same_results_give_the_same_bytes(tmp_path, whole):
    write_page(experiment(), str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == whole
    assert len(whole.encode()) < 1_000_000


@pytest.mark.parametrize(
    ("results", "absent"),
    [
        (lambda: scored(2), {"share", "curves", "weights"}),
        (lambda: scored(2, ("tau-b",)), {"share", "curves", "weights", "depth", "recall"}),
        (lambda: scored(0), set(SECTIONS) - {"results", "depth", "recall"}),
        (lambda: scored(1, baseline="0.scores"), set(SECTIONS) - {"results", "depth", "recall"}),
        (
            lambda: experiment(("one",), n_folds=1, seeds=(None,), shares=(100,)),
            {"share", "differences", "sizes", "groups", "lists"},
        ),
        (lambda: experiment(baseline=None), {"differences", "sizes", "groups", "lists"}),
    ],
)
def test_sections_without_content_are_left_out(results, absent):
    page = check_structure(page_text(results()))
    assert titles(page) == [title for name, title in SECTIONS.items() if name not in absent]


def test_lists_without_an_order_say_what_is_missing():
    (part,) = folds_of(1)
    lists = replace(part.lists, first_best=None)
    results = of_systems(lists, {"a": outcome(lists, 1).scores}, ["AP"], samples=50)
    page = check_structure(page_text(results))
    assert "Differences by list, gains and single lists: no baseline is named." in page.text
    assert "Value by number of candidates: the lists have no first stage's order." in page.text


def test_several_sets_have_a_section_of_their_own():
    small = {"n_folds": 1, "shares": (100,), "metrics": ("AP",), "models": False}
    sets = [structs.replace(experiment(**small), name=name) for name in ("one", "two", "two")]
    page = check_structure(page_text(sets))
    assert titles(page)[0] == "All data sets"
    assert [text for level, text in page.headings if level == 2] == ["All data sets", "one", "two", "two"]
    ranks = [label for label in page.figures() if label.startswith("Mean ranks by AP over 3 data sets: ")]
    assert len(ranks) == 1
    few = [structs.replace(one, runs=dict(list(one.runs.items())[:2])) for one in sets]
    assert not any(label.startswith("Mean ranks") for label in check_structure(page_text(few)).figures())


def test_every_two_systems():
    results = scored(3, ("AP",), baseline="0.scores")
    page = check_structure(page_text(every_pair(results)))
    assert "Every two systems by AP" in page.text
    pairs = every_pair(results).metrics["AP"].pairs
    assert len(pairs) == 3
    assert "corrected for all 3 pairs; bold below 0.05" in {found.get("title") for found in page.of("th")}


def test_numbers_are_those_of_the_summary(whole):
    results = experiment()
    page = Page(whole)
    for metric in results.metrics.values():
        for name, shares in metric.rows.items():
            assert f"{name} {shares[100].value:.{metric.digits}f}" in " ".join(page.figures())
        for pair in metric.pairs:
            assert f"{pair.wins} / {pair.ties} / {pair.losses}" in page.text


def hostile():
    """Results whose every name is hostile."""
    systems = HOSTILE
    results = experiment(systems, n_folds=1, seeds=(1,), shares=(40, 100))
    part = results.parts[0]
    lists = part.lists
    names = [HOSTILE[i % len(HOSTILE)] for i in range(lists.n_items)]
    lists = replace(
        lists,
        list_ids=StringColumn.from_strings([f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(lists.n_lists)]),
        texts=StringColumn.from_strings(names),
        prompts=StringColumn.from_strings([HOSTILE[i % len(HOSTILE)] for i in range(lists.n_lists)]),
        references=(StringColumn.from_strings([HOSTILE[i % len(HOSTILE)] for i in range(lists.n_lists)]),),
    )
    rows = {
        name: {
            share: tuple(
                tuple(structs.replace(one, weights={HOSTILE[i]: float(i) for i in range(8)}) for one in fold)
                for fold in folds
            )
            for share, folds in shares.items()
        }
        for name, shares in results.runs.items()
    }
    found = results_(
        HOSTILE[0], (part_of(HOSTILE[1], lists, ["AP", "WER"]),), rows, baseline=HOSTILE[2], samples=20
    )
    return structs.replace(found, notes=HOSTILE)


def test_hostile_names_are_only_text():
    text = page_text(hostile())
    page = check_structure(text)
    assert page.tags["img"] == page.tags["b"] == 0
    for name in HOSTILE[:3]:
        assert name in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "\u202e" not in text
    assert "\x07" not in text
    assert "\\u202e" in text


def test_values_that_are_not_there():
    """A fold without a judgement, equal systems, NaN in curves and weights."""
    parts = folds_of(2, ("AP", "label@1"))
    blank = parts[1].lists.replace_labels(np.full(parts[1].lists.n_items, np.nan))
    parts = (parts[0], part_of("2", blank, ("AP", "label@1")))
    nan = float("nan")
    curves = [{"round": 1, "train": nan, "dev": 0.1}, {"round": 2, "train": nan, "dev": 0.2}]
    rows = {
        name: {
            100: tuple(
                (Run(np.zeros(part.lists.n_items), 1, curves, {"f": nan, "g": 0.0}),) for part in parts
            )
        }
        for name in ("a", "b")
    }
    results = results_("blank", parts, rows, baseline="a", samples=20)
    page = check_structure(page_text(results))
    assert "0 lists better" in page.text
    assert "nan" not in page.text.lower().split()


@pytest.mark.parametrize("n", [1, 2])
def test_small_sets(n):
    (part,) = folds_of(1)
    lists = part.lists.subset(list(range(4, 4 + n)))
    systems = {name: outcome(lists, seed).scores for seed, name in enumerate("ab")}
    check_structure(page_text(of_systems(lists, systems, ["AP", "WER"], samples=5)))


def test_many_systems_fit_in_a_megabyte():
    results = experiment(
        tuple(f"system {i}" for i in range(23)), n_folds=5, seeds=(None,), shares=(40, 60, 80, 100)
    )
    text = page_text(structs.replace(results, judging=results.judging.with_settings(samples=20)))
    page = check_structure(text)
    assert len(text.encode()) < 1_000_000
    assert "The 8 best of 23 systems are shown." in page.text
    assert "The 3 best of 22 systems are shown." in page.text


@pytest.mark.parametrize(
    ("path", "message"),
    [("page.pdf", "expected a name that ends in .html"), ("page.html.gz", "expected a name")],
)
def test_other_names_are_refused(path, message):
    with pytest.raises(ConfigError, match=message):
        check_page(path)


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_the_extra_it_is_named(package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"rerank\[report\]"):
        check_page(str(tmp_path / "page.html"))


def test_no_results_and_a_place_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="one set at least"):
        page_text([])
    with pytest.raises(RerankError, match="absent"):
        write_page(scored(1), str(tmp_path / "absent" / "page.html"))
