"""``rerank features parse``: parses to stores, and the errors of wrong usage."""

import errno
import json
import os

import numpy as np
import pytest

from rerank.data.store import read_store

TRAIN = """\
(S1 (S (NP (PRP it)) (VP (VBD ran) (PP (IN in) (NP (NN rain))))))
-3.5\t(S1 (S (NP (PRP it)) (VP (VBD ran) (PP (IN in) (NP (NN rain))))))
-4.25\t(S1 (S (NP (PRP it)) (VP (VBD ran)) (PP (IN in) (NP (NN rain)))))

(S1 (S (NP (PRP it)) (VP (VBD fell))))
-1.5\t(S1 (S (NP (PRP it)) (NP (VBD fell))))
-2\t(S1 (S (NP (PRP it)) (VP (VBD fell))))
"""
NEW = """\
-1\t(S1 (S (NP (PRP it)) (VP (VBD sank))))
-9\t(S1 (NP (NN it) (NN sank)))
"""


@pytest.fixture
def parses(tmp_path, monkeypatch):
    """A folder with train.nbest, which has gold trees, and new.nbest, which has none."""
    (tmp_path / "train.nbest").write_text(TRAIN)
    (tmp_path / "new.nbest").write_text(NEW)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def features(rerank, *more, code=0):
    out = () if "--out" in more else ("--out", "out")
    return rerank("features", "parse", "train.nbest", "--format", "parses", *out, *more, code=code)


def test_parses_to_stores(rerank, parses):
    result = features(rerank, "--apply", "new.nbest", "--cutoff", 2, "--types", "rule pp")
    assert result.out.splitlines() == [
        "type  seen  kept  lexicalised  kept",
        "rule    10     4",
        "pp       4     0",
        "all     14     4            0     0",
    ]
    assert result.err.splitlines() == [
        "rerank: out/train.store: 2 lists, 4 items, 16 values; 56% of features not chosen",
        "rerank: out/new.store: 1 list, 2 items, 6 values; 33% of features not chosen",
    ]
    train, new = read_store("out/train.store"), read_store("out/new.store")
    names = ["logprob", "rule S1 S", "rule S NP VP", "rule NP PRP", "rule VP VBD"]
    assert train.names()[:5] == names
    assert train.features.column(0).tolist() == [-3.5, -4.25, -1.5, -2]
    assert train.base_scores.tolist() == [-3.5, -4.25, -1.5, -2]
    assert new.names() == train.names()
    assert new.features.to_dense()[:, 1:5].tolist() == [[1, 1, 1, 1], [0, 0, 0, 0]]


def test_labels_are_the_score_of_the_paper(rerank, parses):
    """F / 100 times the gold constituents: 5 in the first sentence, S, NP, VP, PP, NP; 3 in the second."""
    features(rerank, "--apply", "new.nbest", "--cutoff", 1)
    train, new = read_store("out/train.store"), read_store("out/new.store")
    np.testing.assert_allclose(train.labels, [5, 5 * 8 / 10, 3 * 4 / 6, 3])
    assert train.counts["PARSEVAL"][:, 0].tolist() == [5, 4, 2, 3]
    assert new.labels is None


def test_trees_and_texts_stay_where_they_are_asked_for(rerank, parses):
    features(rerank, "--cutoff", 1)
    bare = read_store("out/train.store")
    assert (bare.trees, bare.gold, bare.texts) == (None, None, None)
    features(rerank, "--cutoff", 1, "--keep-trees")
    kept = read_store("out/train.store")
    assert kept.trees[3] == kept.texts[3] == kept.gold[1] == "(S1 (S (NP (PRP it)) (VP (VBD fell))))"


def test_indicators_alone(rerank, parses):
    features(rerank, "--cutoff", 1, "--alone")
    lists = read_store("out/train.store")
    assert "logprob" not in lists.names()
    assert lists.features.data is None
    assert lists.base_scores[0] == -3.5


def test_counts(rerank, parses):
    features(rerank, "--cutoff", 1, "--values", "counts", "--types", "rule")
    lists = read_store("out/train.store")
    assert lists.features.column(lists.column_of("rule NP PRP")).tolist() == [1, 1, 1, 1]
    assert lists.features.rows.data is not None


