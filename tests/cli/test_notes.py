"""Notes on mistakes that give numbers without a word: one line each, and none where nothing is wrong."""

import json
import random

import numpy as np
import pytest

from rerank.core.errors import DataNote
from rerank.data.lists import CandidateLists
from rerank.evaluation.notes import note_systems
from rerank.evaluation.streaming.rankings import rankings_of

QUERIES = [f"q{i}" for i in range(20)]


def lines(queries: list[str], seed: int = 0, label: str = "{}", third: str = "{r:.3f}") -> list[str]:
    """Six items for each query; the third feature is ``third`` of the label y and a random r."""
    rng = random.Random(seed)
    out = []
    for query in queries:
        for i in range(6):
            y = rng.randrange(2)
            features = f"1:{rng.random():.3f} 2:{rng.random():.3f} 3:{third.format(y=y, r=rng.random())}"
            out.append(f"{label.format(y)} qid:{query} {features} # d{i}\n")
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """set.letor with the score files good, as-good (the same ranking), other and flat."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.letor").write_text("".join(lines(QUERIES)))
    scores = [random.Random(i).random() for i in range(120)]
    for name, values in {
        "good": scores,
        "as-good": [2 * s + 1 for s in scores],
        "other": [-s for s in scores],
        "flat": [0.5] * 120,
    }.items():
        (tmp_path / name).write_text("".join(f"{value!r}\n" for value in values))
    return tmp_path


def notes(result) -> list[str]:
    return [line.removeprefix("rerank: note: ") for line in result.err.splitlines() if "note:" in line]


@pytest.mark.parametrize("at_once", [1 << 18, 5])
def test_systems_that_rank_alike_and_scores_that_never_differ(rerank, folder, monkeypatch, at_once):
    monkeypatch.setattr("rerank.evaluation.streaming.rankings._AT_ONCE", at_once)
    expected = [
        "as-good: ranks every list as good does",
        "flat: no two items of a list have different scores; ties decide everything",
    ]
    for verb in ("eval", "compare"):
        assert notes(rerank(verb, "set.letor", "good", "as-good", "other", "flat", "-m", "AP")) == expected
        assert notes(rerank(verb, "set.letor", "good", "other", "-m", "AP")) == []
    found = rerank("eval", "set.letor", "good", "--baseline", "as-good", "-m", "AP")
    assert notes(found) == ["good: ranks every list as as-good does"]


def test_labels_that_no_metric_can_use(rerank, folder):
    (folder / "fractions.letor").write_text("".join(lines(QUERIES, label="0.{}")))
    assert notes(
        rerank("eval", "fractions.letor", "good", "-m", "AP", "-m", "nDCG", "-m", "AP(rel=0.1)")
    ) == [
        "fractions.letor: nothing is relevant for AP: the largest label is 0.1; "
        "AP(rel=...) sets the smallest relevant one"
    ]
    (folder / "zeros.letor").write_text("".join(lines(QUERIES, label="0")))
    assert notes(rerank("eval", "zeros.letor", "good", "-m", "RR", "-m", "pass@1", "-m", "label@1")) == [
        "zeros.letor: nothing is relevant for RR: the largest label is 0",
        "zeros.letor: nothing is relevant for pass@1: the largest label is 0",
        "zeros.letor: label@1 is 0 for every order of these lists",
    ]
    assert notes(rerank("eval", "set.letor", "good", "-m", "R@6", "-m", "Success@7")) == []


def test_one_list_has_no_bootstrap_test(rerank, folder):
    (folder / "one.letor").write_text("".join(lines(["q"])))
    for name in ("good", "other"):
        (folder / f"one.{name}").write_text("".join((folder / name).read_text().splitlines(True)[:6]))
    expected = ["one.letor: tests and intervals of 1 judged list show little"]
    found = rerank("eval", "one.letor", "one.good", "--baseline", "one.other", "-m", "RR", "--as", "json")
    assert notes(found) == expected
    assert json.loads(found.out)["systems"][1]["metrics"]["RR"]["p_bootstrap"] is None
    found = rerank("compare", "one.letor", "one.good", "one.other", "-m", "RR", "--as", "json")
    assert notes(found) == expected
    (pair,) = json.loads(found.out)["metrics"]["RR"]["pairs"]
    assert [pair[key] for key in ("p_bootstrap", "holm", "p_sacrebleu", "p_t")] == [None] * 4


def test_items_of_one_id(rerank, folder):
    (folder / "twice.letor").write_text((folder / "set.letor").read_text().replace("# d1", "# d0"))
    assert notes(rerank("eval", "twice.letor", "good", "-m", "AP")) == [
        "twice.letor: 20 duplicate item ids within a list, the first 'd0' in list q0"
    ]


def test_a_feature_that_is_the_label(rerank, folder):
    learn = ("train", "--out", "m", "-s", "epochs=2", "--data")
    (folder / "copy.letor").write_text("".join(lines(QUERIES, third="{y}.5")))
    for more in ((), ("--layout", "sparse")):
        expected = "copy.letor: feature '3' is the label, perhaps scaled; is it known at prediction?"
        assert notes(rerank(*learn, "copy.letor", *more)) == [expected]
        assert notes(rerank(*learn, "set.letor", *more)) == []


def test_dev_lists_that_are_training_lists(rerank, folder):
    learn = ("train", "--out", "m", "-s", "epochs=2", "--metric", "AP", "--data", "set.letor", "--dev")
    text = (folder / "set.letor").read_text()
    part = "".join(text.splitlines(True)[30:42])
    ones = "".join(lines(QUERIES, label="1"))
    for name, dev, same in (
        ("copy", text, "100%"),
        ("other-labels", ones, "100%"),
        ("part", part + "".join(lines(["r0", "r1"], seed=5)), "50%"),
        ("others", "".join(lines(QUERIES, seed=5)), ""),
    ):
        (folder / f"{name}.letor").write_text(dev)
        expected = [f"{name}.letor: {same} of the lists have the features of training lists"] if same else []
        assert notes(rerank(*learn, f"{name}.letor")) == expected, name
        what = "lists that the model was trained on"
        predicted = [line.replace("training lists", what) for line in expected]
        for layout in ("dense", "sparse"):
            assert notes(rerank("predict", "m", f"{name}.letor", "--layout", layout)) == predicted, name
    assert "sketch" not in rerank("show", "m", "--as", "json").out


def test_large_training_sets_are_recognised_by_a_sample(rerank, folder):
    """Of 600 lists a model knows 512 by their hashes."""
    queries = [f"q{i}" for i in range(600)]
    (folder / "large.letor").write_text("".join(lines(queries)))
    rerank("train", "--out", "m", "-s", "epochs=1", "--data", "large.letor")
    (folder / "part.letor").write_text("".join(lines(queries)[: 6 * 60]))
    expected = "part.letor: 100% of the lists have the features of lists that the model was trained on"
    assert notes(rerank("predict", "m", "part.letor")) == [expected]
    assert notes(rerank("predict", "m", "set.letor", "--out", "s")) == [expected.replace("part", "set")]
    (folder / "new.letor").write_text("".join(lines(queries, seed=9)))
    assert notes(rerank("predict", "m", "new.letor")) == []


def test_choices_among_tied_items_are_reported_if_their_labels_differ(rerank, folder):
    """A score of two digits ties the best of many lists: the order of the file then makes the number."""
    rows = ["1,1,1,5", "1,2,1,5", "2,3,1,4", "2,4,1,3", "3,5,2,4", "3,6,1,3", "4,7,,1", "4,8,,2"]
    (folder / "tied.csv").write_text("qid,label,f,g\n" + "".join(f"{row}\n" for row in rows))
    tied = "items with different labels share the largest score in {} of 4 lists"
    both = [":f: " + tied.format(2), ":g: " + tied.format(1)]
    found = rerank("eval", "tied.csv", ":f", ":g", "-m", "loss", "-m", "AP")
    assert [note.partition(";")[0] for note in notes(found) if "share" in note] == both
    assert not [note for note in notes(rerank("eval", "tied.csv", ":f", "-m", "AP")) if "share" in note]
    lists, scores = (
        CandidateLists.from_arrays([[1.0]] * 4, [5, 4, 3, 3], group=[2, 2]),
        np.array([1, 1, 2, 1]),
    )
    with pytest.warns(DataNote, match="in 1 of 2 lists"):  # of a fold, of 76 judged lists in all
        note_systems(lists, rankings_of(lists, {"a": scores}, ["label"]), ["label"], 76)


def test_the_family_of_ndcg_is_stated_if_its_name_leaves_it_open_and_it_matters(rerank, folder):
    (folder / "graded.letor").write_text("".join(lines(QUERIES)).replace("1 qid:q3", "2 qid:q3"))
    stated = "is taken as nDCG@10, trec_eval's: gain = label; nDCG-exp@10 has gain 2^label - 1"
    asked = ["-m", "ndcg_cut_10", "-m", "NDCG@5"]  # one note for both
    assert notes(rerank("eval", "graded.letor", "good", *asked)) == [f"ndcg_cut_10 {stated}"]
    assert notes(rerank("compare", "graded.letor", "good", "other", *asked)) == [f"ndcg_cut_10 {stated}"]
    named = ["nDCG@10", "ndcg-exp@10", "nDCG-letor", "ndcg(dcg=log2)", "ndcg(dcg=letor)@5", "AP"]
    assert notes(rerank("eval", "graded.letor", "good", *(f"-m{name}" for name in named))) == []
    assert notes(rerank("eval", "set.letor", "good", "-m", "ndcg@10")) == []  # labels of 0 and 1
    assert notes(rerank("eval", "graded.letor", "good", "-m", "ndcg")) == [
        "ndcg is taken as nDCG, trec_eval's: gain = label; nDCG-exp has gain 2^label - 1"
    ]
    found = rerank("train", "--data", "graded.letor", "--dev", "graded.letor", "-m", "ndcg@10", "-o", "model")
    assert f"ndcg@10 {stated}" in notes(found)


def test_the_maximum_of_err_is_named_if_it_is_not_given(rerank, work):
    (work / "s").write_text("".join(f"{i % 7}\n" for i in range(72)))
    note = "ERR@5: max is the largest label, 1; gdeval.pl has 4: ERR(max=4)@5"
    assert note in rerank("eval", "test.letor", "s", "-m", "ERR@5").err
    assert "gdeval" not in rerank("eval", "test.letor", "s", "-m", "ERR(max=4)@5", "-m", "AP").err


def test_a_run_without_ids_says_that_it_numbers_documents(rerank, work):
    (work / "a.csv").write_text("qid,label,x\n1,1,3\n1,0,2\n")
    (work / "b.csv").write_text("qid,docid,label,x\n1,d1,1,3\n1,d2,0,2\n")
    (work / "w").write_text("x\t1\n")
    rerank("import", "w", "--from", "tsv", "--out", "m")
    note = "a.csv: items have no ids: the run names the documents of each list 1, 2, 3 ..."
    result = rerank("predict", "m", "a.csv", "--as", "run")
    assert (note in result.err, result.out.split()[2]) == (True, "1")
    assert "no ids" not in rerank("predict", "m", "b.csv", "--as", "run").err
    assert "no ids" not in rerank("predict", "m", "a.csv", "--as", "table").err


@pytest.mark.parametrize("ids", [True, False])
def test_a_run_that_is_written_here_is_read_without_a_note(rerank, work, ids):
    rng = np.random.default_rng(1)
    scores = 1000 + 1e-5 * rng.random((4, 30))  # equal as float32, which trec_eval reads
    scores[3] = 1e39 * rng.random(30)  # beyond float32
    rows = [f"q{q},{f'd{d},' * ids}{float(scores[q, d])!r}" for q in range(4) for d in range(30)]
    (work / "a.csv").write_text("\n".join([f"qid,{'docid,' * ids}x", *rows]) + "\n")
    (work / "w").write_text("x\t1\n")
    rerank("import", "w", "--from", "tsv", "--out", "m")
    rerank("predict", "m", "a.csv", "--as", "run", "--out", "a.run")
    assert "note" not in rerank("validate", "a.run").err
    lines = (work / "a.run").read_text().splitlines()
    one, other = (line.split() for line in lines[:2])
    lines[:2] = [" ".join([*one[:3], "2", *one[4:]]), " ".join([*other[:3], "1", "2000", other[5]])]
    one[4] = "3000"
    lines[0] = " ".join([*one[:3], "2", *one[4:]])
    (work / "a.run").write_text("\n".join(lines) + "\n")
    assert "order documents differently" in rerank("validate", "a.run").err
