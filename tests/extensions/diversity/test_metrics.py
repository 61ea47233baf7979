"""Metrics of diversity from runs and judgements in files: against ndeval, and faults."""

import numpy as np
import pytest
from reading import quietly, silent

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.reading import Reading
from rerank.extensions.diversity.subtopics import with_subtopics

RUN = "".join(f"q{q} Q0 d{d} {rank} {9 - rank} r\n" for q in (1, 2) for rank, d in enumerate((3, 1, 4, 2, 5)))
QRELS = "q1 a d1 1\nq1 b d1 2\nq1 a d3 1\nq1 c d9 1\nq1 c d4 0\nq2 a d5 1\nq2 b d2 -1\n"
NDEVAL = ("alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA", "P-IA", "strec")


def files(tmp_path, run=RUN, qrels=QRELS):
    (tmp_path / "a.run").write_text(run)
    (tmp_path / "qrels").write_text(qrels)
    return str(tmp_path / "a.run"), str(tmp_path / "qrels")


def drawn(seed, n_queries=6, n_documents=40):
    """A run and judgements with documents of their own, subtopics of different sizes, and none of query 3."""
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for q in range(n_queries):
        for rank, d in enumerate(rng.permutation(n_documents)[:25].tolist()):
            run.append((f"{q}", f"d{d}", 100.0 - rank))
        for s in range(int(rng.integers(1, 6))):
            for d in rng.permutation(n_documents)[: rng.integers(1, 15)].tolist():
                qrels.append((f"{q}", f"{s}", f"d{d}", int(rng.integers(0, 3)) * (q != 3)))
    return run, qrels


@pytest.mark.parametrize("alpha", [0.5, 0.25])
def test_values_are_those_of_ndeval(tmp_path, alpha):
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    run, qrels = drawn(1)
    paths = files(
        tmp_path,
        "".join(f"{q} Q0 {d} {k + 1} {score} r\n" for k, (q, d, score) in enumerate(run)),
        "".join(f"{q} {s} {d} {grade}\n" for q, s, d, grade in qrels),
    )
    lists = quietly(paths[0], subtopics=paths[1])
    names = [f"{name}@{k}" for name in NDEVAL for k in (2, 5, 20)] + ["NRBP", "nNRBP", "MAP-IA"]
    theirs = pyndeval.ndeval(qrels, run, measures=names, alpha=alpha)
    scores = lists.input_order(lists.base_scores)
    ours = [
        name.replace("@", f"(alpha={alpha})@")
        if name[0] in "aEn"
        else name.replace("BP", f"BP(alpha={alpha})")
        for name in names
    ]
    ours = [f"nNRBP(alpha={alpha})" if name.startswith("nN") else name for name in ours]
    found = rerank.evaluate(lists, scores, ours, no_relevant="zero")
    for name, (key, value) in zip(names, found.items(), strict=True):
        expected = np.mean([np.nan_to_num(one[name]) for one in theirs.values()])  # NaN of nothing relevant
        assert value == pytest.approx(expected, abs=1e-9), key


def test_judgements_give_labels_and_count_documents_in_no_list(tmp_path):
    run, qrels = files(tmp_path)
    lists = rerank.load(run, subtopics=qrels)
    assert np.nan_to_num(lists.labels, nan=-9).tolist() == [1, 2, 0, -9, -9, -9, -9, -9, -1, 1]
    assert lists.unretrieved.values.tolist() == [1]  # d9
    scores = lists.base_scores
    assert rerank.evaluate(lists, scores, ["strec@5"], ci=None)["strec@5"] == pytest.approx((2 / 3 + 1) / 2)
    store = str(tmp_path / "lists.store")
    rerank.save(lists, store)
    assert list(rerank.load(store).subtopics) == list(lists.subtopics)
    pool = rerank.load(qrels, format="subtopics")
    assert list(pool.item_ids) == ["d1", "d3", "d9", "d4", "d5", "d2"]
    assert pool.labels.tolist() == [2, 1, 1, 0, 1, -1]


def test_runs_are_compared_by_subtopics_of_documents_that_only_one_returned(tmp_path):
    run, qrels = files(tmp_path)
    other = tmp_path / "b.run"
    other.write_text("q1 Q0 d9 1 2 s\nq1 Q0 d1 2 1 s\nq2 Q0 d5 1 1 s\n")
    # d9 is in no list of the first run, but judged: judgements of subtopics are lists themselves.
    reading = Reading(format="subtopics")
    found = silent(rerank.evaluate_files, qrels, [run, str(other)], ["strec@2"], reading=reading)
    values = {one["name"]: one["metrics"]["strec@2"]["value"] for one in found.as_json()["systems"]}
    assert values == {run: pytest.approx(2 / 6), str(other): 1.0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 a d1", r"qrels:2: found 3 fields, expected four fields: query subtopic document judgement"),
        ("q1 a d1 x", r"qrels:2: found judgement 'x', expected a number"),
        ("q1 a d1 nan", r"qrels:2: found judgement 'nan', expected a finite number"),
        ("q1 a d3 1", r"qrels:2: found document 'd3' again for subtopic 'a' of query 'q1', .*in line 1"),
    ],
)
def test_a_fault_is_one_line(tmp_path, line, message):
    run, qrels = files(tmp_path, qrels=f"q1 a d3 1\n{line}\n")
    with pytest.raises(FormatError, match=message):
        rerank.load(run, subtopics=qrels)


def test_files_that_do_not_belong_together_are_refused_or_noted(tmp_path):
    run, qrels = files(tmp_path, qrels="x a d3 1\n")
    with pytest.raises(DataError, match=r"qrels: judges no query of .*a\.run"):
        rerank.load(run, subtopics=qrels)
    run, qrels = files(tmp_path, qrels="q1 a x 1\nq2 d3 a 1\n")
    with pytest.warns(DataNote, match=r"judges no document of"):
        rerank.load(run, subtopics=qrels)
    run, qrels = files(tmp_path, qrels="")
    with pytest.raises(FormatError, match="no judgement"):
        rerank.load(run, subtopics=qrels)
    table = tmp_path / "a.csv"
    table.write_text("qid,x\n1,2\n1,3\n")
    run, qrels = files(tmp_path)
    with pytest.raises(DataError, match="judgements need ids of lists and of items"):
        quietly(str(table), subtopics=qrels)
    with pytest.raises(ConfigError, match=r"format flat cannot honour subtopics="):
        rerank.load(str(table), format="flat", subtopics=qrels)


def test_names_with_blanks_and_values_that_are_no_numbers_are_refused():
    lists = rerank.CandidateLists.from_arrays([[1.0]], qid=["q"], item_ids=["a"])
    with pytest.raises(DataError, match="found the name 'a b', expected one without blanks"):
        with_subtopics(lists, {"q": {"a b": {"a": 1}}})
    with pytest.raises(DataError, match="query 'q', subtopic 's', document 'a': found nan"):
        with_subtopics(lists, {"q": {"s": {"a": float("nan")}}})
