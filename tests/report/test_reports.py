"""Reports in every form: names of all kinds, the best value, no baseline, no value."""

import csv
import json
from io import StringIO

import numpy as np
import pytest
from evaluation.test_results import two_folds
from experiments.conftest import lists_of
from msgspec.structs import replace
from small_judging import of_systems

from rerank.core.tables.display import FORMS
from rerank.report import Report


def over_folds():
    """Two folds, a row with seeds, and one of two shares."""
    both = two_folds(["AP", "loss@1"], samples=100, baseline="plain")
    drawn, plain = (both.runs[name][100] for name in ("drawn", "plain"))
    systems = {"drawn": {50: plain, 100: drawn}, "plain": {50: plain, 100: plain}}
    return replace(both, runs=systems)


@pytest.mark.parametrize(
    ("form", "name"), [("text", "report.txt"), ("markdown", "report.md"), ("latex", "report.tex")]
)
def test_a_report_over_folds_seeds_and_shares(golden, form, name):
    results = over_folds()
    golden(name, Report((results,)).text(form))


NASTY = ("a|b_c", "50% & $x^2$ {~} \\", "<script>*#", "Ünï-–", 'say "hi", now', "=1+1\nnext")


def nasty():
    lists = lists_of(3)
    rng = np.random.default_rng(0)
    systems = {name: rng.random(lists.n_items) for name in NASTY}
    return of_systems(lists, systems, ["AP", "label"], name="set_1 & <co>", samples=10, baseline=NASTY[0])


def test_names_are_escaped_in_every_form():
    results = nasty()
    found = Report((results,))
    lines = list(csv.DictReader(StringIO(found.text("csv"))))
    assert set(NASTY) <= {line["row"] for line in lines}
    table = found.text("markdown").split("\n")
    rows = [line for line in table if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows[:9]} == {4}
    assert "\\<script\\>\\*\\#" in found.text("markdown")
    latex = found.text("latex")
    assert "50\\% \\& \\$x\\textasciicircum{}2\\$ \\{\\textasciitilde{}\\} \\textbackslash{}" in latex
    body = latex.split("\\toprule")[1].split("\\bottomrule")[0]
    assert {line.replace("\\&", "").count("&") for line in body.split("\n") if line.endswith("\\\\")} == {2}
    assert "\\n" in found.text()
    assert "=1+1\nnext" not in found.text()
    json.loads(found.text("json"))


def test_the_best_value_is_marked():
    lists = lists_of(1)
    best = np.nan_to_num(lists.labels)
    systems = {"worst": -best, "best": best, "as good": 2 * best}
    results = of_systems(lists, systems, ["AP", "loss@1"], samples=10, baseline="worst")
    found = Report((results,))
    latex = [line for line in found.text("latex").split("\n") if "\\textbf" in line]
    assert [line.split(" & ")[0] for line in latex] == ["best", "as good"]
    assert all(line.count("\\textbf") == 2 for line in latex)
    bold = [line for line in found.text("markdown").split("\n") if line.startswith("|") and "**" in line]
    assert [line.split(" | ")[0] for line in bold] == ["| best", "| as good"]


def test_without_a_baseline_there_are_values_alone():
    lists = lists_of(1)
    results = of_systems(lists, {"a": np.arange(float(lists.n_items))}, ["AP"], samples=10)
    found = Report((results,))
    for form in FORMS:
        assert "Holm" not in found.text(form)
    empty = of_systems(lists, {}, ["AP"], samples=10)
    for form in FORMS:
        Report((empty,)).text(form)


def test_a_row_without_a_value_shows_a_dash():
    lists = lists_of(1).replace_labels(np.zeros(lists_of(1).n_items))
    part = of_systems(lists, {"a": np.arange(float(lists.n_items))}, ["AP"], no_relevant="skip", samples=5)
    found = Report((part,))
    for form in FORMS:
        assert "nan" not in found.text(form).lower().replace("signature", "")
