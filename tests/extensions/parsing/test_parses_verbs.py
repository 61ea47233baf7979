"""N-best parses through the command line: labels from gold trees, training, PARSEVAL."""

import json

import pytest

from rerank import load

RIGHT = "(S1 (S (NP (DT The) (NN dog)) (VP (VBZ barks))))"
WRONG = "(S1 (NP (NP (DT The) (NN dog)) (NP (NNS barks))))"
TEXT = f"{RIGHT}\n-12.5\t{WRONG}\n-14.25\t{RIGHT}\n\n{RIGHT}\n-9\t{RIGHT}\n-11\t()\n"


@pytest.fixture
def parses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.nbest").write_text(TEXT)
    (tmp_path / "ids").write_text("wsj.1\nwsj.2\n")
    (tmp_path / "scores").write_text("0\n1\n2\n1\n")
    return tmp_path


def test_what_validate_prints(rerank, parses):
    found = rerank("validate", "dev.nbest").out
    assert "\ntrees     4, 3.0 words on average, 1 missing; 2 gold trees\n" in found
    assert "ids       list" in rerank("validate", "dev.nbest", "--ids", "ids").out


def test_parseval_is_the_default(rerank, parses):
    result = rerank("eval", "dev.nbest", "scores", "--as", "json")
    assert "note: dev.nbest: read as parses (by content)" in result.err
    assert "1 parse is missing" in result.err
    found = json.loads(result.out)
    assert list(found["metrics"]) == ["PARSEVAL"]
    assert found["metrics"]["PARSEVAL"]["first_best"] == pytest.approx(100 * 4 / 6)
    assert found["metrics"]["PARSEVAL"]["oracle"] == pytest.approx(100)
    assert found["systems"][0]["metrics"]["PARSEVAL"]["value"] == pytest.approx(100)


def test_from_labels_to_a_chosen_tree(rerank, parses):
    rerank("label", "dev.nbest", "--ids", "ids", "-m", "PARSEVAL.score", "-o", "dev.store")
    lists = load("dev.store")
    assert lists.labels.tolist() == [1.0, 3.0, 3.0, 0.0]
    assert list(lists.list_ids) == ["wsj.1", "wsj.2"]
    assert lists.trees[1] == lists.gold[0] == RIGHT
    rerank("train", "--data", "dev.store", "-m", "PARSEVAL", "--out", "model")
    chosen = rerank("predict", "model", "dev.nbest", "--as", "best").out.split("\n")
    assert chosen[0] in (RIGHT, WRONG)
    assert chosen[1:] == [RIGHT, ""]
    again = rerank("predict", "model", "dev.nbest", "--as", "nbest").out
    assert sorted(again.split()) == sorted(TEXT.replace("-9", "-9.0").replace("-11", "-11.0").split())


def test_other_formats_report_what_they_leave_out(rerank, parses):
    result = rerank("convert", "dev.nbest", "--out", "dev.jsonl")
    assert "jsonl holds no gold; left out" in result.err
    assert json.loads((parses / "dev.jsonl").read_text().split("\n")[0])["candidates"][1]["text"] == RIGHT


def test_a_mistake_is_a_one_line_error(rerank, parses):
    (parses / "bad.parses").write_text(TEXT.replace("dog", "cat", 1))
    error = "bad.parses:2: found word 2 'dog', expected 'cat', as in the gold tree on line 1\n"
    assert rerank("validate", "bad.parses", code=1).out == f"fault  {error}"
    assert rerank("convert", "bad.parses", "--out", "s.store", code=2).err == f"rerank: {error}"
    odd = ("convert", "dev.nbest", "--out", "s.store")
    assert "scores: found 4 ids, expected 2, one per sentence" in rerank(*odd, "--ids", "scores", code=2).err
    wrong = "strip: found 'trace', expected 'traces' or 'functions'"
    assert wrong in rerank(*odd, "--strip", "trace", code=2).err
