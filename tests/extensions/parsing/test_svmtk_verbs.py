"""SVM-light-TK's files through the command line: data, pairs, and a model there and back."""

import json

import pytest

from rerank import load

LINES = [
    {
        "list": f"q{i}",
        "label": int(j == 0),
        "text": f"{i}{j}",
        "x": i + j,
        "trees": {"question": f"(Q (W q{i}))"},
    }
    for i in range(4)
    for j in range(3)
]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, line in enumerate(LINES):
        word = ("good", "bad", "poor")[number % 3]
        line["trees"]["passage"] = f"(P (A {word}) (N n{number // 3}))"
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return tmp_path


def test_a_model_there_and_back(rerank, data):
    kernel = "kernel=sst(question) + sst(passage) + linear(normalise=true)"
    train = "train", "-d", "train.jsonl", "--learner", "preference-svm", "-s", kernel
    rerank(*train, "--scaling", "zscore", "-o", "scaled")
    result = rerank("export", "scaled", "--to", "svmtk", "--out", "svm_model", code=2)
    assert "scaled: SVM-light-TK cannot have scaled features (zscore); --scaling none trains" in result.err
    rerank(*train, "-o", "model")
    result = rerank("export", "model", "--to", "svmtk-pairs", "--out", "svm_model")
    assert "svm_model: the trees of each line, in this order: question, passage" in result.err + result.out
    named = "--tree-names", "question,passage"
    result = rerank("import", "svm_model", *named, "--out", "back")
    assert "support item" in result.err + result.out
    scores = [rerank("predict", one, "train.jsonl").out.split() for one in ("model", "back")]
    assert [float(x) for x in scores[1]] == pytest.approx([float(x) for x in scores[0]], abs=1e-12)
    result = rerank("import", "svm_model", "--tree-names", "a", "--out", "back", code=2)
    assert "svm_model: 2 trees per item, expected as many different names: a" in result.err


def test_convert_and_validate(rerank, data):
    rerank("convert", "train.jsonl", "--out", "pairs", "--to", "svmtk-pairs")
    lists = load("pairs", format="svmtk-pairs")
    assert (lists.n_lists, lists.labels.tolist()) == (8, [1, 0, 0, 1] * 4)
    shown = rerank("validate", "pairs", "--format", "svmtk-pairs").out
    assert "question trees  16, 1.0 words on average\npassage trees   16, 2.0 words on average\n" in shown
    rerank("convert", "train.jsonl", "--out", "train.svmtk")
    assert (
        (data / "train.svmtk").read_text().startswith("+1 qid:q0 trees:question,passage |BT| (Q (W q0)) |BT|")
    )
    assert load("train.svmtk").structures == load("train.jsonl").structures
