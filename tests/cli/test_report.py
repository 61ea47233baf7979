"""`rerank report` as a user calls it."""

import shutil

import pytest
from command_line import TINY

from rerank.experiments.reporting import read_report
from rerank.experiments.run import run

RUN = """\
data: {train: train.letor, dev: dev.letor, test: test.letor}
select: {metric: AP}
metrics: [AP, P@1]
learners:
  best-feature:
  perceptron: {epochs: 2}
  ridge:
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of the experiment on the tiny sets."""
    folder = tmp_path_factory.mktemp("results")
    for path in TINY.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "run.yaml").write_text(RUN)
    assert not run(folder / "run.yaml", folder / "r").failed
    return folder / "r"


@pytest.fixture
def runs(work, results):
    """A folder with the tiny sets and a copy of the results, r."""
    shutil.copytree(results, work / "r")
    return work


def test_every_output_is_written(runs, rerank):
    shown = rerank("report", "r", "--samples", 20, "--seed", 3).out
    assert shown == read_report("r", samples=20, seed=3).text()
    arguments = ("--samples", 20, "--as", "csv", "--out", "t.csv", "--per-list", "l.tsv")
    assert rerank("report", "r", *arguments).out == ""
    assert (runs / "t.csv").read_text() == read_report("r", samples=20).text("csv")
    lines = (runs / "l.tsv").read_text().split("\n")
    assert lines[0] == "set\tfold\tlist\tsystem\tmetric\tvalue"
    assert len(lines) == 2 + 2 * 3 * read_report("r").results[0].metrics["AP"].lists


def test_options_choose_metrics_and_tests(runs, rerank):
    out = rerank("report", "r", "-m", "RR", "--baseline", "ridge").out
    assert "ridge (baseline)" in out
    assert "AP" not in out
    out = rerank("report", "r", "--all-pairs", "--choices", "--costs").out
    assert "for 3 tests of the metric" in out
    assert "training s" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent",), "absent: found nothing without experiment.json"),
        (("r", "r"), "expected each once"),
        (("r", "-m", "APP"), "unknown metric 'APP'"),
        (("r", "-m", "BLEU"), "BLEU needs the candidates' texts"),
        (("r", "--baseline", "rigde"), "did you mean 'ridge'"),
        (("r", "--baseline", "first-best"), "no order of their own"),
        (("r", "--baseline", "ridge", "--all-pairs"), "--all-pairs tests every two rows"),
        (("r", "--as", "pdf"), "as: found 'pdf', expected 'text'"),
        (("r", "--as", "csv", "--choices"), "--choices: not part of csv"),
        (("r", "--out", "test.letor/x"), "test.letor"),
        (("r", "--out", "r/experiment.json"), "is one of the input files"),
        (("r", "--html", "page.txt"), "expected a name that ends in .html"),
    ],
)
def test_mistakes_are_one_line(runs, rerank, arguments, message):
    result = rerank("report", *arguments, code=2)
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_page_is_written(runs, rerank):
    pytest.importorskip("matplotlib", reason="needs rerank[report]")
    pytest.importorskip("jinja2", reason="needs rerank[report]")
    rerank("report", "r", "--samples", 20, "--html", "page.html")
    page = (runs / "page.html").read_bytes()
    assert b"best-feature" in page
    rerank("report", "r", "--samples", 20, "--html", "page.html", "--out", "text")
    assert (runs / "page.html").read_bytes() == page
