"""A row for each list: what it holds, what each system chose, and values that make up those of all lists."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import rerank
from rerank.cli.app import app
from rerank.core.tables.text import text_lines

TABLE = """target,model,size,energy,GDT_TS
T2,a,10,3,10
T2,b,20,1,30
T2,c,20,2,20.5
T1,a,8,,40
T1,b,9,,60
T3,a,1,1,
T3,b,2,2,
"""
TEXT = """\
                    :size
list items    best  chosen label@1 loss@1 Pearson
------------------  -----------------------------
all      7                 45.0000 0.0000  0.9400
sum                        90.0000 0.0000  1.8801
------------------  -----------------------------
T2       3 30.0000       b 30.0000 0.0000  0.8801
T1       2 60.0000       b 60.0000 0.0000  1.0000
T3       2       -       b       -      -       -

all: the values over all lists; sum: over the lists, of metrics whose value is a mean over lists
best: the largest label among the items
chosen: the item with the largest score, the first on ties
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "models.csv"
    path.write_text(TABLE)
    return str(path)


def printed(*arguments):
    found = CliRunner().invoke(app, ["eval", *arguments, "--id-column", "model", "--samples", "5", "-q"])
    assert found.exit_code == 0, found.output
    return found.stdout


METRICS = ["-m", "label@1", "-m", "loss@1", "-m", "Pearson"]


def test_lists_keep_their_order_and_have_a_row_each(table):
    out = printed(table, ":size", *METRICS, "--by-list")
    assert TEXT in out
    assert out.startswith(printed(table, ":size", *METRICS))  # after what is printed without it
    assert out.count("label@1|mean:lists") == 1


def test_the_values_are_those_of_each_list(table):
    """Values of all lists are the means; CSV and JSON have a record for each list and system."""
    rows = list(
        csv.DictReader(io.StringIO(printed(table, ":size", ":energy", *METRICS, "--by-list", "--as", "csv")))
    )
    assert [(row["list"], row["system"], row["chosen"]) for row in rows] == [
        ("T2", ":size", "b"),
        ("T2", ":energy", "a"),
        ("T1", ":size", "b"),
        ("T1", ":energy", ""),  # no score of this list
        ("T3", ":size", "b"),
        ("T3", ":energy", "b"),
    ]
    record = json.loads(printed(table, ":size", ":energy", *METRICS, "--by-list", "--as", "json"))
    for row, own in zip(rows, record["by_list"], strict=True):
        assert row == {key: "" if value is None else str(value) for key, value in own.items()}
    for system in record["systems"]:
        for metric, result in system["metrics"].items():
            values = [row[metric] for row in record["by_list"] if row["system"] == system["name"]]
            assert result["value"] == pytest.approx(np.mean([v for v in values if v is not None]))


def test_markdown_and_latex_have_both_tables(table):
    for form, rule in (("markdown", "| T2 | 3 | 30.0000 | b |"), ("latex", r"T2 & 3 & 30.0000 & b &")):
        out = printed(table, ":size", *METRICS, "--by-list", "--as", form)
        assert rule in out
        assert out.startswith(printed(table, ":size", *METRICS, "--as", form).split("\n")[0])


def test_a_sum_is_of_means_only():
    texts = [["a b c d e", "a b c d"], ["x y z w v", "x y"]]
    systems = {"s": [[1, 2], [2, 1]], "t": [[2, 1], [2, 1]]}
    found = rerank.evaluate(texts, systems, ["BLEU", "sBLEU"], refs=["a b c d e", "x y z w v"], samples=5)
    table = found.by_list()
    assert table.sum_of("s", "BLEU") is None  # the BLEU of all lists is not the mean of their own
    assert table.sum_of("s", "sBLEU") == pytest.approx(2 * found.systems["s"]["sBLEU"].value)
    frame = table.to_dataframe()
    assert "best" not in frame  # without labels
    assert frame.shape == (4, 6)
    assert frame["chosen"].tolist() == ["2", "1", "1", "1"]  # numbers in the list, without ids
    assert text_lines(table.table())[0].strip() == "s"


def test_first_best_comes_first_and_a_system_is_needed(table):
    lists = rerank.CandidateLists.from_arrays(np.array([[1.0], [2.0]]), [1.0, 0.0], group=[2])
    ranked = lists.with_first_best("input")
    systems = {"a": [1.0, 2.0], "0": [2.0, 1.0]}
    found = rerank.evaluate(ranked, systems, "loss", samples=5).by_list()
    assert found.systems == ["first_best", "a", "0"]
    assert "first-best" in printed(table, "--first-best", "size", *METRICS, "--by-list")
    found = CliRunner().invoke(app, ["eval", table, "--by-list", "-m", "loss"], standalone_mode=False)
    assert found.return_value == 2
    assert "by list: found no system, expected one at least" in found.output