def test_a_record_of_what_was_made(rerank, parses):
    (parses / "heads").write_text("* right\nNP left NN {PRP DT}\n")
    features(
        rerank, "--cutoff", 2, "--types", "rule", "--heads", "heads", "--closed-class", "",
        "--left-out", ", .",
    )  # fmt: skip
    record = json.loads((parses / "out" / "features.json").read_text())
    assert record == {
        "settings": {
            "cutoff": 2,
            "types": ["rule"],
            "values": "indicators",
            "closed_class": [],
            "left_out": [",", "."],
            "heads": ["* right", "NP left NN {PRP DT}"],
        },
        "features": 4,
        "types": {"rule": {"seen": 10, "kept": 4}},
        "sets": [
            {"path": "train.nbest", "store": "train.store", "lists": 2, "items": 4, "values": 16}
            | {"known": 8, "unknown": 6}
        ],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--apply", "absent"], "absent: no such file or folder"),
        (["--apply", "sub/train.nbest.gz"], "train.nbest and sub/train.nbest.gz would both be written to"),
        (["--apply", "train.nbest"], "train.nbest and train.nbest would both be written to out/train.store"),
        (["--types", "rule bigrams"], "parse: types: unknown 'bigrams'; did you mean 'bigram'"),
        (["--types", ""], "parse: types: found none, expected one of rule"),
        (["--cutoff", "0"], "parse: cutoff: found 0, expected"),
        (["--cutoff", "3"], "train.nbest: no feature occurs in the parses of 3 lists"),
        (
            ["--cutoff", "99999999999999999999"],
            "no feature occurs in the parses of 99999999999999999999 lists",
        ),
        (["--values", "binary"], "parse: values: found 'binary', expected"),
        (["--heads", "absent"], "absent: no such file or folder"),
        (["--heads", "train.nbest"], "train.nbest:1: found '(S', expected left or right, then labels"),
        (["--jobs", "-1"], "jobs: found -1, expected 0 (one per core) or more"),
        (["--out", "train.nbest"], "train.nbest: "),
        (["--out", ""], "out: found no name, expected that of a folder"),
    ],
)
def test_wrong_usage_is_a_one_line_error(rerank, parses, options, message):
    result = features(rerank, *(["--cutoff", 1] if "--cutoff" not in options else []), *options, code=2)
    assert message in result.err.splitlines()[-1]
    assert not (parses / "out" / "features.json").exists()


@pytest.mark.parametrize("before", [False, True])
def test_a_set_that_fails_leaves_everything_as_it_was(rerank, parses, before):
    if before:
        features(rerank, "--cutoff", 1)
    files = {p: p.read_bytes() for p in (parses / "out").rglob("*") if p.is_file()}
    (parses / "cut.nbest").write_text(NEW + NEW[:-5])
    result = features(rerank, "--cutoff", 2, "--apply", "cut.nbest", code=2)
    assert "cut.nbest:4: found brackets that are not closed" in result.err
    assert {p: p.read_bytes() for p in (parses / "out").rglob("*") if p.is_file()} == files
    assert (parses / "out").exists() is before


def test_an_interrupted_run_leaves_nothing(rerank, parses, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rerank.extensions.parsing.feature_stores.record_of", stopped)
    features(rerank, "--cutoff", 1, code=130)
    assert not (parses / "out").exists()


def test_what_cannot_be_written_is_a_one_line_error(rerank, parses, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rerank.data.store.sync", full)
    result = features(rerank, "--cutoff", 1, code=2)
    assert result.err == "rerank: out/train.store: no space left on device\n"
    assert not (parses / "out").exists()


def test_a_folder_in_the_place_of_the_record_is_reported(rerank, parses):
    (parses / "out" / "features.json").mkdir(parents=True)
    (parses / "a.nbest").write_text(NEW)
    assert (
        "rerank: out/features.json: is a folder"
        in features(rerank, "--cutoff", 1, "--apply", "a.nbest", code=2).err
    )
    assert [p.name for p in (parses / "out").iterdir()] == ["features.json"]


def test_what_is_no_store_stays(rerank, parses):
    kept = parses / "out" / "new.store" / "mine.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    result = features(rerank, "--cutoff", 1, "--apply", "new.nbest", code=2)
    assert "new.store: found a directory that is not a store" in result.err
    assert [p for p in (parses / "out").rglob("*") if p.is_file()] == [kept]


def test_lists_without_trees_are_reported(rerank, parses):
    (parses / "a.letor").write_text("1 qid:1 1:2\n")
    result = rerank("features", "parse", "a.letor", "--out", "out", code=2)
    assert result.err.splitlines()[-1] == "rerank: a.letor: items have no trees, expected parses"
