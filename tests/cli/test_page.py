"""``--html`` of eval and compare: the page beside the table, faults before long work."""

import re

import pytest
from small_pages import Page

from rerank.data.reading import Reading
from rerank.evaluation.evaluate import compare_files, evaluate_files
from rerank.experiments.reporting import read_report
from rerank.report.page import page_text, write_page

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

ASKED = ("-m", "RR", "-m", "P@1", "--samples", "20")


@pytest.fixture
def scored(rerank, work):
    """Two score files of the tiny test lists."""
    for name, seed in (("a", 1), ("b", 2)):
        rerank("train", "--data", "train.letor", "--set", f"epochs={seed}", "--out", "model")
        rerank("predict", "model", "test.letor", "--out", f"{name}.scores")
    return work


def test_eval_writes_the_page_and_prints_the_same_table(rerank, scored):
    asked = ("eval", "test.letor", "a.scores", "b.scores", "-b", "a.scores", "--first-best", "input", *ASKED)
    plain = rerank(*asked)
    assert rerank(*asked, "--html", "page.html").out == plain.out
    text = (scored / "page.html").read_text()
    page = Page(text)
    assert page.headings[0] == (1, "test.letor")
    assert "baseline a.scores" in page.text
    assert "Value by number of candidates" in page.text
    found = evaluate_files(
        "test.letor",
        ["a.scores", "b.scores"],
        ["RR", "P@1"],
        baseline="a.scores",
        reading=Reading(first_best="input"),
        samples=20,
    )
    write_page(found, "again.html")
    assert (scored / "again.html").read_text() == text
    result = found.systems["b.scores"]["RR"]
    test = result.test
    assert f"{test.wins} / {test.ties} / {test.losses}" in page.text
    assert result.ci is not None
    assert "{:.4f} to {:.4f}".format(*result.ci) in page.text


def test_compare_shows_every_two_systems(rerank, scored):
    asked = ("compare", "test.letor", "a.scores", "b.scores", *ASKED)
    plain = rerank(*asked)
    assert rerank(*asked, "--html", "page.html").out == plain.out
    page = Page((scored / "page.html").read_text())
    assert "Every two systems by RR" in page.text
    found = compare_files("test.letor", ["a.scores", "b.scores"], ["RR"], samples=20)
    (pair,) = found.pairs["RR"]
    shown = f"{pair.difference:+.4f}".replace("-", "−")
    assert shown in page.text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--html", "page.pdf"], "expected a name that ends in .html"),
        (["--html", "-"], "expected a name that ends in .html"),
        (["--html", "absent/page.html"], "absent"),
        (["--html", "p.html", "--per-list", "p.html"], "is the output of --per-list"),
        (["--html", "page.html", "--replicas"], "leave out --replicas"),
    ],
)
def test_faults_are_found_before_anything_is_read(rerank, work, more, message):
    error = rerank("eval", "no-such-lists", "a", "b", *more, code=2).err
    assert message in error
    assert not re.search(r"no-such-lists", error)
    assert not list(work.glob("*.html"))


def test_report_writes_the_page_of_a_run(rerank, work):
    (work / "run.yaml").write_text(
        "data: {train: train.letor, dev: dev.letor, test: test.letor, first_best: input}\n"
        "select: {metric: RR, keep: best}\nmetrics: [AP]\nbaseline: best-feature\n"
        "train_fractions: [50, 100]\n"
        "learners:\n  best-feature:\n  perceptron: {epochs: 3}\n"
    )
    rerank("run", "run.yaml", "--out", "r")
    found = read_report("r", samples=20)
    shown = rerank("report", "r", "--samples", 20, "--html", "page.html").out
    assert shown == found.text()
    text = (work / "page.html").read_text()
    page = Page(text)
    assert text == page_text(found.results)
    assert [title for level, title in page.headings if level == 2] == [
        "Results",
        "Value by share of the training lists",
        "Differences by list",
        "Lists by size of the difference",
        "Gain by length and difficulty",
        "Value by number of candidates",
        "Precision and recall",
        "Learning curves",
        "Weights",
        "Lists that gained and lost most",
    ]
    for more in (
        ["--html", "page.pdf"],
        ["--html", "p.html", "--out", "p.html"],
        ["--html", "r/experiment.json"],
    ):
        assert rerank("report", "r", *more, code=2).out == ""


def test_classes_have_a_page(rerank, work):
    (work / "examples.txt").write_text("".join(f"{'ab'[i % 2]} 1:{i}\n" for i in range(8)))
    (work / "x").write_text("a\n" * 8)
    (work / "y").write_text("".join(f"{'ab'[i % 2]}\n" for i in range(8)))
    rerank("eval", "examples.txt", "x", "y", "-b", "x", "--classes", "--samples", "9", "--html", "page.html")
    page = Page((work / "page.html").read_text())
    assert "zero-one (lower is better)" in page.text
    assert "Differences by list" in page.text
