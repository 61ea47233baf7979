"""LETOR's published results, read from its spreadsheet."""

import sys
import zipfile

import published_ohsumed
from published_ohsumed import published


def sheet(name, *tables):
    cell = '<table:table-cell table:number-columns-repeated="{}"><text:p>{}</text:p></table:table-cell>'
    lines = [
        f"<table:table-row>{''.join(cell.format(1, value) for value in line)}{cell.format(900, '')}"
        "</table:table-row>"
        for line in tables
    ]
    return f'<table:table table:name="{name}">{"".join(lines)}</table:table>'


def test_published_results_are_those_of_the_test_lists(tmp_path, monkeypatch, capsys):
    trials = [[str(k), f"0,{k}5", "0.5"] for k in range(1, 6)]
    worse = [[str(k), "0,01", "0,02"] for k in range(1, 6)]
    head = ["Trials", "NDCG@1", "MAP"]
    own = sheet(
        "RankX", ["Performance on the test set"], head, *trials, ["Average", "0,3", "0,5"], head, *worse
    )
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<a xmlns:table="{names}table:1.0" xmlns:text="{names}text:1.0">{sheet("Average", head)}{own}</a>'
    )
    (tmp_path / "ohsumed").mkdir()
    path = tmp_path / "ohsumed" / "published_results.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", content)
    found = published(path)
    assert found == {"RankX": {"nDCG-letor@1": [0.15, 0.25, 0.35, 0.45, 0.55], "AP": [0.5] * 5}}
    monkeypatch.setenv("RERANK_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["published_ohsumed.py", "--metrics", "AP", "nDCG-letor@1"])
    published_ohsumed.main()
    assert capsys.readouterr().out == "| published RankX | .5000 | .3500 |\n"
