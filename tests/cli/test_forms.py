"""``--as``: every verb that prints tables prints them for people, programs and papers."""

import csv
import io
import json

import pytest

LISTS = "2 qid:1 1:1 # a\n1 qid:1 1:2 # b\n1 qid:2 1:3 # c\n2 qid:2 1:1 # d\n"
VERBS = {
    "eval": "a.letor s t -m AP -m RR",
    "compare": "a.letor s t -m AP -m P@1",
    "show": "model",
    "validate": "a.letor",
    "list": "learners",
    "list of one": "learners prank",
    "pairs": "a.letor",
    "similarity": "a.letor",
    "importance weights": "model a.letor",
    "importance permute": "model a.letor --metric AP",
}


@pytest.fixture
def files(tmp_path, monkeypatch, rerank):
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.letor": LISTS, "s": "2\n1\n1\n2\n", "t": "1\n2\n2\n1\n", "w": "1\t0.5\n"}.items():
        (tmp_path / name).write_text(text)
    rerank("import", "w", "--from", "tsv", "--out", "model")


@pytest.mark.parametrize("verb", VERBS)
def test_every_form_of_a_verb(verb, rerank, files):
    asked = [*verb.removesuffix(" of one").split(), *VERBS[verb].split()]
    text = rerank(*asked).out
    assert text == rerank(*asked, "--as", "text").out
    json.loads(rerank(*asked, "--as", "json").out)
    records = list(csv.DictReader(io.StringIO(rerank(*asked, "--as", "csv").out), strict=True))
    assert records
    assert all(None not in record for record in records)
    assert "| :-- |" in rerank(*asked, "--as", "markdown").out
    latex = rerank(*asked, "--as", "latex").out
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{table}") > 0


def test_eval_as_csv_has_the_numbers_of_json(rerank, files):
    asked = ["eval", *VERBS["eval"].split(), "-b", "t"]
    systems = json.loads(rerank(*asked, "--as", "json").out)["systems"]
    records = list(csv.DictReader(io.StringIO(rerank(*asked, "--as", "csv").out)))
    found = {(one["system"], one["metric"]): one for one in records}
    assert len(records) == len(found) == 10
    for system in systems:
        for metric, values in system["metrics"].items():
            record = found[system["name"], metric]
            low, high = values.pop("ci")
            for key, value in {**values, "low": low, "high": high}.items():
                assert record.get(key, "") == ("" if value is None else repr(value))


def test_an_unknown_form_is_refused_before_anything_is_read(rerank, files):
    found = rerank("eval", "none.letor", "--as", "tex", code=2)
    assert "as: found 'tex', expected 'text', 'json', 'csv', 'markdown' or 'latex'" in found.err
    assert found.err.count("\n") == 1
